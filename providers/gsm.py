"""How much room a text takes as SMS: the GSM 7-bit default alphabet with its extension, and UCS-2 for the rest."""

from __future__ import annotations

import string

# Everything of the table but the escape itself. Of the cedillas only the capital one is in it, and no back-tick.
BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà" + string.digits + string.ascii_letters
)
EXTENSION = frozenset("\f^{}\\[~]|€")  # an escape and one more septet each

# Septets and UTF-16 units of one SMS, and of a part of several, which begins with a header of 6 octets.
GSM7_SINGLE, GSM7_PART = 160, 153
UCS2_SINGLE, UCS2_PART = 70, 67


def is_gsm7(text: str) -> bool:
    """Whether the 7-bit alphabet can write all of ``text``; otherwise it travels as UCS-2."""
    return all(character in BASIC or character in EXTENSION for character in text)


def length(text: str) -> int:
    """The size in what its alphabet counts: septets for GSM-7, UTF-16 units (an emoji is two) for UCS-2."""
    return sum(_costs(text))


def segments(text: str) -> int:
    """In how many SMS ``text`` is sent and billed; an empty one is one as well.

    No part ends inside an escape sequence or a surrogate pair, so one may be a unit short of full.
    """
    single, part = (GSM7_SINGLE, GSM7_PART) if is_gsm7(text) else (UCS2_SINGLE, UCS2_PART)
    costs = _costs(text)
    if sum(costs) <= single:
        return 1
    count, used = 1, 0
    for cost in costs:
        if used + cost > part:
            count, used = count + 1, 0
        used += cost
    return count


def _costs(text: str) -> list[int]:
    if is_gsm7(text):
        return [2 if character in EXTENSION else 1 for character in text]
    return [2 if ord(character) > 0xFFFF else 1 for character in text]
