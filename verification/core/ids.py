"""Ids, tokens and secrets that are drawn at random."""

from __future__ import annotations

import secrets
import time
import uuid
from datetime import datetime

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
