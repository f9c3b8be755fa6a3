"""The outbound guard: it decides where a connection that a tenant described may lead.

The guard acts twice. When a URL or a host is stored, it judges the writing and resolves nothing: a name's answer today
says nothing about tomorrow. When a connection is made, it resolves the name once and judges every address of the
answer. The socket goes to a judged address, so that no second look-up can give another answer.

The operator's allowed networks lift the guard for the addresses inside them, and for nothing else.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from providers.errors import AddressBlocked, NotConnected
from providers.http.deadline import Deadline
from providers.http.resolver import resolve

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# (host, port, seconds) -> the addresses as text; raises NotConnected.
Resolver = Callable[[str, int, float], Sequence[str]]

MAX_URL_LENGTH = 2048  # characters of a stored URL: more than any vendor's has
NOT_PUBLIC = gettext_lazy("the address is not a public one")
MAX_NAME_LENGTH, MAX_LABEL_LENGTH = 253, 63  # characters of a host name and of its parts (RFC 1035)
PUBLIC_PORTS = frozenset({443, 8443})

# We do not use ``ipaddress.is_global``: it calls NAT64, 6to4, ::127.0.0.1, fec0:: and multicast global.
_DENIED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # one cloud's host agent: a public number that is only reachable from inside
        "169.254.0.0/16",  # link-local: cloud metadata
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments, and one cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# Outside 2000::/3 nothing is public unicast. That alone refuses ::1, mapped and compatible addresses
# (::ffff:0:0/96, ::/96) and both NAT64 prefixes (64:ff9b::/96, 64:ff9b:1::/48).
# It also refuses ULA, link-local, site-local and multicast.
_PUBLIC_V6 = IPv6Network("2000::/3")
_DENIED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries any IPv4 address
        "3fff::/20",  # documentation
    )
)

_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# A last label that an operating system reads as a number, as in 127.1, 0x7f000001, 017700000001, 2130706433.
_NUMERIC_LABEL = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_USER_INFO = re.compile(r"[^/]*//[^/?#]*@")
_ESCAPED_HOST = re.compile(r"[^/]*//[^/?#]*%")  # urllib3 would unescape it
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\\]")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")  # urllib3 would take every other escape for one, too


def check_url(url: str, allowed_networks: Sequence[str] = ()) -> None:
    """Judge a URL before it is stored. Raises :class:`AddressBlocked` with a sentence for its owner."""
    if len(url) > MAX_URL_LENGTH:
        raise AddressBlocked(_("the URL is longer than {most} characters").format(most=MAX_URL_LENGTH))
    read_url(url, allowed_networks)


def read_url(url: str, allowed_networks: Sequence[str] = ()) -> Url:
    """Judge a URL of any length and return what was judged, so that no second reading can differ."""
    return _read_url(url, tuple(allowed_networks))


@lru_cache(maxsize=64)  # a provider's URL hardly ever changes; few URLs with codes stay in memory
def _read_url(url: str, allowed_networks: tuple[str, ...]) -> Url:
    if _UNPRINTABLE.search(url):
        raise AddressBlocked(_("the URL contains a space, a backslash or a control character"))
    if _ESCAPED_HOST.match(url):
        raise AddressBlocked(_("the URL is not valid"))
    try:
        parsed = parse_url(_STRAY_PERCENT.sub("%25", url))
    except LocationParseError:
        raise AddressBlocked(_("the URL is not valid")) from None
    if parsed.scheme not in ("https", "http"):
        raise AddressBlocked(_("the URL must start with https://"))
    if _USER_INFO.match(url):
        raise AddressBlocked(_("the URL must not hold a user name or password"))
    if "#" in url:
        raise AddressBlocked(_("the URL must not hold a fragment (#)"))
    host = (parsed.host or "").strip("[]")
    check_host(host, allowed_networks)
    if needs_allowed_network(parsed.scheme, parsed.port) and not _may_be_allowed(host, networks(allowed_networks)):
        raise AddressBlocked(_("only https on port 443 or 8443 is allowed outside the operator's allowed networks"))
    return parsed


def needs_allowed_network(scheme: str, port: int | None) -> bool:
    """Return whether scheme or port allow a connection only into an allowed network."""
    return scheme != "https" or (port is not None and port not in PUBLIC_PORTS)


def check_host(host: str, allowed_networks: Sequence[str] = ()) -> None:
    """Judge a host as written, without resolving a name. Raises :class:`AddressBlocked`."""
    address = _literal(host)
    allowed = networks(allowed_networks)
    if address is not None:
        if not (_is_inside(address, allowed) or is_public(address)):
            raise AddressBlocked(str(NOT_PUBLIC))
        return
    if not host:
        raise AddressBlocked(_("the host name is missing"))
    if len(host) > MAX_NAME_LENGTH or any(len(label) > MAX_LABEL_LENGTH for label in host.split(".")):
        raise AddressBlocked(
            _("the host name is too long: at most {most} characters, and {of_label} between two dots").format(
                most=MAX_NAME_LENGTH, of_label=MAX_LABEL_LENGTH
            )
        )
    if not _NAME.fullmatch(host):
        raise AddressBlocked(_("the host name is invalid (a dot at the end is not allowed)"))
    if "." not in host and not allowed:
        raise AddressBlocked(_("the host name must have a domain"))


def is_public(address: Address) -> bool:
    """Return whether this is plain public unicast."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _DENIED_V4)
    return address in _PUBLIC_V6 and not any(address in network for network in _DENIED_V6)


