"""The limits that the cache counts: per second, per client address. While it is away, each process counts alone.

The other limits stand elsewhere. Sends and wrong codes of a recipient, and budgets, guard accounts and money: they are
counted from rows, under the recipient's lock, by ``sql/delivery/queue_message.sql`` and ``sql/sessions``. The traffic
guard judges by ``sql/protection``. Logins of the panel have ``admin/auth/throttle.py``.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from django.conf import settings
from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.exceptions import RedisError

from verification.core import metrics, valkey
from verification.core.caching import Breaker, Cached, Cooldown, LastReason
from verification.core.errors import ApiError, DecisionRecord
from verification.core.networks import is_neighbour
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import quotas
from verification.services.protection.client_networks import counted_network, network_of
from verification.services.protection.quotas import Quota

log = logging.getLogger(__name__)

ADDRESS_WINDOW_MINUTES = 10  # the window of a project's limit of session creates from one client address.
REQUESTS_USED_UP = "The project's limit of requests in a second is reached."
WHOLE_PROJECT = "whole project"
NAMESPACE = "watchword"
MAX_REMEMBERED = 10_000  # used-up windows that a process remembers; a flood from many addresses takes no more memory
AWAY_SECONDS = 1.0  # the time without asking the cache after it did not answer

T = TypeVar("T")


class Limit(NamedTuple):
    """How many calls each caller may make in a window of time. All answers tell of one that ``is_told``.

    ``name`` stands in refusals, and begins the keys of its counts in the cache.
    """

    name: str
    window: RateLimitItem
    refusal: str
    is_told: bool = False

    def key(self, caller: str | int) -> str:
        return f"{self.name}:{caller}"


# From one client address: room for a server whose key was revoked, none for a search.
UNKNOWN_KEYS = Limit("unknown_keys", RateLimitItemPerMinute(30), "Too many unknown keys came from this client address.")
# Calls of a connection that prove nothing, from one client address: as for unknown keys.
WRONG_PROOFS = Limit(
    "wrong_proofs",
    RateLimitItemPerMinute(30),
    "Too many requests without valid credentials came from this client address.",
)
# From one client address, which thousands of people may share.
PUZZLES = Limit(
    quotas.PUZZLES,
    RateLimitItemPerMinute(300),
    "Too many requests for puzzles came from this client address.",
    is_told=True,
)
# From one client address. A person fails a few; each costs a call to the vendor and a thread's wait.
FAILED_CHALLENGES = Limit(
    "failed_challenges", RateLimitItemPerMinute(60), "Too many failed challenges came from this client address."
)
# In ten minutes, by one user of the panel who sees recipients masked. A mask hides five digits at least, so that all of
# them take three weeks; whoever answers calls looks up fewer.
LOOK_UPS = Limit("look_ups", RateLimitItemPerMinute(30, 10), "You looked up too many recipients.")


def count(limit: Limit, caller: str | int) -> None:
    """Count one call of this caller. Raises ``rate_limited``."""
    if refusal := _count(limit, caller):
        raise refusal


def count_request(project: ProjectConfig) -> None:
    """Count one session create or manual send of the project. Raises ``rate_limited``."""
    if amount := project.limits["requests_per_second"]:
        limit = Limit(quotas.PROJECT, RateLimitItemPerSecond(amount), REQUESTS_USED_UP, is_told=True)
        decision = DecisionRecord(project.id, "requests_per_second", WHOLE_PROJECT)
        if refusal := _count(limit, project.id, decision):
            raise refusal


def count_create(project: ProjectConfig, client_address: str) -> ApiError | None:
    """Count one session create from this address. Return the refusal where the address is over its limit.

    The caller raises it, unless the project has challenges and one was passed.
    """
    limit, network = _creates(project), counted_network(project, client_address)
    if limit is None or not network:
        return None
    return _count(limit, f"{project.id}:{network}", DecisionRecord(project.id, "client_address", network))


def is_over_creates(project: ProjectConfig, client_address: str) -> bool:
    """Return whether the next session create from this address would be one too many. Counts nothing."""
    limit, network = _creates(project), counted_network(project, client_address)
    if limit is None or not network:
        return False
    return _ask(lambda limiter: not limiter.test(limit.window, NAMESPACE, limit.key(f"{project.id}:{network}")))


def count_unknown_key(client_address: str) -> None:
    """Count one request with an unknown key from this address. Raises ``rate_limited``."""
    refusal = _count(UNKNOWN_KEYS, network_of(client_address))
    metrics.count_unknown_key("held_off" if refusal else "refused")
    if refusal:
        raise refusal


def has_sent_unknown_keys(client_address: str) -> bool:
    """Return whether this process knows the address to be over the limit of unknown keys. The cache is not asked."""
    return bool(_full) and _full.left((UNKNOWN_KEYS.window, UNKNOWN_KEYS.key(network_of(client_address)))) > 0


def count_puzzle(client_address: str) -> None:
    """Count one puzzle for this address. Raises ``rate_limited``."""
    if not is_neighbour(client_address):
        count(PUZZLES, network_of(client_address))


def require_few_failed_challenges(project: ProjectConfig, client_address: str) -> None:
    """Raise ``rate_limited`` for an address that failed too many challenges. Counts nothing."""
    if network := counted_network(project, client_address):
        limit, key = FAILED_CHALLENGES, FAILED_CHALLENGES.key(f"{project.id}:{network}")
        window = _ask(lambda limiter: limiter.get_window_stats(limit.window, NAMESPACE, key))
        if not window.remaining:
            wait = _seconds_until(window.reset_time)
            raise ApiError("rate_limited", limit.refusal, retry_after=wait, limit=limit.name)


def count_failed_challenge(project: ProjectConfig, client_address: str) -> None:
    if network := counted_network(project, client_address):
        limit, key = FAILED_CHALLENGES, FAILED_CHALLENGES.key(f"{project.id}:{network}")
        _ask(lambda limiter: limiter.hit(limit.window, NAMESPACE, key))


def _creates(project: ProjectConfig) -> Limit | None:
    """Return the project's limit of session creates from one client address, if it has one."""
    amount = project.limits["creates_per_address"]
    if not amount:
        return None
    return Limit(
        quotas.CLIENT_ADDRESS,
        RateLimitItemPerMinute(amount, ADDRESS_WINDOW_MINUTES),
        "Too many sessions were created from this client address. If it is your own server's, list it among "
        "the project's server addresses.",
        is_told=True,
    )


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
_failure = LastReason()
_full = Cooldown(MAX_REMEMBERED)  # by limit and caller: until its window ends


