"""The registry of adapters: it finds them, checks the settings that an owner entered, and builds an adapter.

The folder is read once, at the first question. A file that cannot be loaded does not hide the others: it is logged,
and :func:`failures` names it for the startup checks.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from django.conf import settings
from django.utils.translation import gettext as _

from providers import adapters
from providers.base import Adapter, Setting, SettingKind, Store, Value
from providers.errors import AddressBlocked, SettingsInvalid
from providers.http import packages, ssrf
from providers.http.client import HttpClient

log = logging.getLogger(__name__)

MAX_TEXT_LENGTH = 20_000  # characters of one setting: more than any key file has
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
BOOLEANS = {  # the writings of true and false in settings, whatever their case
    "true": True,
    "1": True,
    "on": True,
    "yes": True,
    "false": False,
    "0": False,
    "off": False,
    "no": False,
}


class UnknownAdapter(LookupError):
    """No adapter has this type."""


class AdapterShowsCodes(UnknownAdapter):
    """An adapter has this type, but this installation does not run it, because it shows codes."""


def adapter_class(type: str) -> type[Adapter]:
    """Return the adapter of a type that runs here. Raises :class:`UnknownAdapter`."""
    found = _scan()[0].get(type)
    if found is None:
        broken = "".join(f"; {name}.py could not be loaded" for name in failures())
        raise UnknownAdapter(f"no provider type {type!r}{broken}")
    if not _is_offered(found):
        raise AdapterShowsCodes(
            f"A provider of type {type} shows codes to the people who run the service, for development: it needs "
            "SHOW_CODES_TO_OPERATORS=true in the environment."
        )
    return found


def lacking(type: str, values: Mapping[str, object] | None = None) -> str:
    """Return which packages are missing for this type, with these settings, and how they are installed; or nothing."""
    return packages.remedy(adapter_class(type).needed_packages(values or {}))


def require_packages(type: str, values: Mapping[str, object]) -> None:
    """Raises :class:`SettingsInvalid` where a package is missing, of which adapters would else fail at the import."""
    if reason := lacking(type, values):
        raise SettingsInvalid({"type": reason})


def all_types() -> list[str]:
    """Return the types that run here."""
    return sorted(_offered())


def all_adapters() -> list[type[Adapter]]:
    """Return every adapter of this folder, those included that this installation does not run."""
    return [found for _, found in sorted(_scan()[0].items())]


def failures() -> Mapping[str, str]:
    """Return the adapter files that could not be loaded, each with the reason."""
    return _scan()[1]


def choices() -> list[tuple[str, str]]:
    """Return ``(type, label)`` of each type for a form, sorted by label."""
    return sorted(((name, str(found.label)) for name, found in _offered().items()), key=lambda choice: choice[1])


def for_channel(channel: str) -> list[type[Adapter]]:
    return [found for _, found in sorted(_offered().items()) if channel in found.channels]


def vendors_of(adapter: type[Adapter]) -> list[tuple[str, str]]:
    """Return ``(value, label)`` of each vendor that a type can be chosen by; nothing for a type of one vendor."""
    found = next((each for each in adapter.declared if each.name == adapter.vendor_setting), None)
    return [(value, str(label)) for value, label in found.choices] if found else []


def connected_types() -> list[str]:
    """Return the types that send over a long-lived connection."""
    return [name for name, found in sorted(_offered().items()) if found.is_connected]


def reload() -> None:
    """Forget what was found, so that the next question reads the folder again. Tests that add a folder use it."""
    importlib.invalidate_caches()
    _scan.cache_clear()


def clean_settings(type: str, raw: Mapping[str, object], allowed_networks: Sequence[str] = ()) -> dict[str, Value]:
    """Return every declared setting with its checked value or its default. Raises :class:`SettingsInvalid`."""
    found = adapter_class(type)
    require_packages(type, raw)
    names = {setting.name for setting in found.declared}
    errors = {name: _("there is no such setting") for name in raw if name not in names}
    values: dict[str, Value] = {}
    for setting in found.declared:
        try:
            values[setting.name] = _clean(setting, raw.get(setting.name), allowed_networks)
        except (ValueError, AddressBlocked) as error:
            errors[setting.name] = str(error)
    errors = errors or found.clean(values)
    if errors:
        raise SettingsInvalid(errors)
    return values


def split_secrets(type: str, values: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return ``(plain, secret)``: what may be shown, and what must be stored encrypted."""
    secret_names = {s.name for s in adapter_class(type).declared if s.kind is SettingKind.SECRET}
    plain = {name: value for name, value in values.items() if name not in secret_names}
    secret = {name: value for name, value in values.items() if name in secret_names}
    return plain, secret


