"""One search over the traffic of some projects: by a recipient's address, or by any id that somebody may have in hand.

Each look-up uses an index, and none leaves the projects that it is given. An address is read as people write it: with
or without the plus, as dialled from abroad, or as dialled at home in a country that the projects send to.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import phonenumbers
from django.db.models import Q
from django.utils import timezone

from verification.core import request_ids
from verification.core.addresses import AddressInvalid, country_of, mask, parse_test_address
from verification.core.ids import is_session_id
from verification.core.numbers import whole_number
from verification.core.session_rules import LONGEST_VERIFICATION
from verification.models import (
    Channel,
    Decision,
    DeliveryAttempt,
    Message,
    Project,
    Provider,
    Recipient,
    Session,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.models.guard import ABOUT_COUNTRIES
from verification.services.protection.recipient import SUBSCRIBER_DIGITS

TERM_MAX_LENGTH = 254  # characters, as the longest address has.
MOST = 20  # stories of one search, the newest; the lists of sessions and messages have all.
RECIPIENTS = 20  # of one search, as an address is in several projects.
MESSAGES_LOOKED_AT = 200  # the newest of a recipient, among which manual ones are looked for.
COUNTRIES = 30  # in which a number without its country is tried.
RECIPIENTS_LOOKED_AT = 200  # the newest, whose countries are those that the projects send to.
REFUSALS_SINCE = timedelta(days=30)
REFUSALS = 10  # lines of the decision log, the newest

_DIALLED = re.compile(r"\+?[0-9]{4,18}")
_SEPARATORS = re.compile(r"[\s()./\u2010-\u2015\u2212-]+")  # also dashes and no-break spaces, as documents have them
_REQUEST_ID = re.compile(r"[0-9a-f]{32}")  # as the service draws one, and as traces have theirs
_MASKED = re.compile(r"\+[0-9]+\*{3,}[0-9]{2}|[A-Za-z0-9]?\*{3}@.+")


@dataclass(slots=True)
class SearchResult:
    """The newest stories: sessions, and messages without one. ``addresses`` are those that the term was read as."""

    addresses: list[str] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    refusals: list[Decision] = field(default_factory=list)
    is_cut: bool = False  # there are older ones

    @property
    def only(self) -> Session | Message | None:
        """The one hit, if it is one and nothing was refused besides."""
        hits: list[Session | Message] = [*self.sessions, *self.messages]
        return hits[0] if len(hits) == 1 and not self.refusals else None


def search(
    term: str, projects: list[int], *, before_addresses: Callable[[list[str]], None] | None = None
) -> SearchResult:
    """Return what the term names in these projects.

    ``before_addresses`` is called with the addresses that the term may mean, before any of them is looked up; what it
    raises ends the search.
    """
    term = term.strip()[:TERM_MAX_LENGTH]
    if not term or "\0" in term or not projects:
        return SearchResult()
    if is_masked(term):
        return SearchResult(refusals=_refusals([term], projects))
    found = _by_id(term, projects)
    if found.sessions or found.messages:
        return found
    found.addresses = addresses_of(term, projects)
    if before_addresses is not None:
        before_addresses(found.addresses)
    for recipient in _recipients(found.addresses, projects):
        _add_traffic_of(recipient, found)
    found.refusals = _refusals_of(found, projects)
    return found


def is_masked(term: str) -> bool:
    """Return whether the term is a masked address, which names nobody."""
    return _MASKED.fullmatch(term) is not None


def is_request_id(term: str) -> bool:
    """Return whether the term looks like the id of a request, of which nothing may be kept."""
    return _REQUEST_ID.fullmatch(term) is not None


def addresses_of(term: str, projects: list[int]) -> list[str]:
    """Return the canonical addresses that the term may mean. A number without a country may mean several."""
    if "@" in term:
        return _canonical([term])
    term = "".join(char for char in term if unicodedata.category(char) != "Cf")  # as copied from a phone's contacts
    dialled = _SEPARATORS.sub("", term)
    if not _DIALLED.fullmatch(dialled):
        return []
    if dialled.startswith("+"):
        return _canonical([term if "(" in term else dialled])
    if dialled.startswith("00"):
        return _canonical([f"+{dialled[2:]}"])
    national = [_in_country(dialled, country) for country in _countries(projects)]
    return _canonical([*filter(None, national), f"+{dialled}"])


def _canonical(writings: Iterable[str]) -> list[str]:
    found = []
    for writing in writings:
        try:
            found.append(parse_test_address(writing).text)
        except AddressInvalid:
            continue
    return list(dict.fromkeys(found))


def _in_country(digits: str, country: str) -> str:
    """Return the number that these digits reach when dialled in the country; empty where they reach none."""
    try:
        number = phonenumbers.parse(digits, country)
    except phonenumbers.NumberParseException:
        return ""
    if not phonenumbers.is_possible_number(number):
        return ""
    return str(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164))


def _countries(projects: list[int]) -> list[str]:
    """Return the countries that the projects send to: those of their newest recipients, and those that they list."""
    addresses = Recipient.objects.filter(project__in=projects).order_by("-id").values_list("address", flat=True)
    counted = Counter(filter(None, map(country_of, addresses[:RECIPIENTS_LOOKED_AT])))
    listed = [
        *Project.objects.filter(pk__in=projects).exclude(countries=[]).values_list("countries", flat=True)[:COUNTRIES],
        *Channel.objects.filter(project__in=projects)
        .exclude(countries=[])
        .values_list("countries", flat=True)[:COUNTRIES],
    ]
    names = [*(country for country, _ in counted.most_common()), *(each for one in listed for each in one)]
    return list(dict.fromkeys(names))[:COUNTRIES]


def _by_id(term: str, projects: list[int]) -> SearchResult:
    """Return what has this id: ours or a vendor's, or the id of a request that made it."""
    found = SearchResult()
    for add in (_add_ours, _add_vendors, _add_requested):
        add(term, projects, found)
        if found.sessions or found.messages:
            break
    return found


