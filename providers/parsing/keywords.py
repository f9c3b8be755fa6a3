"""Words by which a user's text ends or resumes messages. Nothing else that users write is read or kept.

Carriers, Amazon and Twilio act on these words. 47 CFR 64.1200(a)(10) adds some, and Canadian short codes must know the
French one. A word counts only if it is the whole text.
"""

from __future__ import annotations

import re
import unicodedata

from providers.base import Consent

STOP = frozenset(
    [
        "ARRET",
        "CANCEL",
        "END",
        "OPT OUT",
        "OPT-OUT",
        "OPTOUT",
        "QUIT",
        "REVOKE",
        "STOP",
        "STOP ALL",
        "STOPALL",
        "UNSUBSCRIBE",
    ]
)
START = frozenset(["START", "UNSTOP"])
MAX_LENGTH = 40  # characters: a longer text is no keyword, whatever stands around the word

_AROUND = " \t\r\n\0.,;:!?\"'«»“”"
_NUMBER = re.compile(r"(?:\+|00)?([1-9][0-9]{6,14})")  # E.164, as it is written on the wire


def read_consent(sender: str, text: str) -> Consent | None:
    """Read a user's keyword for further messages. None if the text is no keyword, or the sender no full number."""
    found = _NUMBER.fullmatch(sender)
    if found is None or len(text) > MAX_LENGTH:
        return None
    word = _plain(text)
    if word in STOP or word in START:
        return Consent(f"+{found.group(1)}", is_given=word in START)
    return None


def _plain(text: str) -> str:
    """Return the text in capitals, without accents and without punctuation around its words."""
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join(bare.strip(_AROUND).upper().split())
