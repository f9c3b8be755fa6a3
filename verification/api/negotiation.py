"""The endpoints speak JSON, whatever ``Accept`` and ``format`` ask for, and whatever a body is said to be."""

from __future__ import annotations

from collections.abc import Sequence

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class OnlyOne(BaseContentNegotiation):
    """Takes the view's parser, which judges the content type itself, and its renderer."""

    def select_parser(self, request: Request, parsers: Sequence[BaseParser]) -> BaseParser:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Sequence[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
