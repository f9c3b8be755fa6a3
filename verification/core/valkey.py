"""Connections to Valkey or Redis: at one address, or wherever its sentinels say that the primary is now.

``redis+sentinel://:password@one:26379,two:26379/name/0`` names sentinels, what they watch, and the database there.
The password is that of Valkey; ``?sentinel_password=`` has the sentinels' own. ``rediss+sentinel`` speaks TLS to all.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit, urlunsplit

from redis.backoff import NoBackoff
from redis.connection import ConnectionPool, parse_url
from redis.exceptions import OutOfMemoryError, ReadOnlyError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool

from verification.core.urls import split_hosts

CODES = {OutOfMemoryError: "OOM", ReadOnlyError: "READONLY"}  # the server's first words, which the client takes off
SENTINEL = "+sentinel"  # the end of the scheme
SENTINEL_PORT = 26379  # where none is named
SENTINEL_PASSWORD = "sentinel_password"  # noqa: S105  (the name of an option)


def pool(url: str, **options: Any) -> ConnectionPool:
    """Return a pool of connections. ``options`` are those of redis' connections."""
    parts, hosts = split_hosts(url)
    if not parts.scheme.endswith(SENTINEL):
        return ConnectionPool.from_url(url, **options)
    user = parts.netloc.rpartition("@")[0]
    name, _, database = parts.path.strip("/").partition("/")
    scheme = parts.scheme.removesuffix(SENTINEL)
    plain = urlunsplit((scheme, f"{user}@sentinels", f"/{database or 0}", parts.query, ""))
    own: dict[str, Any] = dict(parse_url(plain))  # type: ignore[no-untyped-call]
    for place in ("host", "port", "connection_class", SENTINEL_PASSWORD):
        own.pop(place, None)
    encrypted = {"ssl": True} if scheme == "rediss" else {}
    password = parse_qs(parts.query).get(SENTINEL_PASSWORD, [None])[0]
    # A sentinel that is away is passed over at once: the next one knows the same.
    patience = options.get("socket_connect_timeout")
    asked = {"password": password, "socket_timeout": patience, "socket_connect_timeout": patience}
    sentinels = Sentinels(  # type: ignore[no-untyped-call]
        [_address(host) for host in hosts],
        sentinel_kwargs={**asked, **encrypted, "retry": Retry(NoBackoff(), 0)},
    )
    return SentinelConnectionPool(name, sentinels, **{**options, **own, **encrypted})  # type: ignore[no-untyped-call]


class Sentinels(Sentinel):
    """Sentinels that say in one line that none of them knows a primary."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        try:
            found: tuple[str, int] = super().discover_master(service_name)  # type: ignore[no-untyped-call]
        except MasterNotFoundError:  # redis' own text tells every option of every connection
            text = f"no sentinel knows the primary of {service_name}: check addresses, name, password."
            raise MasterNotFoundError(text) from None
        return found


def _address(host: str) -> tuple[str, int]:
    parts = urlsplit(f"//{host}")
    return parts.hostname or "", parts.port or SENTINEL_PORT


def reason(error: Exception) -> str:
    """Return what the server says, or what the way to it does, in one line. Neither quotes a key or a value."""
    cause = error.__cause__ or error  # django-redis' own error tells less
    text = str(cause).strip().partition("\n")[0].rstrip(".") or type(cause).__name__
    return next((f"{code} {text}" for kind, code in CODES.items() if isinstance(cause, kind)), text)


class Pool:
    """The same for django-redis, which wants a class that makes pools."""

    from_url = staticmethod(pool)
