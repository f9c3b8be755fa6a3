"""The blocks of code in the pages of the documentation, and the commands that they hold."""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md"), *ROOT.glob("*.md")]
)
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
# A command of ours where a shell reads a program's name: variables and the interpreter may stand before it.
_OURS = re.compile(
    r"(?:^|[;|&(]) *(?:\w+=\S* +)*(?:[\w./-]*python[\d.]* +)?(?:[\w./-]*/)?"
    r"(?P<program>manage\.py|watchword(?:-client)?) +(?=[a-z])"
)
_ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", ")"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; ``line`` is that of its fence."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, language: str | None = None) -> list[Block]:
    text = (ROOT / page).read_text()
    found = [
        Block(page, text.count("\n", 0, match.start()) + 1, match["language"], textwrap.dedent(match["text"]))
        for match in _BLOCK.finditer(text)
    ]
    return [block for block in found if language in (None, block.language)]


def block(page: str, language: str, holding: str = "") -> str:
    """Return the one block of a page that is of this language and holds this text."""
    [found] = [each.text for each in blocks(page, language) if holding in each.text]
    return found


def lines(text: str) -> list[str]:
    """Return the lines of a shell's text, each with those that continue it."""
    return re.sub(r" *\\\n *", " ", text).splitlines()


def commands(text: str) -> list[list[str]]:
    """Return the words of each command of ours in a shell's text, the program's name first."""
    return [[match["program"], *words(line[match.end() :])] for line in lines(text) for match in _OURS.finditer(line)]


def words(text: str) -> list[str]:
    """Return a command's words up to its end: a pipe, a redirection, a comment."""
    taken = []
    for word in shlex.split(text, comments=True):
        if word in _ENDS:
            break
        taken.append(word.removesuffix(";"))
    return taken


def prose(page: str) -> list[str]:
    """Return what stands between single backquotes outside the blocks of a page."""
    return _SPAN.findall(_BLOCK.sub("", (ROOT / page).read_text()))
