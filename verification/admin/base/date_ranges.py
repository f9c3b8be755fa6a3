"""The range of time that a page of figures is asked for: by a word, or by its first and last day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.utils import timezone

from verification.core.errors import UserError
from verification.services.analytics import ranges
from verification.services.analytics.ranges import Range


@dataclass(frozen=True, slots=True)
class RangeChoice:
    """The range, and the ``query`` of the page. ``word`` is empty for a range of days; ``wrong`` says what was."""

    word: str
    span: Range
    query: dict[str, str]
    wrong: str = ""

    def address(self, *without: str, **changed: str) -> str:
        """Return the query of this page with other values, and without some."""
        query = {name: value for name, value in self.query.items() if name not in without} | changed
        return f"?{urlencode(query)}"

    @property
    def offered(self) -> dict[str, Any]:
        """Return what ranges.html shows."""
        return {
            "ranges": [
                (self.address("from", "to", range=key), label, key == self.word and not self.wrong)
                for key, (label, _, _) in ranges.WORDS.items()
            ],
            "is_of_days": not self.word,
            "first": self.query.get("from") or self.span.since.date().isoformat(),
            "last": self.query.get("to") or self.span.last_day.isoformat(),
            "hidden": [(name, value) for name, value in self.query.items() if name not in ("from", "to", "range")],
            "wrong": self.wrong,
            "span": self.span,
        }


def range_of(request: HttpRequest, *names: str) -> RangeChoice:
    """Read the range from the address; a wrong one gives the usual range. ``names`` are the page's other parameters."""
    get, now = request.GET, timezone.now()
    query = {name: get[name] for name in names if get.get(name)}
    word, wrong = get.get("range", ranges.USUAL), ""
    if get.get("from") or get.get("to"):
        query |= {"from": get.get("from", ""), "to": get.get("to", "")}
        try:
            first = ranges.read_day(get.get("from", ""), now=now)
            last = ranges.read_day(get.get("to", ""), now=now, default=now.date())
            return RangeChoice("", ranges.between(first, last, now=now), query)
        except UserError as error:
            word, wrong = ranges.USUAL, str(error)
    else:
        query["range"] = word
    span = ranges.named(word, now)
    if span is None:
        raise Http404
    return RangeChoice(word, span, query, wrong)