def connect(
    host: str,
    port: int,
    timeout: float,
    allowed_networks: Sequence[str] = (),
    *,
    only_allowed: bool = False,
    resolver: Resolver | None = None,
) -> socket.socket:
    """Resolve once, judge every address, connect to a judged one. ``timeout`` is in seconds, for all of it.

    With ``only_allowed`` (plain text, odd ports) a public address is not enough: all must lie in allowed
    networks. Raises :class:`AddressBlocked` and :class:`NotConnected`.
    """
    deadline = Deadline(timeout)
    check_host(host, allowed_networks)
    addresses = _addresses(host, port, timeout, resolver or partial(resolve, may_be_local=bool(allowed_networks)))
    allowed = networks(allowed_networks)
    for address in addresses:
        if not _is_inside(address, allowed) and (only_allowed or not is_public(address)):
            kind = "in an allowed network" if only_allowed else "a public address"
            raise AddressBlocked(f"{host} is not {kind}")
    connected = _connect_first(host, port, addresses, deadline)
    if is_own(connected) and not _is_inside(ip_address(connected.getpeername()[0].partition("%")[0]), allowed):
        connected.close()
        raise AddressBlocked(f"{host} is this machine, which is not in an allowed network")
    return connected


def is_own(connected: socket.socket) -> bool:
    """Return whether both ends have the same address: then it is this machine, under whatever public number."""
    return bool(connected.getsockname()[0] == connected.getpeername()[0])


@lru_cache(maxsize=64)
def _networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(text.strip(), strict=False) for text in texts)


def networks(allowed_networks: Sequence[str]) -> tuple[Network, ...]:
    """Return the operator's list as networks. Raises ``ValueError`` for what is not a network."""
    return _networks(tuple(allowed_networks))


def _literal(host: str) -> Address | None:
    """Return the address that a host writes; None for a name. Refuses any but the plain writing of an address."""
    try:
        if ":" in host:
            address = IPv6Address(host)
            if address.scope_id is None:
                return address
        elif not _NUMERIC_LABEL.fullmatch(host.rstrip(".").rpartition(".")[2]):
            return None
        else:
            return IPv4Address(host)
    except ValueError:
        pass
    raise AddressBlocked(_("enter the address in plain form, such as 192.0.2.1 or 2001:db8::1"))


def _addresses(host: str, port: int, timeout: float, resolver: Resolver) -> list[Address]:
    literal = _literal(host)
    if literal is not None:
        return [literal]
    found = [ip_address(text.partition("%")[0]) for text in resolver(host, port, timeout)]
    if not found:
        raise NotConnected(f"no such host: {host}")
    return found


def _connect_first(host: str, port: int, addresses: Sequence[Address], deadline: Deadline) -> socket.socket:
    """Try the addresses in turn, each with its share of the time, so that a dead first one does not take it all."""
    reason = "no answer in time"
    for index, address in enumerate(addresses):
        try:
            share = deadline.left() / (len(addresses) - index)
            connected = socket.create_connection((str(address), port), share)
        except TimeoutError:
            reason = "no answer in time"
        except ConnectionRefusedError:
            reason = "connection refused"
        except OSError:
            reason = "not reachable"
        else:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connected
    raise NotConnected(f"{host}: {reason}")


def _is_inside(address: Address, allowed: Sequence[Network]) -> bool:
    return any(address in network for network in allowed)


def _may_be_allowed(host: str, allowed: Sequence[Network]) -> bool:
    """Return whether the host is in an allowed network, or could be: a name may resolve to any address."""
    literal = _literal(host)
    return bool(allowed) if literal is None else _is_inside(literal, allowed)
