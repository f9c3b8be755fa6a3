"""Checks of what must hold before the service starts, each with an id and a hint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, connections
from django.http.request import validate_host
from django_redis import get_redis_connection
from redis.exceptions import RedisError, ResponseError

from providers import registry
from providers.http import ssrf
from verification.core import mail_server
from verification.core.client_address import unread_from

EVERYWHERE = "watchword"  # the tag of those that concern a process that shows no page, too

# Before 15 whoever owns the database could let the audit log be emptied: setting a parameter needed no permission.
OLDEST_POSTGRESQL = 15
OLDEST_VALKEY = 7  # workers wait with BLMPOP. Valkey calls itself redis_version 7.2.4 and is new enough in any version


@register(EVERYWHERE)
def adapters_load(**_: Any) -> list[CheckMessage]:
    return [
        Error(
            f"Watchword cannot load the adapter {file}: {reason}",
            hint="Fix or remove the file; the other adapters are not affected.",
            id="watchword.E001",
        )
        for file, reason in registry.failures().items()
    ]


@register(EVERYWHERE)
def networks_are_networks(**_: Any) -> list[CheckMessage]:
    try:
        ssrf.networks(settings.OUTBOUND_ALLOWED_NETWORKS)
    except ValueError as error:
        return [
            Error(
                f"OUTBOUND_ALLOWED_NETWORKS: {error}",
                hint="Write networks such as 10.0.0.0/8, separated by commas.",
                id="watchword.E002",
            )
        ]
    return []


@register(Tags.security, deploy=True)
def settings_are_for_production(**_: Any) -> list[CheckMessage]:
    return list(_unfit_for_production())


def _unfit_for_production() -> Iterator[CheckMessage]:
    is_https = settings.BASE_URL.startswith("https://")
    host = urlsplit(settings.BASE_URL).hostname or ""
    if not is_https:
        yield Warning(
            "BASE_URL is not an https address.",
            hint="Set it to the public address of the service; links, delivery reports and cookies depend on it.",
            id="watchword.W001",
        )
    if settings.ALLOWED_HOSTS and not validate_host(f"[{host}]" if ":" in host else host, settings.ALLOWED_HOSTS):
        yield Warning(
            f"The host of BASE_URL, {host}, is not in ALLOWED_HOSTS.",
            hint="Links, delivery reports and the panel use it, and would get a 400.",
            id="watchword.W002",
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield Warning(
            "ALLOWED_HOSTS accepts every host name.",
            hint="List the hosts that you serve. Probes need no entry: /livez and /readyz answer under any name.",
            id="watchword.W006",
        )
    if is_https and not settings.TRUSTED_PROXIES:
        yield Warning(
            "BASE_URL is an https address, but TRUSTED_PROXIES is 0.",
            hint="Set it to the number of proxies in front, which write X-Forwarded-For and X-Forwarded-Proto. Until "
            "then all callers share the proxy's address and its limits, and Watchword does not redirect plain "
            "http to https.",
            id="watchword.W005",
        )
    if not mail_server.has_mail_server():
        yield Warning(
            "EMAIL_URL is not set: alerts to owners go to the worker's log, and nobody gets a mail.",
            hint="Set it to a mail server, e.g. smtp+tls://user:password@host:587.",
            id="watchword.W007",
        )
    if settings.SHOW_CODES_TO_OPERATORS:
        yield Warning(
            "SHOW_CODES_TO_OPERATORS lets members print and read the codes of their users.",
            hint="Remove it from the environment; it is for trying the service, with the providers console and inbox.",
            id="watchword.W008",
        )
    if address := unread_from():
        yield Warning(
            f"Requests from {address}, a private address, have X-Forwarded-For, but TRUSTED_PROXIES is 0.",
            hint="All callers appear to have that address, so limits per client address are off. Set TRUSTED_PROXIES "
            "to the number of proxies in front of the service. This message stays for a day after the last such "
            "header.",
            id="watchword.W009",
        )


@register(Tags.database)
def postgresql_is_new_enough(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Runs where Django looks at databases: with ``migrate`` and ``check --database default``."""
    found = {connections[alias].pg_version // 10_000 for alias in databases or ()}  # type: ignore[attr-defined]
    return [
        Error(
            f"The database is PostgreSQL {version}.",
            hint=f"DATABASE_URL must point to PostgreSQL {OLDEST_POSTGRESQL} or later.",
            id="watchword.E003",
        )
        for version in found
        if version < OLDEST_POSTGRESQL
    ]


@register(Tags.database)
def sessions_have_their_limits(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Find what a pooler drops: an option of the connection, or what was never written to the role."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    wanted = settings.DATABASE_LIMITS
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY (%s)", [list(wanted)])
        lacking = sorted(name for name, value in cursor.fetchall() if value != wanted[name])
    if not lacking:
        return []
    if settings.DATABASE_POOLER == "none":
        return [
            Error(
                f"DATABASE_URL points to a pooler that drops the limits of a session ({', '.join(lacking)}).",
                hint="Set DATABASE_POOLER=transaction, as docs/engineering/scale.md says.",
                id="watchword.E005",
            )
        ]
    commands = " ".join(f"ALTER ROLE CURRENT_USER SET {name} = {wanted[name]};" for name in lacking)
    return [
        Warning(
            f"The sessions behind the pooler lack limits ({', '.join(lacking)}): a statement may hang for ever.",
            hint=f"Run in psql, as the service's user: {commands} Then RECONNECT in the pooler's console.",
            id="watchword.W010",
        )
    ]


@register(Tags.database)
def valkey_is_new_enough(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    if not databases:
        return []
    hint = f"REDIS_URL must point to Valkey, or to Redis {OLDEST_VALKEY} or later."
    try:
        version = str(get_redis_connection().info("server")["redis_version"])
    except ResponseError as error:  # it is there: a wrong password, or no permission to ask this
        return [Warning(f"Valkey or Redis does not report its version: {error}", hint=hint, id="watchword.W003")]
    except RedisError as error:
        text = "Until it answers, the workers' sweep delivers the messages, a second or two late."
        return [Warning(f"Valkey or Redis does not answer: {error}", hint=f"{hint} {text}", id="watchword.W004")]
    if int(version.partition(".")[0]) >= OLDEST_VALKEY:
        return []
    return [Error(f"REDIS_URL points to Redis {version}.", hint=hint, id="watchword.E004")]
