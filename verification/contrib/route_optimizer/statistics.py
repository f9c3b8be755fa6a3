"""The knowledge of a project's channel about its providers, read from the figures that the workers count.

It is read once a minute by each process that needs it. No request and no delivery adds anything to it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

from verification import sql
from verification.contrib.route_optimizer.optimizer import HOUR_SECONDS, WINDOW_HOURS, Hour, State, learn
from verification.core.caching import FreshCache
from verification.services.providers.exchange_rates import in_account
from verification.services.providers.prices import PriceBook

READ_SECONDS = 60.0  # between two readings: the figures are counted once a minute.
HOUR = timedelta(hours=1)

_states: FreshCache[tuple[int, str], State] = FreshCache(fresh_seconds=READ_SECONDS)


class CountedHour(NamedTuple):
    """The calls of a provider in one country and hour (``routing_hours``)."""

    provider_id: int
    country: str
    hour: datetime
    asked: int
    verified: int
    seconds: float
    counted_at: datetime | None


def state_of(project_id: int, channel: str) -> State:
    """Return what this project's own traffic over the channel has shown. No other project's traffic is in it."""
    return _states.get((project_id, channel), lambda: read_state(project_id, channel))


def read_state(project_id: int, channel: str) -> State:
    """Read it anew. Hours are told from the time of the last count: later ones are not in the figures yet."""
    since = timezone.now() - WINDOW_HOURS * HOUR
    rows = sql.call_many(CountedHour, "routing_hours", project=project_id, channel=channel, since=since)
    counted_at = next((row.counted_at for row in rows if row.counted_at), None) or timezone.now()
    present = counted_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    hours = (
        Hour(row.provider_id, row.country, _age(row.hour, present), row.asked, row.verified, row.seconds)
        for row in rows
    )
    return learn(
        (hour for hour in hours if hour.age < WINDOW_HOURS), running_seconds=(counted_at - present).total_seconds()
    )


def price_of(prices: PriceBook, address: str, country: str) -> float | None:
    """Return today's price of one message to this recipient in the currency of account; None where it is not known.

    A price per segment is that of one segment: the text is the same whoever sends it.
    """
    found = prices.find(address, country, timezone.now().date())
    return None if found is None else in_account(found.amount, found.currency)


def _age(hour: datetime, present: datetime) -> int:
    return max(0, round((present - hour).total_seconds() / HOUR_SECONDS))
