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

from verification import sql
from verification.crypto import stored_digest
from verification.errors import Misuse, Refusal
from verification.models import ApiKey, KeyKind, Project
from verification.services import decisions
from verification.services.configuration import CACHE_SECONDS, ProjectConfig
from verification.services.networks import contain

log = logging.getLogger(__name__)

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS = 32  # 190 bits
CHECKSUM_CHARACTERS = 6
PREFIXES = {KeyKind.API: "ww_api_", KeyKind.SECRET: "ww_secret_"}
SHOWN_CHARACTERS = 4  # of the random part, to know a key by
MAX_CACHED_KEYS = 10_000


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key. ``text`` exists only here: it is shown once and never again."""

    id: int
    kind: KeyKind
    text: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request this is: the key, its kind, and the project as it was configured a moment ago."""

    key_id: int
    kind: str
    project: ProjectConfig
    expires_at: datetime | None
    asked_at: float


def issue_key(*, project: Project, kind: KeyKind, expires_in: int | None = None, created_by: Any = None) -> IssuedKey:
    """Make a key that lives ``expires_in`` seconds, or until it is revoked."""
    if expires_in is not None and expires_in <= 0:
        raise Misuse("A key must live for at least a second.")
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

    Raises :class:`Misuse` for a key that is over.
    """
    old = ApiKey.objects.select_for_update(of=("self",)).select_related("project").get(pk=key_id)
    now = timezone.now()
    if old.revoked_at or (old.expires_at and old.expires_at <= now):
        raise Misuse("This key is over. Issue a new one instead.")
    new = issue_key(project=old.project, kind=KeyKind(old.kind), expires_in=expires_in, created_by=created_by)
    end = now + overlap
    if old.expires_at is None or old.expires_at > end:
        ApiKey.objects.filter(pk=key_id).update(expires_at=end)
    return new


def authenticate(text: str, *, client_address: str = "") -> Caller:
    """Who holds this key.

    Raises ``invalid_api_key``: one answer for unknown, expired and revoked keys, and for a secret key from outside its
    project's networks, so that nobody learns from another place that a stolen key is a good one.
    """
    digest = digest_of(text)
    caller = _callers.get(digest)
    if caller is None or time.monotonic() - caller.asked_at > CACHE_SECONDS:
        if not is_well_formed(text):
            raise _refusal()
        caller = _load(digest)
    if caller is None or (caller.expires_at and caller.expires_at <= timezone.now()):
        raise _refusal()
    networks = caller.project.secret_key_networks
    if caller.kind == KeyKind.SECRET and networks and not contain(networks, client_address):
        _note_stranger(caller, client_address or "an unknown address")
        raise _refusal()
    return caller


def digest_of(text: str) -> bytes:
    """The stored form of a key."""
    return stored_digest(text, kind="key")


def is_well_formed(text: str) -> bool:
    """Whether prefix, alphabet, length and checksum are those of a key."""
    for prefix in PREFIXES.values():
        if text.startswith(prefix):
            body = text.removeprefix(prefix)
            random, checksum = body[:RANDOM_CHARACTERS], body[RANDOM_CHARACTERS:]
            return len(body) == RANDOM_CHARACTERS + CHECKSUM_CHARACTERS and checksum == _checksum(random)
    return False


def _note_stranger(caller: Caller, client_address: str) -> None:
    log.warning(
        "Secret key %s of project %s was refused: %s is outside of the project's networks.",
        caller.key_id,
        caller.project.id,
        client_address,
    )
    figures = {"key": caller.key_id, "networks": " ".join(map(str, caller.project.secret_key_networks))}
    decisions.note(project_id=caller.project.id, rule="secret_key_network", subject=client_address, figures=figures)


def _refusal() -> Refusal:
    return Refusal("invalid_api_key", "The key is unknown, expired or revoked.")


_callers: dict[bytes, Caller] = {}


def _load(digest: bytes) -> Caller | None:
    asked_at = time.monotonic()  # how old the answer is
    row = sql.call("load_caller", digest=digest)
    if row is None:
        _callers.pop(digest, None)
        return None
    caller = Caller(row.key_id, row.kind, ProjectConfig(row.project), row.expires_at, asked_at)
    if len(_callers) >= MAX_CACHED_KEYS:
        _callers.clear()
    _callers[digest] = caller
    if row.is_use_due:
        _note_use(row.key_id)
    return caller


def _note_use(key_id: int) -> None:
    """Keep ``last_used_at`` to the minute: of all processes, one writes it once a minute."""
    now = timezone.now()
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(minutes=1))
    ApiKey.objects.filter(due, pk=key_id).update(last_used_at=now)


def _checksum(random: str) -> str:
    number = zlib.crc32(random.encode())
    digits = ""
    for _ in range(CHECKSUM_CHARACTERS):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits
