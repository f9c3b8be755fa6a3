"""Countries by their codes and English names, as people paste them into a list."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache
from pathlib import Path

_NAMES = Path(__file__).with_name("countries.toml")
_SEPARATORS = re.compile(r"[,;\n\r\t]+")
_LONGEST = 6  # words of a name: "Democratic Republic of the Congo"


def read_countries(text: str) -> list[str]:
    """Return the entries of a list, separated by commas, semicolons or lines, each as its code.

    Spaces separate as well, but within a name: "DE United Kingdom" are two. What is no country stays as it was written.
    """
    found: list[str] = []
    for part in _SEPARATORS.split(text):
        words = part.split()
        unknown: list[str] = []
        while words:
            for number in range(min(_LONGEST, len(words)), 0, -1):
                if code := country_of(" ".join(words[:number])):
                    found += [*_joined(unknown), code]
                    unknown = []
                    words = words[number:]
                    break
            else:
                unknown.append(words.pop(0))
        found += _joined(unknown)
    return found


def country_of(text: str) -> str | None:
    """Return the ISO 3166 code of a country that is written as its code or by an English name."""
    return _codes().get(_plain(text))


def named(code: str) -> str:
    """Return a country's English name with its code, as in "Brazil (BR)"; the code alone where it has no name."""
    names = _names().get(code, [])
    return f"{names[0]} ({code})" if names else code


def _joined(words: list[str]) -> list[str]:
    return [" ".join(words)] if words else []


@cache
def _names() -> dict[str, list[str]]:
    names: dict[str, list[str]] = tomllib.loads(_NAMES.read_text(encoding="utf-8"))
    return names


@cache
def _codes() -> dict[str, str]:
    return {_plain(name): code for code, others in _names().items() for name in (*others, code)}


def _plain(text: str) -> str:
    """Return a name without accents, points and capitals: "St. Barthélemy" and "saint barthelemy" are one."""
    text = unicodedata.normalize("NFKD", text.casefold().replace("&", " and "))
    words = re.sub(r"[^a-z ]", "", "".join(each for each in text if not unicodedata.combining(each))).split()
    return " ".join("saint" if word == "st" else word for word in words)
