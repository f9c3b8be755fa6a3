"""Unit and default beside the field of a setting."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import models
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from verification.models.fields import unit_of

DEFAULT = gettext_lazy("default {value}")
ON, OFF = gettext_lazy("On"), gettext_lazy("Off")


class NumberWidget(UnfoldAdminIntegerFieldWidget):
    """A number with a note behind it, which is read out with it."""

    def __init__(self, note: Any, attrs: dict[str, Any]) -> None:
        super().__init__(attrs)
        self.note = note

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        note_id = f"{name}-unit"
        number = super().render(name, value, {**(attrs or {}), "aria-describedby": note_id}, renderer)
        return format_html(
            '<span class="ww-with-unit">{}<span class="ww-unit" id="{}">{}</span></span>', number, note_id, self.note
        )


def with_unit_and_default(field: forms.Field, setting: models.Field[Any, Any]) -> forms.Field:
    """Return the form field of a setting with its unit and its default in words."""
    default = setting.get_default()
    if unit := unit_of(setting):
        note = format_lazy("{unit} · {default}", unit=unit, default=format_lazy(DEFAULT, value=default))
        field.widget = NumberWidget(note, {"step": "any"} if isinstance(field, forms.FloatField) else {})
        field.widget.is_required = field.required
        for key, value in field.widget_attrs(field.widget).items():
            field.widget.attrs[key] = value
    elif isinstance(setting, models.BooleanField):
        field.help_text = format_lazy(
            "{help} {default}", help=field.help_text, default=_sentence(ON if default else OFF)
        )
    elif setting.choices and default not in ("", None):
        field.help_text = format_lazy(
            "{help} {default}", help=field.help_text, default=_sentence(dict(setting.flatchoices)[default])
        )
    return field


def _sentence(value: Any) -> Any:
    return format_lazy(gettext_lazy("Default: {value}."), value=value)
