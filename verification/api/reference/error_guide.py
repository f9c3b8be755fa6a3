"""Error codes as the page of errors and the API's description show them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from verification.api.serializers.errors import problem_address
from verification.core.error_codes import CATALOGUE


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """A row of the page of errors."""

    code: str
    status: int
    title: str
    meaning: str
    remedy: str
    members: tuple[str, ...]

    @property
    def address(self) -> str:
        return problem_address("", self.code)

    @property
    def meaning_html(self) -> SafeString:
        return _with_code(self.meaning)

    @property
    def remedy_html(self) -> SafeString:
        return _with_code(self.remedy)


def _with_code(text: str) -> SafeString:
    """Make code elements of the parts in backticks."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))  # noqa: S308  (escaped before)


def entries() -> list[ErrorEntry]:
    """List every code in the order of the catalogue, which is by status."""
    return [entry(code) for code in CATALOGUE]


def entry(code: str) -> ErrorEntry:
    """Return the entry of a code. Raises ``KeyError`` for one that there is not."""
    spec = CATALOGUE[code]
    return ErrorEntry(code, spec.status, spec.title, spec.meaning, spec.remedy, tuple(spec.extra))


def example(code: str, base_url: str) -> dict[str, Any]:
    """Return a problem document of this code, as it might be answered."""
    spec = CATALOGUE[code]
    return {
        "type": problem_address(base_url, code),
        "title": spec.title,
        "status": spec.status,
        "code": code,
        "detail": spec.example or spec.detail,
        "request_id": "5f0c6f0e4c9d4f7e9a63c1f2d8b7e014",
        **spec.extra,
    }
