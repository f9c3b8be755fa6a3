"""The time that a provider is waited for while another could be asked, as its own recent answers suggest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from providers.base import Adapter, Outcome
from verification import sql
from verification.sql.rows import ProviderLatency

LEAST_SECONDS, MOST_SECONDS = 1.5, 5.0  # The least and the most time for a provider whose latency is known.
P99_TIMES = 4  # Times the 99th percentile of its answers, so that a usual answer is never cut off.
KNOWN_ANSWERS = 20  # Answers that make a latency known: with fewer, one slow answer would be it.
UNKNOWN_PART = 0.6  # The part of an adapter's longest time while its latency is unknown: 3 s; mail servers 4.8 s.
CALL_SECONDS = 8.0  # No call may take longer, whatever its adapter says.
LATE_SECONDS = 1.0  # An answer in vain after so long makes the provider late, as in provider_paces.sql.
LATE_OUTCOMES = frozenset({Outcome.UNKNOWN, Outcome.TEMPORARY})


@dataclass(frozen=True, slots=True)
class LatencyProfile:
    """The figures of a provider's last calls. ``is_late`` ones are asked after all others for a while."""

    answers: int = 0
    p99_seconds: float = 0.0
    is_late: bool = False

    def seconds(self, adapter: Adapter, *, is_last: bool) -> float:
        """Return how long one call may take. Where nobody waits for their turn after it, as long as it may at all."""
        longest = min(adapter.longest_seconds, CALL_SECONDS)
        if is_last:
            return longest
        if self.answers < KNOWN_ANSWERS:
            return UNKNOWN_PART * longest
        return min(max(P99_TIMES * self.p99_seconds, LEAST_SECONDS), MOST_SECONDS)


def latencies_of(provider_ids: Collection[int]) -> dict[int, LatencyProfile]:
    """Return the profiles by the provider's id; of those that were not called within the hour nothing is known."""
    rows = sql.call_many(ProviderLatency, "provider_paces", providers=list(provider_ids)) if provider_ids else []
    return {row.provider_id: LatencyProfile(row.answers, (row.p99_ms or 0) / 1000, row.is_late) for row in rows}


def is_late(outcome: Outcome, latency: float) -> bool:
    return outcome in LATE_OUTCOMES and latency >= LATE_SECONDS
