"""The addresses of the lists that hold the rows behind a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from verification.admin.base.statistics_filters import BETWEEN
from verification.services.analytics.ranges import Range


def list_link(name: str, span: Range, **query: Any) -> str:
    """Return the address of the list of sessions, messages or decisions of a range, narrowed by its filters."""
    query = {BETWEEN: f"{span.since:%Y-%m-%dT%H}..{span.until:%Y-%m-%dT%H}"} | query
    if name != "decision":
        query["test"] = "without"
    return f"{reverse(f'admin:verification_{name}_changelist')}?{urlencode(query)}"


def refusals_link(span: Range, narrowing: Mapping[str, str], **query: str) -> str:
    """Return the address of the decisions of a range. Empty where the page is narrowed by what their list is not."""
    return "" if narrowing.keys() - {"project"} else list_link("decision", span, **narrowing, **query)
