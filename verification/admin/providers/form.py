"""The form of a provider: the row's own fields, and one for each setting that the adapter declares."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
    UnfoldBooleanWidget,
)

from providers import registry
from providers.base import Adapter, Setting, SettingKind
from providers.errors import SettingsInvalid, sentence
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.models import Provider
from verification.services.providers.accounts import is_known, require_free_name, store_settings, stored_secrets
from verification.services.providers.capacity import require_connections, require_room

PREFIX = "setting_"  # before the name of a setting, so that none meets a field of the row
FORGET = "forget_"
UNREADABLE = gettext_lazy("The stored secrets cannot be read with the current encryption keys. Enter them again.")


class BlankTextarea(UnfoldAdminTextareaWidget):
    """A field for secrets of several lines: whatever is stored or was just typed, it is not written into the page."""

    def format_value(self, value: Any) -> str:
        return ""


class ProviderForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The row's own fields; :func:`form_for` adds one for each setting of the adapter."""

    fixed: dict[str, Any] = {}  # project, channel and type of a provider that is being added

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, value in self.fixed.items():
            setattr(self.instance, name, value)
        if self.fixed:
            self.initial.setdefault("name", str(registry.adapter_class(self.instance.type).label).partition(" (")[0])
        for name, value in self.instance.settings.items():
            if PREFIX + name in self.fields:
                self.initial.setdefault(PREFIX + name, value)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.fixed or "name" in self.changed_data:  # older rows may have one name
            self.instance.name = name
            try:
                require_free_name(self.instance)
            except UserError as error:
                raise forms.ValidationError(str(error)) from None
        return name

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if not is_known(self.instance.type):
            return cleaned
        try:
            if self.fixed:
                require_room(self.instance.project, self.instance.channel, self.instance.type)
            store_settings(self.instance, self._values(cleaned))
            require_connections(self.instance)
        except UserError as error:
            self.add_error(None, str(error))
        except SettingsInvalid as error:
            for name, reason in error.errors.items():
                field = PREFIX + name
                if field not in self.errors:
                    self.add_error(field if field in self.fields else None, sentence(reason))
        except DecryptionFailed:
            self.add_error(None, UNREADABLE)
        return cleaned

    def _values(self, cleaned: dict[str, Any]) -> dict[str, object]:
        """Return the values as the service takes them: an empty secret keeps what is stored, None takes it away."""
        values: dict[str, object] = {}
        for setting in registry.adapter_class(self.instance.type).declared:
            value = cleaned.get(PREFIX + setting.name)
            values[setting.name] = "" if value is None else value
            if cleaned.get(FORGET + setting.name) and not value:
                values[setting.name] = None
        return values

    class Meta:
        help_texts = {"name": gettext_lazy("Your name for this account, shown in logs and lists.")}


def form_for(provider: Provider | None, fixed: dict[str, Any] | None = None) -> type[ProviderForm]:
    """Return the form class of a provider, or of a new one whose project, channel and type are ``fixed``."""
    provider_type = provider.type if provider else (fixed or {}).get("type", "")
    fields: dict[str, Any] = {"fixed": fixed or {}}
    if is_known(provider_type):
        stored = stored_secret_names(provider) if provider else set()
        for setting in registry.adapter_class(provider_type).declared:
            field = fields[PREFIX + setting.name] = field_for(setting, is_stored=setting.name in stored)
            if switch := registry.adapter_class(provider_type).shown_when.get(setting.name):
                field.widget.attrs["data-shown-when"] = json.dumps([PREFIX + switch[0], switch[1]])
            if can_be_forgotten(setting, stored):
                fields[FORGET + setting.name] = forms.BooleanField(
                    required=False,
                    label=_("Remove: {setting}").format(setting=setting.label),
                    widget=UnfoldBooleanWidget,
                )
    return type("ProviderForm", (ProviderForm,), fields)


def is_advanced(adapter: type[Adapter], setting: Setting) -> bool:
    """Return whether most accounts leave a setting as it is: by the adapter's word, or a vendor's own address."""
    return setting.name in adapter.advanced or (setting.kind is SettingKind.URL and bool(setting.default))


def field_for(setting: Setting, *, is_stored: bool = False) -> forms.Field:
    """Return the form field of a setting. ``is_stored``: the secret has a value, which a blank field keeps."""
    is_secret = setting.kind is SettingKind.SECRET
    hint = _("A value is stored. Leave empty to keep it.") if is_stored else ""
    common: dict[str, Any] = {
        "label": setting.label,
        "help_text": " ".join(filter(None, (str(setting.help), hint))),
        "required": setting.required and setting.default == "" and not is_stored,
        "initial": None if is_secret else setting.default,
    }
    if is_secret:
        hints = {"autocomplete": "new-password", "placeholder": _("•••••••• (stored)") if is_stored else ""}
        if setting.is_multiline:
            return forms.CharField(widget=BlankTextarea(attrs={"rows": 4, "class": "ww-lines", **hints}), **common)
        return forms.CharField(widget=UnfoldAdminPasswordWidget(attrs=hints), strip=True, **common)
    if setting.kind is SettingKind.BOOLEAN:
        return forms.BooleanField(widget=UnfoldBooleanSwitchWidget, **{**common, "required": False})
    if setting.kind is SettingKind.NUMBER:
        return forms.IntegerField(widget=UnfoldAdminIntegerFieldWidget, **common)
    if setting.kind is SettingKind.CHOICE:
        choices = list(setting.choices)
        if not setting.default and not setting.required:
            choices = [("", "–"), *choices]
        return forms.ChoiceField(widget=UnfoldAdminSelectWidget, choices=choices, **common)
    if setting.kind is SettingKind.MULTILINE:
        lines = UnfoldAdminTextareaWidget(attrs={"rows": 5, "spellcheck": "false", "class": "ww-lines"})
        return forms.CharField(widget=lines, **common)
    return forms.CharField(widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}), **common)


def stored_secret_names(provider: Provider) -> set[str]:
    """Return the names of the secrets that have a value."""
    try:
        return {name for name, value in stored_secrets(provider).items() if value}
    except DecryptionFailed:
        return set()


def can_be_forgotten(setting: Setting, stored: set[str]) -> bool:
    return setting.name in stored and not setting.required
