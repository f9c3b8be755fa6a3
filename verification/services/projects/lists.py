"""Block lists and safe lists. They travel with a project's configuration, so that a look-up asks no database."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.core.addresses import Address, AddressInvalid, AddressKind, kind_of, parse_test_address
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.core.networks import clean_network, read_address
from verification.models import ListEntry, ListKind, ListSubject, Project, bounds
from verification.models.fields import clean_country, clean_prefix

MAX_ENTRIES = 1_000  # live ones of a project: every process reads them all every second
SAFE_SUBJECTS = (ListSubject.RECIPIENT, ListSubject.PREFIX, ListSubject.DOMAIN)  # never all of a country or network


class Lists:
    """A project's live entries and the platform's. ``rows`` are ``[list, subject, value]``."""

    def __init__(self, rows: Iterable[tuple[str, str, str]]) -> None:
        self.is_empty = True
        self._block, self._safe = _Matcher(), _Matcher()
        for kind, subject, value in rows:
            self.is_empty = False
            (self._block if kind == ListKind.BLOCK else self._safe).add(subject, value)

    def blocked_by(self, address: Address, client_address: str) -> str | None:
        """The subject of an entry that blocks this recipient or caller. An entry here wins over any safe one."""
        return self._block.match(address, client_address)

    def is_safe(self, to: str) -> bool:
        """Return whether no traffic guard and no limit of sends stops this recipient. Wrong codes still count."""
        return self._safe.match_recipient(to) is not None


class _Matcher:
    """Entries of one list. Prefixes and networks are looked up once for each length that occurs."""

    def __init__(self) -> None:
        self._values: dict[str, set[str]] = {subject: set() for subject in ListSubject.values}
        self._prefix_lengths: set[int] = set()
        self._network_lengths: dict[int, set[int]] = {4: set(), 6: set()}

    def add(self, subject: str, value: str) -> None:
        self._values[subject].add(value)
        if subject == ListSubject.PREFIX:
            self._prefix_lengths.add(len(value))
        elif subject == ListSubject.CLIENT:
            network = ipaddress.ip_network(value)
            self._network_lengths[network.version].add(network.prefixlen)

    def match(self, address: Address, client_address: str) -> str | None:
        """The subject of an entry that matches, or None."""
        if found := self.match_recipient(address.text):
            return found
        if address.country in self._values[ListSubject.COUNTRY]:
            return ListSubject.COUNTRY
        return ListSubject.CLIENT if self._has_client(client_address) else None

    def match_recipient(self, to: str) -> str | None:
        """The same, of the entries that a canonical address is matched with by itself."""
        if to in self._values[ListSubject.RECIPIENT]:
            return ListSubject.RECIPIENT
        if kind_of(to) is AddressKind.EMAIL:
            return ListSubject.DOMAIN if self._has_domain(to.rpartition("@")[2]) else None
        is_listed = any(to[:length] in self._values[ListSubject.PREFIX] for length in self._prefix_lengths)
        return ListSubject.PREFIX if is_listed else None

    def _has_domain(self, domain: str) -> bool:
        """A domain's entry holds for what is below it too."""
        listed = self._values[ListSubject.DOMAIN]
        if not listed:
            return False
        labels = domain.split(".")
        return any(".".join(labels[start:]) in listed for start in range(len(labels)))

    def _has_client(self, client_address: str) -> bool:
        listed = self._values[ListSubject.CLIENT]
        if not listed:
            return False
        address = read_address(client_address)
        if address is None:
            return False
        lengths = self._network_lengths[address.version]
        return any(str(ipaddress.ip_network((address, length), strict=False)) in listed for length in lengths)


# --- entries -----------------------------------------------------------------------------------------------------


