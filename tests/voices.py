"""A stub of eSpeak NG: it notes how it was called, and answers as the program does over a pipe."""

import io
import wave

LISTED = """Pty Language       Age/Gender VoiceName          File                 Other Languages
 5  de              --/M      German             gmw/de
 2  en-us           --/M      English_(America)  gmw/en-US            (en 3)
 5  pt-br           --/M      Portuguese_(Brazil) roa/pt-BR           (pt 6)
 5  pt              --/M      Portuguese_(Portugal) roa/pt             (pt-pt 5)
"""
UNKNOWN_SIZE = bytes.fromhex("00f0ff7f")
PROGRAM = """#!/bin/sh
PATH=/bin:/usr/bin
if [ "$1" = --voices ]; then exec cat {folder}/voices; fi
printf '%s\\n' "$@" > {folder}/arguments
cat > {folder}/words
. {folder}/then
"""


class Voice:
    """The program in a folder. ``then`` is what it does once it has read the words."""

    def __init__(self, folder):
        self.folder = folder
        whole = _recording()
        (folder / "wav").write_bytes(whole[:4] + UNKNOWN_SIZE + whole[8:40] + UNKNOWN_SIZE + whole[44:])
        (folder / "voices").write_text(LISTED)
        (folder / "espeak-ng").write_text(PROGRAM.format(folder=folder))
        (folder / "espeak-ng").chmod(0o755)
        self.then(f"cat {folder}/wav")

    def then(self, command):
        (self.folder / "then").write_text(f"{command}\n")

    @property
    def words(self):
        file = self.folder / "words"
        return file.read_text() if file.exists() else None

    @property
    def arguments(self):
        return (self.folder / "arguments").read_text().split()


def _recording():
    """A twentieth of a second of silence."""
    recorded = io.BytesIO()
    with wave.open(recorded, "wb") as file:
        file.setparams((1, 2, 22_050, 0, "NONE", ""))
        file.writeframes(bytes(2_205))
    return recorded.getvalue()


def install(folder, monkeypatch):
    """Put the stub where a process looks for programs, and nothing else."""
    monkeypatch.setenv("PATH", str(folder))
    return Voice(folder)
