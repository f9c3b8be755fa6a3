"""Networks of IP addresses as owners write them and callers are judged by them, and the address of a caller."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable
from functools import lru_cache

from verification.core.errors import UserError

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
