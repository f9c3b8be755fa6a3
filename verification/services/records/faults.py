"""Turn an error into the refusal of the request, and log it where the service failed and not the caller."""

from __future__ import annotations

import logging
import traceback

from django.db import InternalError

from verification import sql
from verification.core import logs
from verification.core.errors import ApiError
from verification.sql import read_only

log = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = 1  # that callers are told to wait while the database is away: a brief fault is over by then


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
        if is_read_only:
            read_only.leave()
        return ApiError("service_unavailable", retry_after=DATABASE_RETRY_SECONDS)
    # The text of an exception may hold what was sent to us, so the log gets the place and the kind alone.
    places = "".join(traceback.format_tb(error.__traceback__))
    log.error("a request failed", extra={"request_id": request_id, "error": type(error).__name__, "places": places})
    return ApiError("internal_error")
