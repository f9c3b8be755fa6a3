"""Which callers count as one: the networks by which limits, guesses and decisions know a client address."""

from __future__ import annotations

import ipaddress

from verification.core.client_address import ToldAddress
from verification.core.networks import is_neighbour, read_address
from verification.services.projects.snapshot import ProjectConfig

IPV6_SITE_PREFIX = 64  # bits: one subscriber's network
IPV6_SUBNET_PREFIX = 48  # bits: one subscriber may be given 65,536 networks of 64 bits (RFC 6177)
UNKNOWN_NETWORK = "unknown"  # the network of a caller without an IP address, as behind a Unix socket


def network_of(client_address: str) -> str:
    """Return the network that stands for one caller: the address itself, for IPv6 its /64."""
    address = read_address(client_address)
    if address is None:
        return UNKNOWN_NETWORK
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, IPV6_SITE_PREFIX), strict=False))


def counted_network(project: ProjectConfig, client_address: str) -> str:
    """Return the network by which the caller is counted; empty for addresses that many callers share.

    These are loopback, private addresses and the project's own servers, where we see them ourselves.
    """
    return "" if _is_exempt(project, client_address) else network_of(client_address)


def subnet_of(project: ProjectConfig, client_address: str) -> str:
    """Return the caller's subnet, by which guessing is counted: the /24, for IPv6 the /48.

    It is empty for callers whom :func:`counted_network` leaves out.
    """
    if _is_exempt(project, client_address):
        return ""
    address = read_address(client_address)
    if address is None:
        return UNKNOWN_NETWORK
    if address.version == 4:
        return f"{str(address).rpartition('.')[0]}.0/24"  # the smallest network routed between providers
    return str(ipaddress.ip_network((address, IPV6_SUBNET_PREFIX), strict=False))


def _is_exempt(project: ProjectConfig, client_address: str) -> bool:
    if project.is_sandbox:  # many tests run from one address
        return True
    if isinstance(client_address, ToldAddress):
        return False
    return str(read_address(client_address)) in project.server_addresses or is_neighbour(client_address)
