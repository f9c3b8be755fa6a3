"""The rules of every session: how long things live, in seconds, and the form of codes."""

from __future__ import annotations

import string
import unicodedata
from datetime import timedelta
from typing import Final

SESSION_SECONDS: Final = 180  # a session: time for a code to arrive and be typed, and little for guessing
# A project may set another life. A minute is what a quick user needs; mail that is greylisted comes within a quarter of
# an hour. What looks for the rows of sessions by their creation looks as far as the longest.
SHORTEST_SESSION_SECONDS, LONGEST_SESSION_SECONDS = 60, 900
VERIFY_TOKEN_SECONDS: Final = 60  # a verify token: time for the customer's server to redeem it
# At the most, from a session's creation to the request that redeems its token.
LONGEST_VERIFICATION = timedelta(seconds=LONGEST_SESSION_SECONDS + VERIFY_TOKEN_SECONDS)
CHANNEL_BLOCK_SECONDS: Final = 60  # between two codes of sessions over one channel: most codes have come by then

SHORT_CODE, LONG_CODE = 4, 6  # characters; the interface knows no other lengths
LENGTHS_IN_WORDS = f"{SHORT_CODE} or {LONG_CODE}"
# Wrong codes that lock a session, by the length of its code: a short one is guessed a hundred times as easily.
WRONG_CODES_THAT_LOCK = {SHORT_CODE: 3, LONG_CODE: 5}
# The project's limits of wrong codes are divided by these, and rounded up, by the SQL functions too.
WRONG_CODES_DIVISORS = {SHORT_CODE: 2, LONG_CODE: 1}
MAX_GUESS_CHARACTERS = 32  # more than any code has; a longer text is a mistake and no guess
DIGITS = string.digits
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"  # without I, L and O, which are read as 1 and 0
DIGITS_BESIDE_LETTERS = "23456789"  # without 0 and 1, for the same reason


def code_pattern(characters: str) -> str:
    """Return the regular expression of a code whose characters are of this class, such as ``0-9``."""
    return f"[{characters}]{{{SHORT_CODE}}}|[{characters}]{{{LONG_CODE}}}"


def plain_code(text: str) -> str:
    """Return what is left of a code as it was typed or pasted: without white space, dashes and invisible characters,
    digits of any script as ASCII digits.

    No two codes become one by that, as each is of ASCII letters and digits.
    """
    return "".join(
        str(unicodedata.decimal(char)) if char.isdecimal() else char
        for char in text
        if not char.isspace() and unicodedata.category(char) not in ("Pd", "Cf")
    )


# NIST SP 800-63B-4, section 3.1.3.2: the longest that a secret sent out of band is good for.
NIST_SESSION_SECONDS: Final = 600
