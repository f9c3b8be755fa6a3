"""Asking a name server for the TXT records of a name, which Python's own resolver cannot do."""

from __future__ import annotations

PORT = 53
SECONDS = 3.0  # for one try, over UDP or, where the answer is long, over TCP
ALL_SECONDS = 6.0  # for one question: a packet may be lost, so it is asked once more


class NameServerSilent(Exception):
    """The name server is silent, or said nothing that can be read."""


def texts_of(name: str, server: str = "") -> list[str]:
    """Return the TXT records of a name, each in one piece; none where there is no such name. Raises NoAnswer."""
    from dns.exception import DNSException  # here, as no other command needs the library
    from dns.resolver import NXDOMAIN, LifetimeTimeout, NoNameservers, NoResolverConfiguration, Resolver
    from dns.resolver import NoAnswer as NoRecords

    try:
        resolver = Resolver(configure=not server)
        if server:
            host, resolver.port = _address(server)
            resolver.nameservers = [host]
    except NoResolverConfiguration:
        raise NameServerSilent("this machine has no name server") from None
    except ValueError:
        raise NameServerSilent(f"{server} is not the address of a name server") from None
    resolver.timeout = SECONDS
    try:
        found = resolver.resolve(name, "TXT", lifetime=ALL_SECONDS, search=False)
    except (NXDOMAIN, NoRecords):
        return []
    except LifetimeTimeout:
        raise NameServerSilent(f"{_named(server)} does not answer, or its answer cannot be read") from None
    except NoNameservers:
        raise NameServerSilent(f"{_named(server)} answers with an error") from None
    except DNSException:
        raise NameServerSilent("this name cannot be looked up") from None
    # The strings of one record belong together, as mail servers join them (RFC 7208, 3.3).
    return [b"".join(record.strings).decode("utf-8", "replace") for record in found]


def _named(server: str) -> str:
    return f"the name server {server}" if server else "this machine's name server"


def _address(text: str) -> tuple[str, int]:
    """Read ``192.0.2.1``, ``192.0.2.1:5353``, ``2001:db8::1`` or ``[2001:db8::1]:5353``."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, int(rest.removeprefix(":") or PORT)
    if text.count(":") == 1:
        host, _, port = text.partition(":")
        return host, int(port)
    return text, PORT
