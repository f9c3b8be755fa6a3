"""Words by which a user's text ends or resumes messages. Nothing else of what users write is read or kept.

The words that end them are those that carriers, Amazon and Twilio act on, with the ones of 47 CFR 64.1200(a)(10) and
the French one that Canadian short codes must know. A word counts only where it is the whole text.
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
MAX_LENGTH = 40  # characters; a longer text is no keyword, whatever stands around it

_AROUND = " \t\r\n\0.,;:!?\"'«»“”"
_NUMBER = re.compile(r"(?:\+|00)?([1-9][0-9]{6,14})")  # E.164, as it is written on the wire


def read_consent(sender: str, text: str) -> Consent | None:
    """What a user's text says of further messages. None where it is no keyword, or the sender no full number."""
    found = _NUMBER.fullmatch(sender)
    if found is None or len(text) > MAX_LENGTH:
        return None
    word = _plain(text)
    if word in STOP or word in START:
        return Consent(f"+{found.group(1)}", is_given=word in START)
    return None


def _plain(text: str) -> str:
    """In capitals, without accents, and without what stands around the words."""
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return " ".join(bare.strip(_AROUND).upper().split())
