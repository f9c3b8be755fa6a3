"""The times at which an alert or a callback that failed is tried again."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

from verification import sql

# The seconds before each further try. The first ones come soon, as most faults are short. All take nearly 23 hours, so
# that a receiver that is mended within a day hears of everything.
RETRY_SECONDS = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200)
JITTER = 0.2  # the share of each wait by which it varies, either way, so that retries do not come in waves


def next_try(tries: int, *, wait_at_least: float = 0) -> datetime | None:
    """Return when to try again after ``tries`` failures, or None to give up.

    ``wait_at_least`` is in seconds: what the receiver asked for.
    """
    if tries > len(RETRY_SECONDS):
        return None
    wait = RETRY_SECONDS[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  (nothing to be guessed)
    return sql.now() + timedelta(seconds=max(wait, wait_at_least))