def clean_value(kind: str, subject: str, text: str) -> str:
    """The one writing in which a value is matched. Raises :class:`UserError`."""
    if kind not in ListKind.values:
        raise UserError(
            _("There is no list {kind!r}. Lists: {names}.").format(kind=kind, names=", ".join(ListKind.values))
        )
    subjects = _subjects_of(kind)
    if subject not in subjects:
        raise UserError(
            _("A {kind} list cannot have entries of the kind {subject!r}, only {names}.").format(
                kind=kind, subject=subject, names=", ".join(subjects)
            )
        )
    return _CLEANERS[subject](text.strip())


def other_subjects(kind: str, subject: str, text: str) -> list[ListSubject]:
    """Return what else an entry of this list could match by this value."""
    found = []
    for other in _subjects_of(kind):
        if other != subject:
            with contextlib.suppress(UserError):
                clean_value(kind, other, text)
                found.append(other)
    return found


def _subjects_of(kind: str) -> Sequence[ListSubject]:
    return tuple(ListSubject) if kind == ListKind.BLOCK else SAFE_SUBJECTS


def add_entry(
    *,
    project: Project | None,
    kind: str,
    subject: str,
    value: str,
    note: str = "",
    expires_at: datetime | None = None,
) -> ListEntry:
    """Put one entry on a list; without a project, on the platform's. The same entry again is replaced.

    Raises :class:`UserError`.
    """
    value = clean_value(kind, subject, value)
    if expires_at is not None and expires_at <= timezone.now():
        raise UserError(_("The expiry time is in the past."))
    entry = ListEntry(project=project, kind=kind, subject=subject, value=value, note=note, expires_at=expires_at)
    with transaction.atomic():
        if project is not None:
            Project.objects.select_for_update(no_key=True).get(
                pk=project.pk
            )  # so that two do not both take the last place
        others = ListEntry.objects.live().filter(project=project).exclude(kind=kind, subject=subject, value=value)
        if others.count() >= MAX_ENTRIES:
            raise _full()
        try:
            entry.full_clean(validate_constraints=False)
        except ValidationError as error:
            raise UserError("; ".join(error.messages)) from None
        found, _unused = ListEntry.objects.update_or_create(
            project=project,
            kind=kind,
            subject=subject,
            value=value,
            defaults={"note": note, "expires_at": expires_at},
        )
    return found


def add_new_entries(project: Project, entries: Sequence[ListEntry]) -> None:
    """Put many clean entries that are not live yet on a project's lists, in a few statements.

    Raises :class:`UserError`.
    """
    given = {(entry.kind, entry.subject, entry.value) for entry in entries}
    with transaction.atomic():
        bounds.lock(project)
        if ListEntry.objects.live().filter(project=project).count() + len(entries) > MAX_ENTRIES:
            raise _full()
        expired = ListEntry.objects.expired().filter(project=project)
        expired.filter(
            pk__in=[row.pk for row in expired if (row.kind, row.subject, row.value) in given]
        ).delete()  # they would be in the way of new ones
        ListEntry.objects.bulk_create(entries)


def search_values(term: str) -> set[str]:
    """The writings in which entries may hold what somebody looks for."""
    found = {term}
    for clean in _CLEANERS.values():
        with contextlib.suppress(UserError):
            found.add(clean(term))
    return found


def _full() -> UserError:
    return UserError(
        _("A project's lists can have at most {max_entries} entries.").format(max_entries=grouped(MAX_ENTRIES))
    )


def _clean_recipient(text: str) -> str:
    try:
        return parse_test_address(text).text
    except AddressInvalid as error:
        raise UserError(str(error)) from None


def _clean_domain(text: str) -> str:
    try:
        return parse_test_address(f"anybody@{text.removeprefix('@')}").text.rpartition("@")[2]
    except AddressInvalid:
        raise UserError(_("{text!r} is not an e-mail domain. Enter it like example.com.").format(text=text)) from None


_CLEANERS: dict[str, Callable[[str], str]] = {
    ListSubject.RECIPIENT: _clean_recipient,
    ListSubject.PREFIX: clean_prefix,
    ListSubject.DOMAIN: _clean_domain,
    ListSubject.COUNTRY: clean_country,
    ListSubject.CLIENT: clean_network,
}
