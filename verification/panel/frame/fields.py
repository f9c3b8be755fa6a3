"""Form fields that the pages share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from verification.errors import Misuse

_NUMBER_PREFIX = re.compile(r"\+[1-9][0-9]{0,14}")
_SEPARATORS = re.compile(r"[,\s]+")


def clean_prefix(text: str) -> str:
    """What phone numbers begin with. Raises :class:`Misuse`."""
    if not _NUMBER_PREFIX.fullmatch(text):
        raise Misuse(f"{text!r} does not begin a phone number. Write it as +49.")
    return text


def cleaned(clean: Callable[[str], str], text: str) -> str:
    """What a service makes of a text, its refusal as the error of a form's field."""
    try:
        return clean(text)
    except Misuse as error:
        raise ValidationError(str(error)) from None


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
