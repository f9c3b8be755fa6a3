"""The length of a text as SMS, in the GSM 7-bit alphabet with its extension (3GPP TS 23.038) or in UCS-2."""

from __future__ import annotations

import math

ESCAPE = 0x1B

# The characters in the order of their septets, with the escape among them. It has no small cedilla and no back-tick.
_TABLE = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_SEPTETS = {character: septet for septet, character in enumerate(_TABLE) if septet != ESCAPE}
# The septets that follow an escape.
_EXTENDED = dict(zip("\f^{}\\[~]|€", (0x0A, 0x14, 0x28, 0x29, 0x2F, 0x3C, 0x3D, 0x3E, 0x40, 0x65), strict=True))
BASIC = frozenset(_SEPTETS)
EXTENSION = frozenset(_EXTENDED)  # an escape and one more septet each

# The most that one SMS holds, in septets and in UTF-16 units. A part of several begins with a header of 6 octets.
GSM7_SINGLE, GSM7_PART = 160, 153
UCS2_SINGLE, UCS2_PART = 70, 67


def is_gsm7(text: str) -> bool:
    """Return whether the 7-bit alphabet can write all of ``text``. Any other text travels as UCS-2."""
    return all(character in BASIC or character in EXTENSION for character in text)


def length(text: str) -> int:
    """Return the size in units of the alphabet: septets for GSM-7, UTF-16 units (an emoji is two) for UCS-2."""
    return sum(_costs(text, is_gsm7=is_gsm7(text)))


def octets(text: str) -> int:
    """Return the size in octets, as the text travels. One SMS carries 140."""
    return math.ceil(length(text) * 7 / 8) if is_gsm7(text) else length(text) * 2


def segments(text: str) -> int:
    """Return the number of SMS that ``text`` is sent and billed as. An empty text is one SMS."""
    if len(text) <= GSM7_SINGLE and BASIC.issuperset(text):
        return 1  # nearly every code, without a look at each character
    return len(parts(text))


def parts(text: str, *, is_ucs2: bool = False) -> list[str]:
    """Split ``text`` into the SMS that carry it. Each of several leaves room for its header.

    ``is_ucs2`` says that the text travels as UCS-2, though the 7-bit alphabet could write it. No part ends inside an
    escape sequence or a surrogate pair, so a part may be one unit short of full.
    """
    is_short = not is_ucs2 and is_gsm7(text)
    single, part = (GSM7_SINGLE, GSM7_PART) if is_short else (UCS2_SINGLE, UCS2_PART)
    costs = _costs(text, is_gsm7=is_short)
    if sum(costs) <= single:
        return [text]
    found, begin, used = [], 0, 0
    for index, cost in enumerate(costs):
        if used + cost > part:
            found.append(text[begin:index])
            begin, used = index, 0
        used += cost
    return [*found, text[begin:]]


def encode(text: str) -> bytes:
    """Return the septets of ``text``, one in each octet. Raises ``KeyError`` for what the alphabet lacks."""
    octets = bytearray()
    for character in text:
        if character in _EXTENDED:
            octets += bytes((ESCAPE, _EXTENDED[character]))
        else:
            octets.append(_SEPTETS[character])
    return bytes(octets)


def _costs(text: str, *, is_gsm7: bool) -> list[int]:
    if is_gsm7:
        return [2 if character in EXTENSION else 1 for character in text]
    return [2 if ord(character) > 0xFFFF else 1 for character in text]
