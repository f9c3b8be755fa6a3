"""Whole numbers that come as text: in addresses, filters and searches, and in the arguments of commands."""

from __future__ import annotations

MAX_ID = 2**53 - 1  # the largest id that JSON's numbers tell exactly. No table reaches it.
MAX_DIGITS = 20  # of a text that is read at all; Python refuses to read some thousands, and takes long over many


def whole_number(text: str, *, most: int = MAX_ID) -> int | None:
    """Return the number that ASCII digits write; None for any other text, and for a number above ``most``."""
    if len(text) > MAX_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= most else None