def _count(limit: Limit, caller: str | int, decision: DecisionRecord | None = None) -> ApiError | None:
    """Count one, and return the refusal of one that is too many.

    A caller whose window is used up is refused from memory, so that a flood costs the cache nothing.
    """
    window, key = limit.window, limit.key(caller)
    left, wait = 0, math.ceil(_full.left((window, key)))
    if wait <= 1:  # waits are rounded up, so the window may be over in its last second
        left, wait = _ask(lambda limiter: _count_in(limiter, window, key))
        if wait > 1:
            _full.begin((window, key), seconds=wait)
    if limit.is_told:
        quotas.note(Quota(limit.name, window.amount, window.get_expiry(), left, wait or None))
    if not wait:
        return None
    detail = limit.refusal.format(amount=window.amount)
    return ApiError("rate_limited", detail, retry_after=wait, decision=decision, limit=limit.name)


def _ask(question: Callable[[FixedWindowRateLimiter], T]) -> T:
    """Ask the shared counter or, while the cache is away, this process's own."""
    if _away.allow():
        try:
            answer = question(_shared_counter())
        except RedisError as error:
            _away.record_failure()
            if _failure.changes_to(reason := valkey.reason(error)):
                words = "The cache does not count: %s. Each process counts limits per second and address on its own."
                log.warning(words, reason)
        else:
            _away.record_success()
            if _failure.changes_to(""):
                log.info("The cache counts again.")
            return answer
    return question(_own_counter())


def _count_in(limiter: FixedWindowRateLimiter, window: RateLimitItem, key: str) -> tuple[int, int]:
    """Count one, as the library's ``hit`` does, which keeps the count to itself.

    Return how many more the window takes, and 0; or 0, and the seconds until the window is over.
    """
    count = limiter.storage.incr(window.key_for(NAMESPACE, key), window.get_expiry())
    if count <= window.amount:
        return window.amount - count, 0
    return 0, _seconds_until(limiter.get_window_stats(window, NAMESPACE, key).reset_time)


def _seconds_until(moment: float) -> int:
    return max(1, math.ceil(moment - time.time()))
