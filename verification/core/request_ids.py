"""The ids of requests.

The id of a request tells its time, as a UUID of version 7 does. So the rows of its request are found by their time, and
no index holds it. A caller may send an id of its own in any form, which an index has to hold.
"""

from __future__ import annotations

import re
import secrets
import time
import uuid
from datetime import UTC, datetime, timedelta

REQUEST_ID_MAX_LENGTH = 64  # characters of a caller's own id
REQUEST_ID = re.compile(rf"[A-Za-z0-9._-]{{1,{REQUEST_ID_MAX_LENGTH}}}")
# The most by which a row's time and that of its request's id differ: the clocks of a web process and of the database
# are apart, and a request may wait for a vendor of challenges.
REQUEST_ID_SLACK = timedelta(minutes=1)

_TIMED = re.compile(r"[0-9a-f]{12}7[0-9a-f]{19}")
_SLACK_MS = REQUEST_ID_SLACK / timedelta(milliseconds=1)


def generate_request_id() -> str:
    """Draw an id: a UUID of version 7 without its hyphens, so that it can be a trace's id as well."""
    at, random = time.time_ns() // 1_000_000, secrets.token_hex(9)
    return f"{at:012x}7{random[:3]}8{random[3:]}"  # 7 is the version, and 8 the variant


def request_id_of(request: object) -> str:
    """Return the request's id; empty for a request that did not pass the API's way in."""
    return getattr(request, "id", "")


def time_of_request_id(request_id: str) -> datetime | None:
    """Return the time that the id tells; None for one that tells none."""
    if not _TIMED.fullmatch(request_id):
        return None
    try:
        return datetime.fromtimestamp(int(request_id[:12], 16) / 1_000, UTC)
    except (ValueError, OverflowError):  # later than the year 9999
        return None


def request_id_columns(request_id: str) -> tuple[str | None, str]:
    """Return the id for the column of those that tell their time, or for the column that an index holds.

    A caller's id may look as if it told a time. It belongs to the former only if that time is now.
    """
    if _TIMED.fullmatch(request_id) and abs(int(request_id[:12], 16) - time.time() * 1_000) < _SLACK_MS:
        return request_id, ""
    return None, request_id


def format_request_id(request: uuid.UUID | None, caller_request: str) -> str:
    """Return the id as answers and logs write it; empty where none is kept."""
    return request.hex if request else caller_request
