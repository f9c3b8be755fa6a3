"""A call's words spoken by the standard voice of this server, if one is installed: eSpeak NG, or eSpeak.

The words go to the program by its standard input. Its command line holds a voice that it named itself, and nothing that
a user wrote. Nothing is kept.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from threading import BoundedSemaphore

from django.utils.translation import gettext as _

from verification.core.caching import Cached
from verification.core.errors import UserError

PROGRAMS = ("espeak-ng", "espeak")
PACKAGE = "espeak-ng"  # of Debian and Ubuntu, and of most others
WORDS_A_MINUTE = 140  # slower than the program's 175, as the voices of calls are
MAX_CHARACTERS = 1_000  # twice those of the longest text, as a code is spelt and names are filled in
MAX_SECONDS = 5.0  # for one text: the longest takes a tenth of a second of an idle core
MAX_BYTES = 16_000_000  # of one recording: several minutes
AT_ONCE = 2  # recordings that one process makes at a time
WAIT_SECONDS = 2.0  # for a place among them

# Languages that the program has by another code, or by those of regions alone.
OTHER_NAMES = {"en": "en-us", "fr": "fr-fr", "zh": "cmn", "no": "nb"}

_HEADER_BYTES = 44  # of a WAV file as the program writes it: one format chunk, then the samples
_VOICE = re.compile(r"^\s*\d+\s+([A-Za-z][A-Za-z0-9-]{1,34})\s", re.MULTILINE)
_places = BoundedSemaphore(AT_ONCE)


@Cached
def program() -> str:
    """Return the path of the program that speaks; empty where none is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), "")


@Cached
def _voices() -> frozenset[str]:
    """Return the voices that are installed, by the codes of their languages."""
    try:
        listed = _run("--voices", words="")
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(_VOICE.findall(listed.decode(errors="replace")))


def voice_of(language: str) -> str:
    """Return the voice that speaks the language, the region's own if there is one; empty where none does."""
    if not program():
        return ""
    base = language.partition("-")[0].lower()
    wanted = (language.lower(), base, OTHER_NAMES.get(base, base))
    return next((name for name in wanted if name in _voices()), "")


def speak(words: str, language: str) -> bytes:
    """Return the words as a WAV file. Raises :class:`UserError` where they cannot be spoken, with what to do."""
    voice = voice_of(language)
    if not voice:
        raise UserError(_("This server has no voice for {language}.").format(language=language))
    if len(words) > MAX_CHARACTERS:
        raise UserError(_("The text is too long to be spoken."))
    if not _places.acquire(timeout=WAIT_SECONDS):
        raise UserError(_("The voice is busy with other texts. Try again in a moment."))
    try:
        recorded = _run("-v", voice, "-s", str(WORDS_A_MINUTE), "--stdin", "--stdout", words=words)
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(_("This server's voice failed. Try again in a moment.")) from error
    finally:
        _places.release()
    return _with_its_length(recorded)


def _run(*arguments: str, words: str) -> bytes:
    done = subprocess.run(
        [program(), *arguments],
        input=words.encode(errors="replace"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=MAX_SECONDS,
        check=True,
        cwd="/",
        env={"LANG": "C.UTF-8"},
    )
    return done.stdout


def _with_its_length(recorded: bytes) -> bytes:
    """Write the sizes into the header: a program that writes to a pipe does not know them beforehand."""
    if not (recorded[:4] == b"RIFF" and recorded[36:40] == b"data" and len(recorded) <= MAX_BYTES):
        raise UserError(_("This server's voice failed. Try again in a moment."))
    whole, samples = (len(recorded) - less for less in (8, _HEADER_BYTES))
    return recorded[:4] + whole.to_bytes(4, "little") + recorded[8:40] + samples.to_bytes(4, "little") + recorded[44:]
