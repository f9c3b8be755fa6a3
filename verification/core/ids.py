"""Ids, tokens and secrets that are drawn at random; the ids of requests; whole numbers that come as text.

The id of a request tells its time, as a UUID of version 7 does. So the rows of its request are found by their time, and
no index holds it. A caller may send an id of its own in any form, which an index has to hold.
"""

from __future__ import annotations

import re
import secrets
import time
import uuid
from datetime import UTC, datetime, timedelta

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ULID_LENGTH = 26
ULID_CHARACTERS = frozenset(CROCKFORD)
MESSAGE_ID_BITS = 53  # the largest whole number that every JSON reader keeps exact


def generate_session_id() -> str:
    """A ULID: 48 bits of milliseconds and 80 random bits, fresh for every id so that none tells another."""
    return ulid((time.time_ns() // 1_000_000 << 80) | secrets.randbits(80))


def first_session_id(moment: datetime) -> str:
    """Return the least id that a session of this time may have."""
    return ulid(int(moment.timestamp() * 1_000) << 80)


def is_session_id(text: str) -> bool:
    """Accept only the canonical writing: 26 upper-case characters, the first at most 7 (128 bits)."""
    return len(text) == ULID_LENGTH and text[0] <= "7" and ULID_CHARACTERS.issuperset(text)


def generate_message_id() -> int:
    """Draw an id that tells nothing of anybody's volume and is known before the row is written."""
    return secrets.randbits(MESSAGE_ID_BITS) or 1


def generate_verify_token() -> str:
    return str(uuid.uuid4())


def generate_link_payload() -> str:
    """Draw the payload of a messenger's deep link: 32 characters of ``A-Za-z0-9_-`` (the limit is 64)."""
    return secrets.token_urlsafe(24)


def generate_hook_secret() -> str:
    """Draw the secret in the path that a provider reports to: 32 random bytes, enough for vendors that do not sign."""
    return secrets.token_urlsafe(32)


def number_of(session_id: str) -> int:
    """Return the number of 128 bits that a session's id writes."""
    number = 0
    for character in session_id:
        number = number << 5 | CROCKFORD.index(character)
    return number


def ulid(number: int) -> str:
    """Write a number of 128 bits as a ULID."""
    return "".join(CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


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


# Whole numbers in addresses, filters and searches, and in the arguments of commands.
MAX_ID = 2**53 - 1  # the largest id that JSON's numbers tell exactly. No table reaches it.
MAX_DIGITS = 20  # of a text that is read at all; Python refuses to read some thousands, and takes long over many


def whole_number(text: str, *, most: int = MAX_ID) -> int | None:
    """Return the number that ASCII digits write; None for any other text, and for a number above ``most``."""
    if len(text) > MAX_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= most else None
