"""Colours of an owner's choice, made readable."""

from __future__ import annotations

READABLE = 4.5  # the least contrast of text by WCAG 2.2, level AA
STEPS = 20  # from a colour to black or white; a step is hardly seen
LIGHT_CARD, DARK_CARD = "#ffffff", "#1b1b20"  # the form's own backgrounds
BLACK, WHITE = "#000000", "#ffffff"
SEEN = 1.3  # the least contrast of a button with its card: yellow has 1.4


def on_light(colour: str) -> str:
    """Return the colour, as much darker as text on a light card needs."""
    return _readable(colour, LIGHT_CARD, BLACK)


def filled(colour: str) -> str:
    """Return the colour for a button on a light card: as it is, unless it could hardly be told from the card."""
    return colour if contrast(colour, LIGHT_CARD) >= SEEN else on_light(colour)


def on_filled(colour: str) -> str:
    """Return what text on a button of :func:`filled` is: white where that can be read, else black."""
    return WHITE if contrast(filled(colour), WHITE) >= READABLE else BLACK


def on_dark(colour: str) -> str:
    """Return the colour, as much lighter as text on a dark card needs."""
    return _readable(colour, DARK_CARD, WHITE)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2.2, from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _readable(colour: str, background: str, towards: str) -> str:
    for step in range(STEPS + 1):
        mixed = _mix(colour, towards, step / STEPS)
        if contrast(mixed, background) >= READABLE:
            return mixed
    return towards


def _mix(colour: str, other: str, part: float) -> str:
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(one + (two - one) * part):02x}" for one, two in pairs)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))


def _luminance(colour: str) -> float:
    parts = (value / 255 for value in _channels(colour))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
