"""The limits that the cache counts: per second, per client address. While it is away, each process counts alone.

The other limits stand elsewhere. Sends and wrong codes of a recipient, and budgets, guard accounts and money: they are
counted from rows, under the recipient's lock, by ``sql/delivery/queue_message.sql`` and ``sql/sessions``. The traffic
guard judges by ``sql/protection``. Logins of the panel have ``admin/auth/throttle.py``.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.exceptions import RedisError

from verification.core import metrics, valkey
from verification.core.caching import Breaker, Cached, Cooldown
from verification.core.errors import ApiError, DecisionRecord
from verification.core.networks import is_neighbour, read_address
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import quotas
from verification.services.protection.quotas import Quota

log = logging.getLogger(__name__)

ADDRESS_WINDOW_MINUTES = 10  # the window of a project's limit of session creates from one client address.
UNKNOWN_KEYS_PER_MINUTE = 30  # from one client address: room for a server whose key was revoked, none for a search.
WRONG_PROOFS_PER_MINUTE = 30  # calls of a connection that prove nothing, from one client address: as for unknown keys.
PUZZLES_PER_MINUTE = 300  # from one client address, which thousands of people may share.
# Failed challenges from one client address. A person fails a few; each costs a call to the vendor and a thread's wait.
FAILED_CHALLENGES_PER_MINUTE = 60
# By one user of the panel who sees recipients masked. A mask hides five digits at least, so that all of them take three
# weeks; whoever answers calls looks up fewer.
LOOK_UPS = 30
VISITS_PER_MINUTE = 240  # requests to a public demo from one client address: a page of the panel asks for a dozen files
LOOK_UP_MINUTES = 10
IPV6_SITE_PREFIX = 64  # bits: one subscriber's network
IPV6_SUBNET_PREFIX = 48  # bits: one subscriber may be given 65,536 networks of 64 bits (RFC 6177)
REQUESTS_USED_UP = "The project's limit of requests in a second is reached."
WHOLE_PROJECT = "whole project"
UNKNOWN_NETWORK = "unknown"  # the network of a caller without an IP address, as behind a Unix socket
NAMESPACE = "watchword"
MAX_REMEMBERED = 10_000  # used-up windows that a process remembers; a flood from many addresses takes no more memory
AWAY_SECONDS = 1.0  # the time without asking the cache after it did not answer

T = TypeVar("T")


def count_request(project: ProjectConfig) -> None:
    """Count one session create or manual send of the project. Raises ``rate_limited``."""
    if limit := project.limits["requests_per_second"]:
        item = RateLimitItemPerSecond(limit)
        decision = DecisionRecord(project.id, "requests_per_second", WHOLE_PROJECT)
        _hit(item, f"project:{project.id}", REQUESTS_USED_UP, decision, told_as=quotas.PROJECT)


def count_create(project: ProjectConfig, client_address: str) -> ApiError | None:
    """Count one session create from this address. Return the refusal where the address is over its limit.

    The caller raises it, unless the project has challenges and one was passed.
    """
    if item := _creates(project, client_address):
        try:
            _hit(
                item,
                _create_key(project, client_address),
                "Too many sessions were created from this client address. If it is your own server's, list it among "
                "the project's server addresses.",
                DecisionRecord(project.id, "client_address", network_of(client_address)),
                told_as=quotas.CLIENT_ADDRESS,
            )
        except ApiError as refusal:
            return refusal
    return None


def is_over_creates(project: ProjectConfig, client_address: str) -> bool:
    """Return whether the next session create from this address would be one too many. Counts nothing."""
    item = _creates(project, client_address)
    return item is not None and _is_used_up(item, _create_key(project, client_address))


def count_unknown_key(client_address: str) -> None:
    """Count one request with an unknown key from this address. Raises ``rate_limited``."""
    try:
        _hit(*_unknown_keys(client_address), "Too many unknown keys came from this client address.")
    except ApiError:
        metrics.count_unknown_key("held_off")
        raise
    metrics.count_unknown_key("refused")


def has_sent_unknown_keys(client_address: str) -> bool:
    """Return whether this process knows the address to be over the limit of unknown keys. The cache is not asked."""
    return bool(_full) and _full.left(_unknown_keys(client_address)) > 0


def count_wrong_proof(client_address: str) -> None:
    """Count one call of a connection without the right proof, or of none that there is. Raises ``rate_limited``."""
    _hit(
        RateLimitItemPerMinute(WRONG_PROOFS_PER_MINUTE),
        f"proof:{network_of(client_address)}",
        "Too many requests without valid credentials came from this client address.",
    )


def counted_network(project: ProjectConfig, client_address: str) -> str:
    """Return the network by which the caller is counted; empty for addresses that many callers share.

    These are loopback, private addresses and the project's own servers.
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


def count_puzzle(client_address: str) -> None:
    """Count one puzzle for this address. Raises ``rate_limited``."""
    if not is_neighbour(client_address):
        item = RateLimitItemPerMinute(PUZZLES_PER_MINUTE)
        detail = "Too many requests for puzzles came from this client address."
        _hit(item, f"puzzle:{network_of(client_address)}", detail, told_as=quotas.PUZZLES)


