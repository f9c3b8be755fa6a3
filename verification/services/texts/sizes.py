"""The size of a text as SMS, in words: how many are billed, and which characters cost one more, if any do.

The panel's script says the same while an owner types. Both are held together by ``tests/services/texts/sizes.json``.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from providers.parsing import gsm

MAX_NAMED = 6  # characters that a note lists: more are the alphabet of a language.
EMOJI_FROM, EMOJI_UNTIL = 0x1F000, 0x20000  # the plane of pictures; some are newer than Python's Unicode tables.
REPLACEMENTS = {  # characters that word processors and keyboards put in, and what the SMS alphabet writes instead.
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u2032": "'", "\u02bc": "'", "`": "'", "\u00b4": "'",
    "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2033": '"', "\u00ab": '"', "\u00bb": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    "\u2026": "...", "\u2022": "-", "\u00b7": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\t": " ",
    "\u00d7": "x", "\u2192": "->", "\u00e7": "c", "\u0131": "i", "\u0142": "l", "\u0141": "L", "\u0111": "d",
}  # fmt: skip
WORDS = {  # what is said of a size, here and by the script
    "line": _("{number} SMS: {length} of {most} characters, {alphabet}."),
    "doubles": _("Count as two characters: {names}"),
    "letters": _("This language needs UCS-2: {ucs2_single} characters per SMS instead of {gsm7_single}."),
    "wide": _("Not in the SMS alphabet: {value}."),
    "without": _("{told} Without special characters: {segments} SMS."),
    "invisible": _("an invisible character"),
    "write": _("Replace {character} with {plain}"),
    "space": _("Replace {character} with a space"),
    "leave": _("Remove {character}"),
    "that_invisible": _("the invisible character"),
}


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a text. ``note`` says which characters cost another SMS and is empty where none does."""

    segments: int
    line: str
    note: str
    parts: list[str]
    remedies: dict[str, str]  # by character: what to write in its place; empty where it can only go.


def measure(text: str) -> Size:
    """Return the size of a text as it travels, its placeholders filled in."""
    parts = gsm.parts(text)
    number = len(parts)
    is_short = gsm.is_gsm7(text)
    single, part = (gsm.GSM7_SINGLE, gsm.GSM7_PART) if is_short else (gsm.UCS2_SINGLE, gsm.UCS2_PART)
    most = single if number == 1 else number * part
    line = WORDS["line"].format(
        number=number, length=gsm.length(text), most=most, alphabet="GSM-7" if is_short else "UCS-2"
    )
    wide = sorted({each for each in text if not _is_gsm(each)}, key=text.index)
    if not wide:
        doubles = sorted({each for each in text if each in gsm.EXTENSION}, key=text.index)
        halved = "".join(" " if each in gsm.EXTENSION else each for each in text)
        note = WORDS["doubles"].format(names=" ".join(doubles)) if gsm.segments(halved) < number else ""
        return Size(number, line, note, parts, {})
    remedies = {each: replacement(each) for each in wide}
    if None in remedies.values():
        letters = WORDS["letters"].format(ucs2_single=gsm.UCS2_SINGLE, gsm7_single=gsm.GSM7_SINGLE)
        return Size(number, line, letters if number > 1 else "", parts, {})
    known = {each: plain or "" for each, plain in remedies.items()}
    segments = gsm.segments("".join(known.get(each, each) for each in text))
    if segments >= number:
        return Size(number, line, "", parts, {})
    return Size(number, line, _note(known, segments), parts, known)


def replacement(character: str) -> str | None:
    """Return what the SMS alphabet writes in the character's place: "" to leave it out, None where nothing will do."""
    if character in REPLACEMENTS:
        return REPLACEMENTS[character]
    bare = "".join(each for each in unicodedata.normalize("NFKD", character) if unicodedata.category(each) != "Mn")
    if bare and bare != character and gsm.is_gsm7(bare):
        return bare
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    is_picture = EMOJI_FROM <= ord(character) < EMOJI_UNTIL or "\ufe00" <= character <= "\ufe0f"
    return "" if is_picture or category[0] == "S" or category in ("Cf", "Me") else None


def alphabet() -> dict[str, Any]:
    """Return what the panel's script counts by, as it is counted here."""
    return {
        "basic": "".join(sorted(gsm.BASIC)),
        "extension": "".join(sorted(gsm.EXTENSION)),
        "limits": {"gsm7": [gsm.GSM7_SINGLE, gsm.GSM7_PART], "ucs2": [gsm.UCS2_SINGLE, gsm.UCS2_PART]},
        "replacements": REPLACEMENTS,
        "named": MAX_NAMED,
        "emoji": [EMOJI_FROM, EMOJI_UNTIL],
        "words": {name: str(text) for name, text in WORDS.items()},
    }


def _is_gsm(character: str) -> bool:
    return character in gsm.BASIC or character in gsm.EXTENSION


def _note(remedies: dict[str, str], segments: int) -> str:
    named = " ".join(each for each in list(remedies)[:MAX_NAMED] if each.isprintable() and not each.isspace())
    wide = WORDS["wide"].format(value=named or WORDS["invisible"])
    return WORDS["without"].format(told=wide, segments=segments)
