"""The keys that a system publishes for its signatures (a JSON Web Key Set), kept for an hour.

A call waits for them once an hour in each process, and when it names a key that is not among them: systems change
theirs. The waits are the project's own, as its owner chooses the server.
"""

from __future__ import annotations

import time

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from providers.errors import ProviderError
from providers.http.client import Timeouts
from verification.core.bulkhead import bulkhead
from verification.core.caching import Cooldown, FreshCache
from verification.core.errors import ApiError
from verification.services.providers.http_client import http_client

KEPT_SECONDS = 3_600.0
ASKED_AGAIN_SECONDS = 60.0  # least time between two looks for a key that is not there: anybody may name one
TIMEOUTS = Timeouts(connect=1.0, total=1.5)  # seconds; the system waits for two or more
MAX_REMEMBERED = 1_000  # sets of keys
RETRY_SECONDS = 5  # that a system is asked to wait while its keys cannot be fetched

_sets: FreshCache[str, KeySet] = FreshCache(MAX_REMEMBERED, fresh_seconds=KEPT_SECONDS)
_asked_again = Cooldown(MAX_REMEMBERED)


def keys_at(url: str, key_id: str, *, project_id: int) -> KeySet:
    """Return the set at this address, fetched anew if it lacks the key. Raises ``service_unavailable``.

    A set is replaced by the one that was fetched: while the server is away, the keys that are known still serve.
    """
    found = _sets.get(url, lambda: _fetch(url, project_id))
    if any(key.kid == key_id for key in found.keys) or _asked_again.left(url):
        return found
    _asked_again.begin(url, seconds=ASKED_AGAIN_SECONDS)
    asked_at = time.monotonic()
    found = _fetch(url, project_id)
    _sets.put(url, found, read_at=asked_at)
    return found


def _fetch(url: str, project_id: int) -> KeySet:
    try:
        with bulkhead(project_id):
            answer = http_client().request("GET", url, timeout=TIMEOUTS)
        if answer.status != 200:
            raise ValueError(f"HTTP {answer.status}")
        return KeySet.import_key_set(answer.json())
    except (ProviderError, JoseError, ValueError, TypeError, KeyError):
        raise ApiError("service_unavailable", retry_after=RETRY_SECONDS) from None