def build(type: str, values: Mapping[str, Value], *, http: HttpClient, store: Store) -> Adapter:
    """Build an adapter with checked settings, secrets included.

    A setting that was added after the others were stored gets its default. Raises :class:`SettingsInvalid` where a
    package that the adapter needs is missing.
    """
    found = adapter_class(type)
    require_packages(type, values)
    defaults = {setting.name: setting.default for setting in found.declared}
    return found(settings={**defaults, **values}, http=http, store=store)


def _is_offered(adapter: type[Adapter]) -> bool:
    return settings.SHOW_CODES_TO_OPERATORS or not adapter.shows_codes


def _offered() -> dict[str, type[Adapter]]:
    return {name: found for name, found in _scan()[0].items() if _is_offered(found)}


@cache
def _scan() -> tuple[dict[str, type[Adapter]], dict[str, str]]:
    found: dict[str, type[Adapter]] = {}
    failed: dict[str, str] = {}
    for module in sorted(pkgutil.iter_modules(adapters.__path__), key=lambda module: module.name):
        try:
            loaded = _load(module.name)
            if loaded.type in found:
                raise ValueError(f"the type {loaded.type!r} is taken by another file")
            found[loaded.type] = loaded
        except Exception as error:  # whatever a file does on import, the others must stay usable
            failed[module.name] = f"{error.__class__.__name__}: {error}"
            log.error("The provider adapter %s.py could not be loaded: %s", module.name, failed[module.name])
    return found, failed


def _load(name: str) -> type[Adapter]:
    loaded: type[Adapter] = importlib.import_module(f"{adapters.__name__}.{name}").Adapter
    if not issubclass(loaded, Adapter):
        raise TypeError("its Adapter does not extend providers.base.Adapter")
    missing = [attribute for attribute in ("type", "label", "channels") if not hasattr(loaded, attribute)]
    if missing:
        raise TypeError(f"its Adapter lacks {', '.join(missing)}")
    return loaded


def _clean(setting: Setting, raw: object, allowed_networks: Sequence[str]) -> Value:
    if isinstance(raw, str):
        raw = raw.strip()
    if raw is None or raw == "":
        if setting.required and setting.default == "":
            raise ValueError(_("this setting is required"))
        return setting.default
    if setting.kind is SettingKind.NUMBER:
        return _number(raw)
    if setting.kind is SettingKind.BOOLEAN:
        return _boolean(raw)
    text = _text(setting, raw)
    judge = _JUDGES.get(setting.kind)
    if judge is not None:
        judge(text, allowed_networks)
    return text


def _number(raw: object) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and re.fullmatch(r"-?[0-9]{1,9}", raw):
        return int(raw)
    raise ValueError(_("enter a whole number"))


def _boolean(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.lower() in BOOLEANS:
        return BOOLEANS[raw.lower()]
    raise ValueError(_("enter true or false"))


def _text(setting: Setting, raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError(_("enter text"))
    if len(raw) > MAX_TEXT_LENGTH:
        raise ValueError(_("the text is longer than {most} characters").format(most=MAX_TEXT_LENGTH))
    has_lines = setting.kind is SettingKind.MULTILINE or setting.is_multiline
    text = raw.replace("\r\n", "\n") if has_lines else raw
    if (_CONTROL_BUT_LINES if has_lines else _CONTROL).search(text):
        raise ValueError(_("the text contains a control character"))
    if setting.kind is SettingKind.CHOICE and text not in dict(setting.choices):
        choices = ", ".join(value for value, _ in setting.choices)
        raise ValueError(_("choose one of {choices}").format(choices=choices))
    return text


_JUDGES: dict[SettingKind, Callable[[str, Sequence[str]], None]] = {
    SettingKind.URL: ssrf.check_url,
    SettingKind.HOST: ssrf.check_host,
}
