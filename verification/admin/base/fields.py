"""Form fields that the pages share."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

_SEPARATORS = re.compile(r"[,\s]+")


ONE_A_LINE = _("One per line.")


class LinesField(forms.Field):
    """A list, written one entry a line; commas and spaces separate too. The model's field cleans the entries."""

    def __init__(self, **options: Any) -> None:
        hints = {"rows": 3, "spellcheck": "false", "class": "ww-lines"}
        help_text = format_lazy("{given} {hint}", given=options.pop("help_text", ""), hint=ONE_A_LINE)
        super().__init__(**options | {"widget": UnfoldAdminTextareaWidget(attrs=hints), "help_text": help_text})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> list[str]:
        items = value if isinstance(value, list) else _SEPARATORS.split(value or "")
        return [item for item in items if item]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return list(initial or []) != self.to_python(data)


class ChosenField(forms.MultipleChoiceField):
    """A list of which every entry is one of a few, each with a box to tick."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"widget": UnfoldAdminCheckboxSelectMultipleWidget})
