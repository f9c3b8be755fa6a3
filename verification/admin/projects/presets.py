"""The choice of a protection preset: it fills the fields before they are saved, and shows what would change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core.formats import grouped
from verification.models import Project
from verification.services.projects.protection_presets import FIELDS, PRESETS, RELAXED, STANDARD, STRICT, preset_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

CUSTOM = "custom"
CHOICES = (
    (
        RELAXED,
        gettext_lazy("Relaxed"),
        gettext_lazy("Tolerant. For apps where many legitimate users share a few networks."),
    ),
    (STANDARD, gettext_lazy("Standard"), gettext_lazy("The default. Right for most apps.")),
    (
        STRICT,
        gettext_lazy("Strict"),
        gettext_lazy("Reacts early and may refuse legitimate users. For apps under attack."),
    ),
    (CUSTOM, gettext_lazy("Custom"), gettext_lazy("Your own values, set below.")),
)


@dataclass(frozen=True, slots=True)
class PresetCard:
    """One choice. ``is_current``: the stored values are those of it."""

    value: str
    title: StrOrPromise
    about: StrOrPromise
    is_current: bool


def preset_field() -> forms.ChoiceField:
    """Return the field that says which preset was chosen. Its widget is the page's own."""
    return forms.ChoiceField(choices=[(value, title) for value, title, _about in CHOICES], required=False)


def present(project: Project) -> str:
    return preset_of(project) or CUSTOM


def apply_chosen(form: forms.ModelForm[Project], cleaned: dict[str, Any]) -> None:
    """Set a chosen preset's values where the fields were left as they were, as they are without JavaScript."""
    chosen = cleaned.get("preset", "")
    if chosen in PRESETS and chosen != present(form.instance) and not set(FIELDS) & set(form.changed_data):
        cleaned.update(PRESETS[chosen])


def preset_context(project: Project) -> dict[str, Any]:
    """Return what the page's template needs: the choices, their values for the script, and a table of them."""
    own = present(project)
    return {
        "preset_cards": [PresetCard(value, title, about, value == own) for value, title, about in CHOICES],
        "preset_values": PRESETS,
        "preset_names": [title for value, title, _about in CHOICES if value in PRESETS],
        "preset_rows": [_row(project, name) for name in FIELDS],
    }


def _row(project: Project, name: str) -> tuple[str, str, list[str]]:
    field: Any = Project._meta.get_field(name)
    label = capfirst(str(field.verbose_name))
    values = [preset[name] for preset in PRESETS.values()]
    return label, _written(field, getattr(project, name)), [_written(field, value) for value in values]


def _written(field: Any, value: Any) -> str:
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if field.choices:
        return str(dict(field.flatchoices)[value]).partition(":")[0]
    return grouped(value)
