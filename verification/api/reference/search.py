"""The search of the documentation: sections of the guides, the API's operations, error codes, and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verification.api.reference import error_guide, guides
from verification.models.project_settings.described import described

# The worth of a searched word by where it stands, so that a page about it comes before one that names it.
TITLE_SCORE, HEADING_SCORE, TEXT_SCORE = 2, 4, 1
NAME_SCORE = 20  # the query is the part's whole name: more than any three words of a section
MOST_HITS = 30  # sections on a page of results; who needs more searches for a further word
EXCERPT = 220  # characters of a section shown with a hit
SETTINGS_ADDRESS = "/docs/settings/"
REFERENCE_ADDRESS = "/docs/"


@dataclass(frozen=True, slots=True)
class DocSection:
    """One part of the documentation that can be found."""

    page: str
    heading: str
    text: str
    address: str
    is_name: bool = False  # the heading is an error code or the name of a setting
    path: str = ""  # of an operation, by which it is called as well


@dataclass(frozen=True, slots=True)
class Hit:
    """One part that holds all searched words."""

    page: str
    heading: str
    address: str
    excerpt: str
    is_name: bool


def search(query: str, document: Mapping[str, Any]) -> list[Hit]:
    """Return the parts that hold every word of the query, the best first. ``document`` is the API's description."""
    words = query.casefold().split()
    if not words:
        return []
    scored = [
        (score, Hit(part.page, part.heading, part.address, _excerpt(part.text, words[0]), part.is_name))
        for part in _parts(document)
        if (score := _score(words, part))
    ]
    scored.sort(key=lambda pair: -pair[0])
    return [hit for _, hit in scored[:MOST_HITS]]


def _parts(document: Mapping[str, Any]) -> Iterator[DocSection]:
    for slug in guides.guides():
        guide = guides.read(slug)
        for section in guide.sections:
            yield DocSection(guide.title, section.heading, section.text, f"{guides.ADDRESS}{slug}/#{section.anchor}")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            (tag,), name = operation["tags"], operation["operationId"]
            text = f"{method.upper()} {path}. {operation['description']}"
            address = f"{REFERENCE_ADDRESS}#/{tag}/{name}"
            yield DocSection(f"API · {tag}", operation["summary"], _plain(text), address, path=path)
    for entry in error_guide.entries():
        text = _plain(f"{entry.title}. {entry.meaning} {entry.remedy}")
        yield DocSection(f"Errors · {entry.status}", entry.code, text, entry.address, is_name=True)
    for title, settings in described().items():
        for setting in settings:
            address = f"{SETTINGS_ADDRESS}#{setting.name}"
            yield DocSection(f"Settings · {title}", setting.name, setting.about or setting.kind, address, is_name=True)


def _plain(text: str) -> str:
    """Return Markdown of a few marks as it is read."""
    return " ".join(text.replace("`", "").replace("**", "").split())


def _score(words: list[str], part: DocSection) -> int:
    """Return how well a part answers the words; 0 if it lacks one of them."""
    places = (
        (TITLE_SCORE, part.page.casefold()),
        (HEADING_SCORE, part.heading.casefold()),
        (TEXT_SCORE, part.text.casefold()),
    )
    scores = [sum(score for score, text in places if word in text) for word in words]
    if not all(scores):
        return 0
    is_its_name = part.is_name and part.heading in (words[0], "_".join(words))
    is_its_name |= "/" in words[0] and part.path.strip("/") == words[0].strip("/")
    return sum(scores) + (NAME_SCORE if is_its_name else 0)


def _excerpt(text: str, word: str) -> str:
    """Return the part of a text that shows a word, cut between words."""
    start = max(text.casefold().find(word) - EXCERPT // 3, 0)
    before = "… " if start else ""
    start = text.find(" ", start) + 1 if start else 0
    shown = text[start:]
    return before + (shown if len(shown) <= EXCERPT else shown[:EXCERPT].rpartition(" ")[0] + " …")