def _add_ours(term: str, projects: list[int], found: SearchResult) -> None:
    """Add the session or the message of this id, also as an event names it."""
    if is_session_id(term.upper()):
        found.sessions += Session.objects.filter(pk=term.upper(), project__in=projects)
    elif term.startswith("evt_"):
        _add_event(whole_number(term.removeprefix("evt_")), projects, found)
    elif (number := whole_number(term.removeprefix("msg_"))) is not None:
        _add_messages(Message.objects.filter(pk=number, project__in=projects), found)


def _add_vendors(term: str, projects: list[int], found: SearchResult) -> None:
    _add_messages(_by_vendors_id(term, projects), found)


def _add_requested(term: str, projects: list[int], found: SearchResult) -> None:
    if request_ids.REQUEST_ID.fullmatch(term):
        sessions, messages = rows_made_by(term, projects, most=MOST + 1)
        found.is_cut = len(sessions) > MOST
        found.sessions = sessions[:MOST]
        _add_messages(messages, found)


def _add_event(event_id: int | None, projects: list[int], found: SearchResult) -> None:
    """Add the session or the message that an event told of."""
    event = WebhookEvent.objects.filter(pk=event_id, project__in=projects).first() if event_id else None
    if event is None:
        return
    if event.session_id is not None:
        found.sessions += Session.objects.filter(pk=event.session_id, project__in=projects)
    elif event.message_id is not None:
        _add_messages(Message.objects.filter(pk=event.message_id, project__in=projects), found)


def _by_vendors_id(term: str, projects: list[int]) -> list[Message]:
    """Return the messages that a vendor calls so. A receipt may have named a message that no attempt has the id of."""
    # Short ids, which some vendors give, are in many projects: only our own rows take a place of the answer.
    tried = (
        DeliveryAttempt.objects.filter(provider_message_id=term, message__project__in=projects)
        .order_by()
        .values_list("message", flat=True)[:MOST]
    )
    messages = Message.objects.filter(
        provider__in=list(Provider.objects.of(projects).values_list("pk", flat=True)),
        provider_message_id=term,
        project__in=projects,
    )
    found = {*tried, *messages.order_by().values_list("pk", flat=True)[:MOST]}
    return list(Message.objects.filter(pk__in=found, project__in=projects))


def _add_messages(messages: Iterable[Message], found: SearchResult) -> None:
    """Add each message's session, or the message itself where it has none."""
    for message in messages:
        if message.session is None:
            found.messages.append(message)
        elif message.session not in found.sessions:
            found.sessions.append(message.session)


def _recipients(addresses: list[str], projects: list[int]) -> list[int]:
    if not addresses:
        return []
    rows = Recipient.objects.filter(address__in=addresses, project__in=projects).order_by("-id")
    return list(rows.values_list("pk", flat=True)[:RECIPIENTS])


def _add_traffic_of(recipient: int, found: SearchResult) -> None:
    """Add the newest stories of a recipient. One at a time, as the index has one recipient's rows in their order."""
    sessions = list(Session.objects.filter(recipient=recipient).order_by("-created_at")[: MOST + 1])
    messages = list(Message.objects.filter(recipient=recipient).order_by("-created_at")[:MESSAGES_LOOKED_AT])
    manual = [message for message in messages if message.session_id is None]
    found.is_cut |= max(len(sessions), len(manual)) > MOST or len(messages) == MESSAGES_LOOKED_AT
    found.sessions = sorted([*found.sessions, *sessions], key=_created, reverse=True)[:MOST]
    found.messages = sorted([*found.messages, *manual], key=_created, reverse=True)[:MOST]


def traffic_of(recipient: Recipient) -> SearchResult:
    """Return the newest stories of a recipient."""
    found = SearchResult()
    _add_traffic_of(recipient.pk, found)
    return found


def _created(row: Session | Message) -> float:
    return row.created_at.timestamp()


def _refusals_of(found: SearchResult, projects: list[int]) -> list[Decision]:
    """Return what was refused to these addresses, as far as the log names them.

    Where there is no story, that may be the prefix or the country, of which the log names no number.
    """
    refusals = _refusals([mask(address) for address in found.addresses], projects)
    if found.sessions or found.messages:
        return refusals
    numbers = [address for address in found.addresses if address.startswith("+")]
    prefixes = _refusals([f"{number[:-SUBSCRIBER_DIGITS]}…" for number in numbers], projects)
    countries = _refusals([country_of(number) for number in numbers], projects, rules=("country", *ABOUT_COUNTRIES))
    return sorted([*refusals, *prefixes, *countries], key=lambda decision: decision.last_at, reverse=True)[:REFUSALS]


def _refusals(subjects: list[str], projects: list[int], *, rules: Iterable[str] = ()) -> list[Decision]:
    """Return the newest refusals about one of these subjects, each with its project."""
    if not subjects:
        return []
    rows = Decision.objects.filter(
        subject__in=subjects, project__in=projects, last_at__gte=timezone.now() - REFUSALS_SINCE
    )
    if rules:
        rows = rows.filter(rule__in=list(rules))
    return list(rows.select_related("project").order_by("-last_at")[:REFUSALS])


def rows_made_by(request_id: str, projects: list[int], *, most: int) -> tuple[list[Session], list[Message]]:
    """Return the newest sessions that the request opened, or whose code or token it brought, and its messages.

    A caller's own id is in indexes. One that tells its time is looked for among the rows of that time. No index holds
    the id of the request that redeemed a token, so that one is found by its time alone.
    """
    sessions, messages = _of_callers_id(request_id, projects, most)
    if at := request_ids.time_of_request_id(request_id):
        near = (at - request_ids.REQUEST_ID_SLACK, at + request_ids.REQUEST_ID_SLACK)
        which = {"request": request_id, "created_at__range": near, "project__in": projects}
        sessions |= _ids(Session, "pk", most, **which) | _ids(WrongCode, "session", most, **which)
        messages |= _ids(Message, "pk", most, **which)
        # Tokens are looked for by their sessions, which an index has in the order of time.
        whose = Q(request=request_id) | Q(used_request=request_id)
        since = {
            "session__created_at__range": (near[0] - LONGEST_VERIFICATION, near[1]),
            "session__project__in": projects,
        }
        tokens = VerifyToken.objects.filter(whose, **since).values_list("session", flat=True)
        sessions |= set(tokens[:most])
    of_sessions = Session.objects.filter(pk__in=sessions, project__in=projects).order_by("-created_at")
    of_messages = Message.objects.filter(pk__in=messages, project__in=projects).order_by("-created_at")
    return list(of_sessions[:most]), list(of_messages[:most])


def _of_callers_id(request_id: str, projects: list[int], most: int) -> tuple[set[Any], set[Any]]:
    which = {"caller_request": request_id, "project__in": projects}
    sessions = _ids(Session, "pk", most, **which)
    sessions |= _ids(WrongCode, "session", most, **which) | _ids(VerifyToken, "session", most, **which)
    return sessions, _ids(Message, "pk", most, **which)


def _ids(model: Any, column: str, most: int, **which: Any) -> set[Any]:
    return set(model.objects.filter(**which).order_by().values_list(column, flat=True)[:most])
