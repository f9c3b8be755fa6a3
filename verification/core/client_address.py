"""The address of a request's caller or end user, and the warning where a proxy tells it and nobody reads it."""

from __future__ import annotations

import ipaddress
import logging
import re
from functools import lru_cache

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from verification.core.caching import Cooldown
from verification.core.networks import MAX_REMEMBERED, is_neighbour

log = logging.getLogger(__name__)

UNREAD_KEY = "unread_forwarded_for"
UNREAD_SECONDS = 86_400  # how long the checks speak of an unread header: a day after it last arrived
UNREAD_NOTED_SECONDS = 600.0  # least time between two such lines in the log of one process

_WITH_PORT = re.compile(r"\[(?P<ipv6>[^\[\]]*)\](?::[0-9]*)?|(?P<ipv4>[0-9.]*):[0-9]*")


class ToldAddress(str):
    """An end user's address as a customer's system tells it.

    It may be what that system's own caller wrote. So no address frees it from limits, as a private one frees a caller
    whom we see ourselves; all that are no address share one caller's limits.
    """

    __slots__ = ()

    @classmethod
    def read(cls, text: str) -> ToldAddress:
        return cls(_read(text))


def client_address(request: HttpRequest) -> str:
    """Return the caller's IP address. ``X-Forwarded-For`` counts only as far as our own proxies wrote it.

    It is empty where it cannot be told: behind a Unix socket, or where a proxy wrote no address. We do not fall back to
    the proxy's address: private addresses are exempt from most limits. All such callers share one caller's limits.
    """
    hops: int = settings.TRUSTED_PROXIES
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR") if hops else None
    if forwarded is None:
        address = _read(request.META.get("REMOTE_ADDR", ""))
        if not hops and "HTTP_X_FORWARDED_FOR" in request.META:
            _warn_of_unread(address)
        return address
    entries = forwarded.split(",")
    return _read(entries[-min(hops, len(entries))])  # where there are fewer than proxies, our own wrote them all


def client_ip(request: HttpRequest) -> str | None:
    """Return the caller's IP address without the name of an interface, or None where it cannot be told."""
    return client_address(request).partition("%")[0] or None


def unread_from() -> str:
    """Return the private address whose ``X-Forwarded-For`` nobody read within the last day, or ""."""
    if settings.TRUSTED_PROXIES:
        return ""
    try:
        return str(cache.get(UNREAD_KEY) or "")
    except (RedisError, ConnectionInterrupted):
        return ""


_noted = Cooldown()


def _warn_of_unread(address: str) -> None:
    """Warn once in a while that a proxy's header goes unread.

    All callers then look like that proxy, for which the limits per address and the rules on guessing do not hold.
    """
    if _noted.left() or not address or not is_neighbour(address):
        return
    _noted.begin(seconds=UNREAD_NOTED_SECONDS)
    log.warning(
        "X-Forwarded-For arrives from %s and TRUSTED_PROXIES is 0: all callers count as that address, so limits per"
        " client address are off. Set TRUSTED_PROXIES to the number of proxies in front.",
        address,
    )
    try:
        cache.set(UNREAD_KEY, address, UNREAD_SECONDS)
    except (RedisError, ConnectionInterrupted):
        log.debug("The cache does not answer; only this line says so.")


@lru_cache(maxsize=MAX_REMEMBERED)
def _read(text: str) -> str:
    """Read an address as proxies write it, some with the port. Return "" for anything else."""
    text = text.strip()
    if found := _WITH_PORT.fullmatch(text):
        text = found["ipv6"] or found["ipv4"] or ""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
