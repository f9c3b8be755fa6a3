"""Fields to pick countries, languages and time zones.

Each is a plain field of text, or one with suggestions. ``picker.js`` puts a list to search and tick above a field that
takes several.
"""

from __future__ import annotations

import json
import zoneinfo
from datetime import UTC, datetime
from typing import Any

import phonenumbers
from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from verification.admin.base.fields import LinesField
from verification.core.countries import read_countries
from verification.core.formats import language_name
from verification.models import Project
from verification.services.providers.country_prices import sms_prices
from verification.services.texts import rendering

_WORDS = {
    "data-say-paste": gettext_lazy("Paste a list"),
    "data-say-remove": gettext_lazy("Remove {name}"),
    "data-say-clear": gettext_lazy("Clear the selection"),
    "data-say-none": gettext_lazy("No matches"),
}


class PickedField(LinesField):
    """A list that is picked. Only who pastes one needs to know how it is written, so the help does not say it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.help_text = options.get("help_text", "")


class CountriesField(PickedField):
    """A list of countries, as codes or English names."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        codes = sorted(phonenumbers.SUPPORTED_REGIONS)
        self.widget = _list_widget(
            "country",
            " ".join(f"{code}:{phonenumbers.country_code_for_region(code)}" for code in codes),
            find=gettext_lazy("Find a country, such as Germany, DE or +49"),
            empty=gettext_lazy("None selected: no restriction"),
            some=gettext_lazy("Selected: {number}. All others are refused."),
            format=gettext_lazy("Two letters or English names, such as DE or Germany. One per line."),
        )

    def to_python(self, value: Any) -> list[str]:
        return value if isinstance(value, list) else read_countries(value or "")


def show_prices(field: forms.Field, project: Project) -> None:
    """Let the list of countries show what an SMS costs there, as far as the project's price lists tell."""
    prices = {code: f"{price.amount.normalize():f} {price.currency}" for code, price in sms_prices(project).items()}
    field.widget.attrs["data-prices"] = json.dumps(prices)


class LanguagesField(PickedField):
    """A list of languages; those with a built-in text are suggested."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.widget = _list_widget(
            "language",
            " ".join(rendering.languages()),
            find=gettext_lazy("Find a language, such as German or de"),
            empty=gettext_lazy("None selected: every language with a text"),
            some=gettext_lazy("Selected: {number}"),
            format=gettext_lazy("Such as de or pt-BR. One per line."),
        )


def _list_widget(kind: str, options: str, **words: Any) -> UnfoldAdminTextareaWidget:
    attrs = {"rows": 3, "spellcheck": "false", "class": "ww-lines", "data-picker": kind, "data-options": options}
    said = {f"data-say-{name}": text for name, text in words.items()}
    return UnfoldAdminTextareaWidget(attrs={**attrs, **said, **_WORDS})


class SuggestingInput(UnfoldAdminTextInputWidget):
    """A field of text with a list of suggestions, each a value and a note."""

    def suggestions(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        list_id = f"{(attrs or {}).get('id', name)}-list"
        field = super().render(name, value, {**(attrs or {}), "list": list_id, "autocomplete": "off"}, renderer)
        options = format_html_join("", '<option value="{}">{}</option>', self.suggestions())
        return format_html('{}<datalist id="{}">{}</datalist>', field, list_id, options)


class LanguageInput(SuggestingInput):
    def suggestions(self) -> list[tuple[str, str]]:
        return [(code, language_name(code)) for code in rendering.languages()]


class TimeZoneInput(SuggestingInput):
    def suggestions(self) -> list[tuple[str, str]]:
        now = datetime.now(UTC)
        names = sorted(name for name in zoneinfo.available_timezones() if "/" in name and not name.startswith("Etc/"))
        return [(name, _offset(now, name)) for name in ("UTC", *names)]


def _offset(now: datetime, zone: str) -> str:
    text = now.astimezone(zoneinfo.ZoneInfo(zone)).strftime("%z")
    return f"UTC{text[:3]}:{text[3:5]}"
