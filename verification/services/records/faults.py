"""Turn an error into the refusal of the request, and log it where the service failed and not the caller."""

from __future__ import annotations

import logging
import math
import time
import traceback
from contextlib import suppress

from django.core.cache import cache
from django.db import InternalError
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from verification import sql
from verification.core import logs
from verification.core.caching import Memory
from verification.core.errors import ApiError
from verification.sql import read_only

log = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1  # that callers are told to wait while the database is away: a brief fault is over by then


class LastRefusal(Memory):
    """What the database last refused to write for want of room, for a minute, told to all processes by the cache.

    The trial of ``health`` finds a full disk. This finds what it cannot: a single table or index that is full, or
    memory that is short now and then.
    """

    KEPT_SECONDS = 60.0
    TOLD_SECONDS = 5.0  # between two times that a process tells the others
    KEY = "database-refusal"

    def forget(self) -> None:
        self._reason, self._at = "", -math.inf  # by the monotonic clock

    def note(self, reason: str) -> None:
        if time.monotonic() - self._at < self.TOLD_SECONDS:
            return
        self._reason, self._at = reason, time.monotonic()
        with suppress(RedisError, ConnectionInterrupted):
            cache.set(self.KEY, reason, self.KEPT_SECONDS)

    def __call__(self) -> str:
        if time.monotonic() - self._at < self.KEPT_SECONDS:
            return self._reason
        with suppress(RedisError, ConnectionInterrupted):
            return str(cache.get(self.KEY) or "")
        return ""


last_refusal = LastRefusal()


def heed(error: BaseException) -> None:
    """Draw what an error of the database asks for: leave a server that only reads, remember one without room."""
    if read_only.is_reason(error):
        read_only.leave()
    elif read_only.lacks_room(error):
        last_refusal.note(sql.reason(error))


def refusal_of_error(error: Exception, *, request_id: str, endpoint: str) -> ApiError:
    """Return the refusal that answers an error. One of ours is returned as it is.

    Else it is ``service_unavailable`` where the database is away, busy or only reads, or ``internal_error``.
    ``request_id`` may be empty. ``endpoint`` is the request's path, without what stands in it.
    """
    if isinstance(error, ApiError):
        return error
    request_id = request_id or "-"
    is_read_only = isinstance(error, InternalError) and read_only.is_reason(error)
    if is_read_only or sql.is_away(error):
        reason = read_only.WORDS if is_read_only else sql.reason(error)
        logs.log_unserved(reason, request_id=request_id, endpoint=endpoint)
        heed(error)
        return ApiError("service_unavailable", retry_after=DATABASE_RETRY_SECONDS)
    # The text of an exception may hold what was sent to us, so the log gets the place and the kind alone.
    places = "".join(traceback.format_tb(error.__traceback__))
    log.error("a request failed", extra={"request_id": request_id, "error": type(error).__name__, "places": places})
    return ApiError("internal_error")
