"""The hosted page's own words, in the languages of the form on it."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path


def words_of(language: str) -> dict[str, str]:
    """Return the words by name."""
    return _words()[language]


@lru_cache(maxsize=1)
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
