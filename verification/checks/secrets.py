"""Secrets: their strength, who can read their files, and whether the encryption keys fit the database.

SECRET_KEY and ENCRYPTION_KEYS that are weak stop every start (``config/secrets.py``), so none is looked at here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.checks import CheckMessage, Critical, Warning

from verification.checks.registry import Aims, register
from verification.core import crypto
from verification.services.maintenance import key_ring, reencryption

MIN_CHARACTERS = 12  # of a password that a program sends: nobody has to remember it
MIN_DISTINCT = 6  # characters of it; next to no random password has fewer
GUESSED_FIRST = ("change", "default", "example", "password", "postgres", "redis", "secret", "watchword")
SECRETS = (
    *("DATABASE_URL", "DATABASE_REPLICA_URL", "REDIS_URL", "SECRET_KEY", "SECRET_KEY_FALLBACKS", "ENCRYPTION_KEYS"),
    *("EMAIL_URL", "METRICS_TOKEN"),
)  # the settings that hold one; NAME_FILE may say where
MADE_FILES = ("secrets.json", "demo.json")  # of the embedded mode, under WATCHWORD_HOME
MOUNTED = Path("/run/secrets")  # orchestrators let every user of the container read these, and there is but one
READ_BY_OTHERS = stat.S_IROTH | stat.S_IWOTH


@register("secrets")
def servers_have_passwords(aims: Aims) -> Iterator[CheckMessage]:
    """Look at METRICS_TOKEN, and at the passwords of both servers unless a socket of this machine is used."""
    weak = ["METRICS_TOKEN"] if settings.METRICS_TOKEN and is_weak(settings.METRICS_TOKEN) else []
    for name, url in (("DATABASE_URL", settings.DATABASE_URL), ("REDIS_URL", settings.REDIS_URL)):
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
        if not host or host.startswith(("%2F", "%2f")) or _is_loopback(host):
            continue
        if parts.password and is_weak(parts.password, parts.username or ""):
            weak.append(name)
        if not parts.password and name == "REDIS_URL":  # PostgreSQL may know us by a certificate
            yield Warning(
                f"{name} has no password, and the server runs on another machine.",
                hint="Set one there (requirepass) and in REDIS_URL. Anyone who reaches the server can lift limits.",
                id="server-without-password",
            )
    for name in weak:
        yield Warning(
            f"The secret in {name} is short or easy to guess.",
            hint="Set a random one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
            id="weak-password",
        )


@register("secrets")
def files_are_private(aims: Aims) -> Iterator[CheckMessage]:
    """Look at the files that this process took secrets from. The address of a file is told, and nothing in it."""
    for path in _secret_files():
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & READ_BY_OTHERS:
            yield Critical(
                f"Every user of this machine can read {path}.",
                hint=f"Restrict it: chmod 600 {path}",
                id="secret-file-open",
            )


@register("secrets")
def keys_open_the_database(aims: Aims) -> Iterator[CheckMessage]:
    """Compare the ring of encryption keys with the rows that last, by the ids of the keys."""
    ring = {key_id.hex() for key_id in crypto.key_ids()}
    lasting = [column for column in reencryption.COLUMNS if column.model not in reencryption.SHORT_LIVED]
    rows = reencryption.rows_by_key(lasting)
    lost = sum(count for key_id, count in rows.items() if key_id not in ring)
    if key_ring.refusal():
        yield Critical(
            "ENCRYPTION_KEYS cannot decrypt any secret of this database. Processes with these keys do not start.",
            hint="Give every process the keys that encrypted the database: the same ones in each unit, pod and .env.",
            id="encryption-keys-wrong",
        )
    elif lost:
        yield Critical(
            f"ENCRYPTION_KEYS lacks the key of some stored secrets: {lost}. Their providers cannot send.",
            hint="Add the earlier key again, at the end of ENCRYPTION_KEYS, in every process.",
            id="encryption-key-missing",
        )


@register("secrets")
def superusers_have_a_second_factor(aims: Aims) -> Iterator[CheckMessage]:
    """Look at them where the second factor is not required, outside of the embedded mode."""
    if settings.IS_EMBEDDED or settings.IS_SECOND_FACTOR_REQUIRED:
        return
    without = User.objects.filter(is_superuser=True, is_active=True).exclude(second_factor__confirmed_at__isnull=False)
    if count := without.count():
        yield Warning(
            f"Superusers who log in to the panel with only a password: {count}.",
            hint="Set ADMIN_SECOND_FACTOR back to required: then they set one up at their next login.",
            id="superuser-without-second-factor",
        )


def is_weak(text: str, user: str = "") -> bool:
    """Return whether a secret would be among the first that somebody tries."""
    lowered = text.lower()
    if len(text) < MIN_CHARACTERS or len(set(text)) < MIN_DISTINCT or (user and lowered == user.lower()):
        return True
    return any(word in lowered for word in GUESSED_FIRST)


def _is_loopback(host: str) -> bool:
    return host.startswith(("127.", "localhost", "[::1]", "::1"))


def _secret_files() -> Iterator[Path]:
    if settings.IS_EMBEDDED:
        yield from (settings.HOME_DIR / name for name in MADE_FILES)
    given = (Path(os.environ[f"{name}_FILE"]) for name in SECRETS if f"{name}_FILE" in os.environ)
    yield from (path for path in given if not path.is_relative_to(MOUNTED))
