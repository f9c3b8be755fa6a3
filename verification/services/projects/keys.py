"""API and secret keys: issuing, revoking, and finding out who calls.

A key reads ``ww_api_`` or ``ww_secret_``, then 32 random base62 characters, then six of CRC-32, as GitHub's tokens do:
a mistyped key is refused without a query, and scanners for leaked secrets know one when they see it.
"""

from __future__ import annotations

import logging
import secrets
import string
import time
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification import sql
from verification.core.caching import FRESH_SECONDS, FreshCache, cached_for
from verification.core.crypto import stored_digest
from verification.core.errors import ApiError, UserError
from verification.core.networks import contain
from verification.models import ApiKey, KeyKind, KeyState, Project, bounds, sees_addresses
from verification.services.projects.snapshot import ProjectConfig
from verification.services.records import decisions

READS_RECIPIENTS = gettext_lazy(
    "A secret key reads full addresses, so only members who can see them may create or rotate one."
)
MAX_KEYS = 10_000  # that are remembered at once, a few hundred bytes each


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request this is: the key, its kind, and the project as it was configured a moment ago."""

    key_id: int
    kind: str
    project: ProjectConfig
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Key:
    id: int
    kind: str
    project_id: int
    expires_at: datetime | None


class Callers:
    """Keys by digest, and the snapshots that keys of one project share."""

    def __init__(self) -> None:
        self._keys: FreshCache[bytes, _Key] = FreshCache(MAX_KEYS)
        self._projects: FreshCache[int, ProjectConfig] = FreshCache()  # by id

    def remembered(self, digest: bytes) -> Caller | None:
        """Return who holds the key, as far as it was read within a second."""
        key = self._keys.recent(digest)
        project = self._projects.recent(key.project_id) if key else None
        if key is None or project is None:
            return None
        return Caller(key.id, key.kind, project, key.expires_at)

    def read(self, digest: bytes) -> Caller | None:
        """Return who holds the key, by the database; None for one that is unknown, over or of a disabled project.

        A project's snapshot that another key has just brought is not asked for again.
        """
        now = time.monotonic()  # how old the answer is
        before = self._keys.last(digest)
        project = self._projects.recent(before.project_id) if before else None
        row = sql.call("load_caller", digest=digest, known_project=project and project.id)
        if row is None:
            self._keys.drop(digest)
            return None
        if project is None or row.project is not None:
            project = ProjectConfig(row.project)
            self._projects.put(row.project_id, project, read_at=now)
        self._keys.put(digest, _Key(row.key_id, row.kind, row.project_id, row.expires_at), read_at=now)
        if row.is_use_due:
            _record_use(row.key_id)
        return Caller(row.key_id, row.kind, project, row.expires_at)


def _record_use(key_id: int) -> None:
    """Keep ``last_used_at`` to the minute: of all processes, one writes it once a minute."""
    now = timezone.now()
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(minutes=1))
    ApiKey.objects.filter(due, pk=key_id).update(last_used_at=now)


log = logging.getLogger(__name__)

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS = 32  # 190 bits
CHECKSUM_CHARACTERS = 6
PREFIXES = {KeyKind.API: "ww_api_", KeyKind.SECRET: "ww_secret_"}
SHOWN_CHARACTERS = 4  # of the random part, to know a key by
MAX_LISTED_KEYS = 20_000  # of all projects; beyond it a list of them takes longer to read than it spares

_callers = Callers()


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. ``text`` exists only here: it is shown once and never again."""

    id: int
    kind: KeyKind
    text: str


@transaction.atomic
def issue_key(*, project: Project, kind: KeyKind, expires_in: int | None = None, created_by: Any = None) -> IssuedKey:
    """Make a key that lives ``expires_in`` seconds, or until it is revoked. Raises :class:`UserError`.

    A secret key reads whole recipients, so only a member who sees them gets one. ``created_by`` is None for operators.
    """
    if kind == KeyKind.SECRET and created_by is not None and not sees_addresses(created_by, project.pk):
        raise UserError(str(READS_RECIPIENTS))
    if expires_in is not None and expires_in <= 0:
        raise UserError(_("A key must be valid for at least one second."))
    bounds.require_room(
        project,
        ApiKey.objects.live().filter(project=project),
        bounds.MAX_LIVE_KEYS,
        _("A project can have at most {max_live_keys} active keys. Revoke one you no longer use.").format(
            max_live_keys=bounds.MAX_LIVE_KEYS
        ),
    )
    random = "".join(secrets.choice(BASE62) for _ in range(RANDOM_CHARACTERS))
    text = PREFIXES[kind] + random + _checksum(random)
    key = ApiKey.objects.create(
        project=project,
        kind=kind,
        prefix=PREFIXES[kind] + random[:SHOWN_CHARACTERS],
        digest=digest_of(text),
        created_by=created_by,
        expires_at=timezone.now() + timedelta(seconds=expires_in) if expires_in else None,
    )
    return IssuedKey(key.pk, kind, text)


def revoke_key(key_id: int) -> bool:
    """Revoke a key; every process refuses it within a second. False if it was revoked before or never was."""
    return bool(ApiKey.objects.filter(pk=key_id, revoked_at=None).update(revoked_at=timezone.now()))


@transaction.atomic
def rotate_key(key_id: int, *, overlap: timedelta, expires_in: int | None = None, created_by: Any = None) -> IssuedKey:
    """A new key of the same kind; the old one goes on for ``overlap``, or to its own end if that comes first.

    Raises :class:`UserError` for a key that is over, where the project has too many, and as :func:`issue_key` does.
    """
    old = ApiKey.objects.select_for_update(of=("self",)).select_related("project").get(pk=key_id)
    if old.state is not KeyState.LIVE:
        raise UserError(_("This key has expired. Create a new one instead."))
    new = issue_key(project=old.project, kind=KeyKind(old.kind), expires_in=expires_in, created_by=created_by)
    end = timezone.now() + overlap
    if old.expires_at is None or old.expires_at > end:
        ApiKey.objects.filter(pk=key_id).update(expires_at=end)
    return new


def authenticate(text: str, *, client_address: str = "", is_held_off: bool = False) -> Caller:
    """Return who holds this key.

    The database is not asked for every unknown key of a caller who ``is_held_off`` for having sent too many: theirs are
    looked for in a list of all live keys, which is read once in a second at most.

    Raises ``invalid_api_key`` alike for unknown, expired and revoked keys, and for a secret key from outside its
    project's networks. So nobody learns by using a stolen key elsewhere that it is a good one.
    """
    digest = digest_of(text)
    caller = _callers.remembered(digest)
    if caller is None:
        if not is_well_formed(text) or (is_held_off and not _may_be_live(digest)):
            raise _refusal()
        caller = _callers.read(digest)
    if caller is None or (caller.expires_at and caller.expires_at <= timezone.now()):
        raise _refusal()
    networks = caller.project.secret_key_networks
    if caller.kind == KeyKind.SECRET and networks and not contain(networks, client_address):
        _log_foreign_network(caller, client_address or _("an unknown address"))
        raise _refusal()
    return caller


def digest_of(text: str) -> bytes:
    """The stored form of a key."""
    return stored_digest(text, kind="key")


def is_well_formed(text: str) -> bool:
    """Return whether prefix, alphabet, length and checksum are those of a key."""
    for prefix in PREFIXES.values():
        if text.startswith(prefix):
            body = text.removeprefix(prefix)
            random, checksum = body[:RANDOM_CHARACTERS], body[RANDOM_CHARACTERS:]
            return len(body) == RANDOM_CHARACTERS + CHECKSUM_CHARACTERS and checksum == _checksum(random)
    return False


def _may_be_live(digest: bytes) -> bool:
    listed = _live_keys()
    return listed is None or digest in listed


@cached_for(FRESH_SECONDS)
def _live_keys() -> frozenset[bytes] | None:
    """The digests of all live keys, or None where they are too many."""
    digests = ApiKey.objects.live().order_by().values_list("digest", flat=True)[: MAX_LISTED_KEYS + 1]
    listed = frozenset(bytes(digest) for digest in digests)
    return listed if len(listed) <= MAX_LISTED_KEYS else None


def _log_foreign_network(caller: Caller, client_address: str) -> None:
    log.warning(
        "Secret key %s of project %s was refused: %s is outside of the project's networks.",
        caller.key_id,
        caller.project.id,
        client_address,
    )
    figures = {"key": caller.key_id, "networks": " ".join(map(str, caller.project.secret_key_networks))}
    decisions.record(project_id=caller.project.id, rule="secret_key_network", subject=client_address, figures=figures)


def _refusal() -> ApiError:
    return ApiError("invalid_api_key")


def _checksum(random: str) -> str:
    number = zlib.crc32(random.encode())
    digits = ""
    for _unused in range(CHECKSUM_CHARACTERS):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits
