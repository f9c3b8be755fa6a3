"""Networks of IP addresses as owners write them and callers are judged by them, and the address of a caller."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, UnreadablePostError
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from verification.core.caching import Cooldown
from verification.core.errors import ApiError, UserError

log = logging.getLogger(__name__)

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
MAX_REMEMBERED = 4_096  # addresses that a process has read last; each takes a few hundred bytes
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# From where nobody of the internet reaches us. The list is our own: what ``ipaddress`` calls private differs from one
# Python to the next, and holds networks that the internet routes (6to4, Teredo).
NEIGHBOURS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "127.0.0.0/8",  # this machine (RFC 1122)
        "10.0.0.0/8",  # private networks (RFC 1918), as the two that follow
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",  # of one link (RFC 3927)
        "::1/128",  # this machine
        "fc00::/7",  # private networks (RFC 4193)
        "fe80::/10",  # of one link (RFC 4291)
    )
)


@lru_cache(maxsize=MAX_REMEMBERED)
def read_address(text: str) -> IPAddress | None:
    """Return the address, or None. An IPv4 address that a socket for both kinds wrote as ``::ffff:…`` becomes IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped if address.version == 6 else None) or address


def clean_network(text: str) -> str:
    """Return a network, or one address, in its canonical writing. Raises :class:`UserError`."""
    try:
        network = ipaddress.ip_network(text.strip())
    except ValueError:
        network = None
    if network is None or "%" in text or getattr(network.network_address, "ipv4_mapped", None):
        raise UserError(f"{text!r} is not a network. Write it as 203.0.113.0/24, 2001:db8::/48 or 203.0.113.7.")
    return str(network)


def contain(networks: Iterable[Network], text: str) -> bool:
    """Return whether the address is in one of the networks. A text that is no address is in none."""
    address = read_address(text)
    return address is not None and any(address in network for network in networks)


@lru_cache(maxsize=MAX_REMEMBERED)
def is_neighbour(text: str) -> bool:
    """Return whether the address is this machine's or a private network's: a proxy's, and nobody's of the internet."""
    return contain(NEIGHBOURS, text)


UNREAD_KEY = "unread_forwarded_for"
UNREAD_SECONDS = 86_400  # how long the checks speak of an unread header: a day after it last arrived
UNREAD_NOTED_SECONDS = 600.0  # least time between two such lines in the log of one process

_WITH_PORT = re.compile(r"\[(?P<ipv6>[^\[\]]*)\](?::[0-9]*)?|(?P<ipv4>[0-9.]*):[0-9]*")


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


_notes: Cooldown[str] = Cooldown(max_size=1)


def _warn_of_unread(address: str) -> None:
    """Warn once in a while that a proxy's header goes unread.

    All callers then look like that proxy, for which the limits per address and the rules on guessing do not hold.
    """
    if _notes.left(UNREAD_KEY) or not address or not is_neighbour(address):
        return
    _notes.begin(UNREAD_KEY, UNREAD_NOTED_SECONDS)
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


def announced_length(request: HttpRequest) -> int:
    """Return the length of the body in bytes, as its sender tells it; 0 where none is told."""
    text = request.META.get("CONTENT_LENGTH") or ""
    return int(text) if text.isascii() and text.isdigit() else 0


def read_body(request: Any, stream: Any, most: int) -> bytes:
    """Return the bytes of a request's body, which ``stream`` has.

    Raises ``body_too_large`` for one that is, or is announced as, longer than ``most`` bytes, and ``parse_error`` where
    its sender stopped.
    """
    too_large = ApiError("body_too_large", f"The body is larger than {most} bytes.")
    if announced_length(request) > most:
        raise too_large
    try:
        body: bytes = stream.read(most + 1)
    except UnreadablePostError:
        raise ApiError("parse_error", "The request body is incomplete.") from None
    if len(body) > most:
        raise too_large
    return body