def require_few_failed_challenges(project: ProjectConfig, client_address: str) -> None:
    """Raise ``rate_limited`` for an address that failed too many challenges. Counts nothing."""
    if _is_exempt(project, client_address):
        return
    item = RateLimitItemPerMinute(FAILED_CHALLENGES_PER_MINUTE)
    window = _ask(lambda limiter: limiter.get_window_stats(item, NAMESPACE, _failure_key(project, client_address)))
    if not window.remaining:
        raise ApiError(
            "rate_limited",
            "Too many failed challenges came from this client address.",
            retry_after=_seconds_until(window.reset_time),
        )


def count_failed_challenge(project: ProjectConfig, client_address: str) -> None:
    if not _is_exempt(project, client_address):
        item = RateLimitItemPerMinute(FAILED_CHALLENGES_PER_MINUTE)
        _ask(lambda limiter: limiter.hit(item, NAMESPACE, _failure_key(project, client_address)))


def count_look_up(user_id: int) -> None:
    """Count one look-up by a whole address, by this user of the panel. Raises ``rate_limited``."""
    item = RateLimitItemPerMinute(LOOK_UPS, LOOK_UP_MINUTES)
    _hit(item, f"look-up:{user_id}", "You looked up too many recipients.")


def count_visit(client_address: str) -> None:
    """Count one request to a public demo. Raises ``rate_limited``."""
    item = RateLimitItemPerMinute(VISITS_PER_MINUTE)
    _hit(
        item,
        f"visit:{network_of(client_address)}",
        f"This demo answers {VISITS_PER_MINUTE} requests a minute from one address.",
    )


def network_of(client_address: str) -> str:
    """Return the network that stands for one caller: the address itself, for IPv6 its /64."""
    address = read_address(client_address)
    if address is None:
        return UNKNOWN_NETWORK
    if address.version == 4:
        return str(address)
    return str(ipaddress.ip_network((address, IPV6_SITE_PREFIX), strict=False))


def _unknown_keys(client_address: str) -> tuple[RateLimitItem, str]:
    return RateLimitItemPerMinute(UNKNOWN_KEYS_PER_MINUTE), f"key:{network_of(client_address)}"


def _creates(project: ProjectConfig, client_address: str) -> RateLimitItem | None:
    """Return the limit of session creates that holds for this address, if any."""
    limit = project.limits["creates_per_address"]
    if not limit or _is_exempt(project, client_address):
        return None
    return RateLimitItemPerMinute(limit, ADDRESS_WINDOW_MINUTES)


def _create_key(project: ProjectConfig, client_address: str) -> str:
    return f"create:{project.id}:{network_of(client_address)}"


def _failure_key(project: ProjectConfig, client_address: str) -> str:
    return f"challenge:{project.id}:{network_of(client_address)}"


def _is_exempt(project: ProjectConfig, client_address: str) -> bool:
    if project.is_sandbox:  # many tests run from one address
        return True
    return str(read_address(client_address)) in project.server_addresses or is_neighbour(client_address)


@Cached
def _shared_counter() -> FixedWindowRateLimiter:
    """Return what all processes count in: the cache."""
    timeout = settings.REDIS_TIMEOUT_SECONDS
    pool = valkey.pool(settings.BROKER_URL, socket_timeout=timeout, socket_connect_timeout=timeout)
    return FixedWindowRateLimiter(RedisStorage("redis://", connection_pool=pool))  # the URL counts for nothing then


@Cached
def _own_counter() -> FixedWindowRateLimiter:
    """Return what this process counts in while the cache is away."""
    return FixedWindowRateLimiter(MemoryStorage())


_away = Breaker(seconds=AWAY_SECONDS)
_full = Cooldown(MAX_REMEMBERED)  # by limit and caller: until its window ends


def _hit(
    item: RateLimitItem, who: str, detail: str, decision: DecisionRecord | None = None, *, told_as: str | None = None
) -> None:
    """Count one, or raise ``rate_limited``. ``told_as`` names the limit where the answer tells the caller of it.

    A caller whose window is used up is refused from memory, so that a flood costs the cache nothing.
    """
    left, wait = 0, math.ceil(_full.left((item, who)))
    if wait <= 1:  # waits are rounded up, so the window may be over in its last second
        left, wait = _ask(lambda limiter: _count(limiter, item, who))
        if wait > 1:
            _full.begin((item, who), seconds=wait)
    if told_as:
        quotas.note(Quota(told_as, item.amount, item.get_expiry(), left, wait or None))
    if wait:
        raise ApiError("rate_limited", detail, retry_after=wait, decision=decision)


def _is_used_up(item: RateLimitItem, who: str) -> bool:
    return _ask(lambda limiter: not limiter.test(item, NAMESPACE, who))


def _ask(question: Callable[[FixedWindowRateLimiter], T]) -> T:
    """Ask the shared counter or, while the cache is away, this process's own."""
    if _away.allow():
        try:
            answer = question(_shared_counter())
        except RedisError:
            _away.record_failure()
            log.warning("The cache does not answer; each process counts limits per second and address on its own.")
        else:
            _away.record_success()
            return answer
    return question(_own_counter())


def _count(limiter: FixedWindowRateLimiter, item: RateLimitItem, who: str) -> tuple[int, int]:
    """Count one, as the library's ``hit`` does, which keeps the count to itself.

    Return how many more the window takes, and 0; or 0, and the seconds until the window is over.
    """
    count = limiter.storage.incr(item.key_for(NAMESPACE, who), item.get_expiry())
    if count <= item.amount:
        return item.amount - count, 0
    return 0, _seconds_until(limiter.get_window_stats(item, NAMESPACE, who).reset_time)


def _seconds_until(moment: float) -> int:
    return max(1, math.ceil(moment - time.time()))
