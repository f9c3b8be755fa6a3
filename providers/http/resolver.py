"""Look-ups of names, which end in time whatever a name server does.

dnspython asks the machine's name servers (``/etc/resolv.conf``) for a public name, and gives up at a deadline. Neither
``/etc/hosts`` nor another source of ``nsswitch.conf`` is read for it.

A name may be local where the operator allows networks (``OUTBOUND_ALLOWED_NETWORKS``): one without a dot, one under a
domain that is kept for private use, and one in ``/etc/hosts``. The operating system looks those up, by all its sources.
So localhost, the services of compose and Kubernetes, extra hosts of a container and names by mDNS are found. The
system's look-up cannot be stopped; it runs in a thread of its own, for which nobody waits beyond the deadline. Such
names are the operator's, so that no tenant's name server can hold those threads. Other names are then asked for under
the search domains of ``resolv.conf`` too, as the system would (``gateway.sms.svc``).
"""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerYet
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from providers.errors import NotConnected
from providers.http.deadline import Deadline

if TYPE_CHECKING:
    from dns.name import Name
    from dns.resolver import Resolver

TRY_SECONDS = 0.5  # for one try: a packet may be lost, or the first of two servers down, and 2 seconds are all we have
PORT = 53
MAX_LOCAL = 8  # look-ups of local names at once: a thread each. The operator's own server answers within milliseconds
RESOLV_CONF, HOSTS = Path("/etc/resolv.conf"), Path("/etc/hosts")
# Domains that no public name server knows: RFC 6761, 6762 and 8375, and ICANN's of 2024.
LOCAL_DOMAINS = (".localhost", ".local", ".home.arpa", ".internal")

_places = threading.BoundedSemaphore(MAX_LOCAL)


def resolve(host: str, port: int, seconds: float, *, may_be_local: bool = False) -> list[str]:
    """Return the addresses of ``host``, those of IPv4 first, within ``seconds``. Raises :class:`NotConnected`."""
    deadline = Deadline(seconds)
    if may_be_local and is_local(host):
        found = _ask_system(host, port, deadline)
    else:
        found = _ask_name_servers(host, deadline, search=may_be_local)
    if not found:
        raise NotConnected(f"no such host: {host}")
    return list(dict.fromkeys(found))


def is_local(host: str) -> bool:
    """Return whether a name is one that only this machine or its network knows."""
    name = host.lower()
    return "." not in name or name.endswith(LOCAL_DOMAINS) or name in _hosts(_changed_at(HOSTS))


def _ask_name_servers(host: str, deadline: Deadline, *, search: bool) -> list[str]:
    from dns.exception import DNSException  # here, as most commands connect to nobody
    from dns.resolver import NXDOMAIN

    found: list[str] = []
    is_silent = False
    name: Name | str = host
    for kind in ("A", "AAAA"):
        try:
            # Half of the time that is left, so that connecting has some, too.
            lifetime = deadline.left() / 2
            resolver = _resolver(_changed_at(RESOLV_CONF))
            answer = resolver.resolve(name, kind, lifetime=lifetime, search=search, raise_on_no_answer=False)
        except NXDOMAIN:
            break
        except (DNSException, TimeoutError):
            is_silent = True
        else:
            name = answer.qname  # the same name, whatever the search domains are
            found += [record.address for record in answer]
    if is_silent and not found:
        raise _silent(host)
    return found


def _ask_system(host: str, port: int, deadline: Deadline) -> list[str]:
    answer: Future[list[str]] = Future()

    def look_up() -> None:
        found: list[str] = []
        with suppress(OSError, UnicodeError):
            found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        _places.release()
        answer.set_result(found)

    try:
        if not _places.acquire(timeout=deadline.left()):
            raise _silent(host)
        threading.Thread(target=look_up, name="resolve", daemon=True).start()
        return answer.result(timeout=deadline.left())
    except (NoAnswerYet, TimeoutError):
        raise _silent(host) from None


@lru_cache(maxsize=1)
def _resolver(changed_at: int) -> Resolver:
    from dns.resolver import Resolver

    made = Resolver(str(RESOLV_CONF))
    made.timeout, made.port = TRY_SECONDS, PORT
    return made


@lru_cache(maxsize=1)
def _hosts(changed_at: int) -> frozenset[str]:
    try:
        lines = HOSTS.read_text(errors="replace").lower().splitlines()
    except OSError:
        return frozenset()
    return frozenset(name for line in lines for name in line.partition("#")[0].split()[1:])


def _changed_at(file: Path) -> int:
    """Return when a file was changed, in nanoseconds: it is read again only then."""
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return 0


def _silent(host: str) -> NotConnected:
    return NotConnected(f"{host}: the name server does not answer")
