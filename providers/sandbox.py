"""The recipients of test projects: the outcome of each is known beforehand.

This table is the only one. The sandbox's adapters read it, the services that decide an outcome without a provider, and
the tests of docs/testing.md. The numbers and the domain are reserved for fiction, so they belong to nobody.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

DOMAIN = "sandbox.example"  # RFC 2606 reserves .example
# 555-0100 to 555-0199 are reserved for fiction in every area code of North America. The last two digits choose.
_NUMBER = re.compile(r"\+1[2-9][0-9]{2}55501([0-9]{2})")
_MAILBOX = re.compile(rf"([a-z-]+)(?:\+[^@]*)?@{re.escape(DOMAIN)}")

LATE_SECONDS = 5  # before the receipt of a message that is late: longer than most, short enough for a test
BOUNCE_SECONDS = 1  # before the receipt of one that bounces
RECEIPT_SECONDS = 10  # the wait for a receipt that never comes: a test should not have to wait for minutes
START_SECONDS = 3  # after which the user of a bot starts it


class Simulated(StrEnum):
    """An outcome of the sandbox. The value is the name of its mailbox."""

    DELIVERED = "delivered"
    LATE = "delivered-late"
    NEVER = "never-delivered"
    REFUSED = "refused"
    BOUNCED = "bounced"
    RECOVERS = "provider-recovers"
    ALL_DOWN = "providers-down"
    BOT_STARTS = "bot-starts"
    SUPPRESSED = "suppressed"
    OVER_LIMIT = "over-limit"
    WRONG_CODE = "wrong-code"
    LOCKED = "locked"
    EXPIRED = "expired"
    CHALLENGE = "challenge"
    GUARDED = "guarded"


class Row(NamedTuple):
    """One outcome. ``digits`` are the last two of its numbers.

    ``session`` and ``manual`` say what happens to each kind of message. A bare number there is of seconds.
    """

    outcome: Simulated
    digits: str
    session: str
    manual: str


DELIVERED = "as `delivered`"
TABLE = (
    Row(Simulated.DELIVERED, "00", "delivered at once", "`success` at once"),
    Row(
        Simulated.LATE,
        "01",
        f"the receipt comes after {LATE_SECONDS} seconds",
        f"`success` after {LATE_SECONDS}",
    ),
    Row(Simulated.NEVER, "02", "accepted, and no receipt ever comes", f"`expired` after {RECEIPT_SECONDS}"),
    Row(Simulated.REFUSED, "03", "the carrier refuses it", "`failed` at once"),
    Row(Simulated.BOUNCED, "04", "accepted, then reported as undeliverable", "`failed` after about 2"),
    Row(
        Simulated.RECOVERS,
        "05",
        "the provider is down at first, and up at the next try",
        "`success` after about 2",
    ),
    Row(Simulated.ALL_DOWN, "06", "every provider is down until the code expires", "`failed` at once"),
    Row(
        Simulated.BOT_STARTS,
        "07",
        f"over `messenger_a`: waits for the bot, which the user starts after {START_SECONDS} seconds; otherwise as"
        " `delivered`",
        DELIVERED,
    ),
    Row(Simulated.SUPPRESSED, "08", "403 `recipient_not_allowed`", "403 `recipient_not_allowed`"),
    Row(Simulated.OVER_LIMIT, "09", "429 `too_many_sends`", "429 `too_many_sends`"),
    Row(Simulated.WRONG_CODE, "10", "no code is right: 400 `invalid_code`, then 429 `too_many_attempts`", DELIVERED),
    Row(Simulated.LOCKED, "11", "locked from the start: every check is a 429 `too_many_attempts`", DELIVERED),
    Row(Simulated.EXPIRED, "12", "over after a second: every check is a 410 `session_expired`", DELIVERED),
    Row(Simulated.CHALLENGE, "13", "403 `challenge_required` until a puzzle is solved", DELIVERED),
    Row(Simulated.GUARDED, "14", "403 `recipient_not_allowed`, by the traffic guard", "403 `recipient_not_allowed`"),
)
_BY_DIGITS = {row.digits: row.outcome for row in TABLE}
_BY_NAME = {row.outcome.value: row.outcome for row in TABLE}


def outcome_of(address: str) -> Simulated | None:
    """Return the outcome of a canonical address; None for one that is no recipient of the sandbox."""
    if match := _NUMBER.fullmatch(address):
        return _BY_DIGITS.get(match[1])
    if match := _MAILBOX.fullmatch(address):
        return _BY_NAME.get(match[1])
    return None


def fixed_code(length: int, *, digits: bool) -> str:
    """Return the code of every session with a recipient of the sandbox, in the project's form."""
    return ("42" if digits else "AB") * (length // 2)
