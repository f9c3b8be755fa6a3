"""Form fields that the pages share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from verification.errors import Misuse

_SEPARATORS = re.compile(r"[,\s]+")


class LinesField(forms.Field):
    """A list, written one entry a line; commas and spaces separate too. ``clean_item`` may refuse an entry."""

    def __init__(self, *, clean_item: Callable[[str], str] = str, rows: int = 3, **kwargs: Any) -> None:
        hints = {"rows": rows, "spellcheck": "false", "class": "ww-lines"}
        kwargs.setdefault("widget", UnfoldAdminTextareaWidget(attrs=hints))
        super().__init__(required=False, **kwargs)
        self.clean_item = clean_item

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> list[str]:
        items = value if isinstance(value, list) else _SEPARATORS.split(value or "")
        try:
            return list(dict.fromkeys(self.clean_item(item) for item in items if item))  # each once, in order
        except Misuse as error:
            raise ValidationError(str(error)) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return list(initial or []) != self.to_python(data)
        except ValidationError:
            return True
