"""The JSON schema of a set-up file, made from what the models and the adapters declare, and the faults by it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from providers import registry
from providers.base import Adapter, Setting, SettingKind
from providers.registry import MAX_TEXT_LENGTH
from verification.contrib.config_files import sections
from verification.contrib.config_files.load import Fault
from verification.models import ChannelType, Project, Provider
from verification.models.audit import Field
from verification.services.providers.price_lists import MAX_LINES

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SECRET_NAME = "^[A-Za-z][A-Za-z0-9_]{0,99}$"  # noqa: S105  (the form of a name, which a variable or a file may have)
LISTED_NAMES = 12  # names that a refusal lists; of more it suggests one
MOST_FAULTS = 200  # faults that are put into words, up to a millisecond each; a refusal shows the first 20

Schema = dict[str, Any]

_REFERENCE: Schema = {
    "description": "A secret: the name by which the machine that applies the file finds it, never its value. null "
    "removes it. Without it, the stored value stays.",
    "type": ["object", "null"],
    "properties": {sections.SECRET: {"type": "string", "pattern": SECRET_NAME}},
    "required": [sections.SECRET],
    "additionalProperties": False,
}
_LONGEST_NAME = max(model._meta.get_field("name").max_length or 0 for model in (Project, Provider))
_ADDRESS = (
    "The webhook's address or the bot's token, by the name under which the machine that applies the file finds it."
)
_KINDS = {  # of JSON, in words for people
    "object": gettext_lazy("this must consist of names with values."),
    "array": gettext_lazy("this must be a list."),
    "string": gettext_lazy("this must be text; put numbers in quotes."),
    "integer": gettext_lazy("enter a whole number."),
    "number": gettext_lazy("this must be a number."),
    "boolean": gettext_lazy("enter true or false."),
}
_BOUNDS = {
    "const": gettext_lazy("{asked} is expected, the format version that this installation reads."),
    "minimum": gettext_lazy("the minimum is {asked:,}."),
    "maximum": gettext_lazy("the maximum is {asked:,}."),
    "maxLength": gettext_lazy("at most {asked:,} characters are allowed."),
    "maxItems": gettext_lazy("at most {asked:,} entries are allowed."),
    "minLength": gettext_lazy("this must not be empty."),
    "pattern": gettext_lazy("enter a name of up to 100 letters, digits and _ that starts with a letter."),
}
_TYPES: dict[type[Field], Schema] = {
    models.BooleanField: {"type": "boolean"},
    models.IntegerField: {"type": "integer"},
    models.FloatField: {"type": "number"},
    models.DateTimeField: {"type": "string", "format": "date-time"},
}
_VALIDATORS: dict[Any, str] = {
    MinValueValidator: "minimum",
    MaxValueValidator: "maximum",
    ArrayMaxLengthValidator: "maxItems",
}


def schema() -> Schema:
    """Return the schema of the files that this installation takes."""
    channels = ChannelType.values
    return {
        "$schema": DIALECT,
        "title": "Set-up of Watchword's projects",
        "description": "The file's values replace the present ones; what it does not name stays. A part that it "
        "contains is the whole part: rows that it lacks are removed.",
        **_object({"watchword": {"const": sections.FORMAT}, "projects": _rows({"$ref": "#/$defs/project"})}),
        "required": ["watchword", "projects"],
        "$defs": {
            "project": _object(
                {
                    "settings": _object({name: of_field(field) for name, field in sections.SETTINGS.items()}),
                    "channels": _object(dict.fromkeys(channels, {"$ref": "#/$defs/channel"})),
                    "fallback": {"type": "array", "items": _step()},
                    "providers": _object({value: _rows({"$ref": f"#/$defs/provider_{value}"}) for value in channels}),
                    "texts": _object(dict.fromkeys(sections.WITH_TEXTS, _rows({"$ref": "#/$defs/text"}))),
                    "alerts": _rows({"$ref": "#/$defs/alert_service"}),
                    **({"hosted_page": _of(sections.HOSTED_PAGE)} if sections.has_hosted_pages() else {}),
                    **{name: part.schema(_REFERENCE) for name, part in sections.parts_of_apps().items()},
                    "lists": _object(
                        {
                            kind.value: _object(dict.fromkeys(subjects, _rows({"$ref": "#/$defs/entry"})))
                            for kind, subjects in sections.SUBJECTS.items()
                        }
                    ),
                }
            ),
            "channel": _of(sections.CHANNEL),
            "text": {**_of(sections.TEXT), "required": ["text"]},
            "entry": {**_of(sections.ENTRY), "type": ["object", "null"]},
            "sender": _of(sections.SENDER),
            "alert_service": _alert_service(),
            **{f"provider_{value}": _provider(value) for value in channels},
        },
    }


def of_field(field: Field) -> Schema:
    """Return what a value of a model's field looks like."""
    if isinstance(field, models.BinaryField):
        return dict(_REFERENCE)
    found = _kind_of(field)
    if field.choices:
        found["enum"] = [value for value, _ in field.flatchoices]
    for validator in field.validators:
        if name := _VALIDATORS.get(type(validator)):
            found[name] = validator.limit_value  # type: ignore[attr-defined]  # each of them has one
    if field.null:
        found["type"] = [found["type"], "null"]
    if field.help_text:
        found.setdefault("description", str(field.help_text))
    if field.has_default() and not callable(field.default):
        found["default"] = field.default
    return found


def _kind_of(field: Field) -> Schema:
    if isinstance(field, ArrayField):
        return {"type": "array", "items": of_field(field.base_field)}
    for kind, found in _TYPES.items():
        if isinstance(field, kind):
            return dict(found)
    longest = {"maxLength": field.max_length} if field.max_length else {}
    return {"type": "string", **longest, **({} if field.blank else {"minLength": 1})}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def _of(fields: Mapping[str, Field]) -> Schema:
    return _object({name: of_field(field) for name, field in fields.items()})


def _rows(row: Schema) -> Schema:
    """Return the schema of rows under the names by which they are known."""
    return {
        "type": "object",
        "propertyNames": {"minLength": 1, "maxLength": _LONGEST_NAME},
        "additionalProperties": row,
    }


def _step() -> Schema:
    found = _of(sections.STEP)
    found["properties"]["channel"]["enum"] = list(sections.FALLBACK_CHANNELS)
    return {**found, "required": list(sections.STEP)}


def _provider(channel: str) -> Schema:
    """Return the schema of a channel's providers: the settings follow the type."""
    adapters = registry.for_channel(channel)
    own = _of(sections.PROVIDER)
    own["properties"] |= {
        "type": {"enum": [adapter.type for adapter in adapters]},
        "settings": {"type": "object"},
        "prices": {
            "description": "The whole price list: a prefix, a country or default, where needed with its first day as in"
            " DE from 2027-01-01; and what a message or a segment costs there, such as 0.0401 EUR segment.",
            "type": "object",
            "additionalProperties": {"type": "string"},
            "maxProperties": MAX_LINES,
        },
        **({"senders": _rows({"$ref": "#/$defs/sender"})} if channel in sections.WITH_SENDERS else {}),
    }
    return {**own, "required": ["type"], "allOf": [_settings_of(adapter) for adapter in adapters]}


def _alert_service() -> Schema:
    found = _of(sections.ALERT_SERVICE)
    found["properties"] |= {
        "kind": {"enum": list(sections.ALERT_KINDS)},
        sections.ADDRESS: {**_REFERENCE, "type": "object", "description": _ADDRESS},
    }
    return {**found, "required": ["kind"]}


def _settings_of(adapter: type[Adapter]) -> Schema:
    settings = _object({setting.name: _of_setting(setting) for setting in adapter.declared})
    return {
        "if": {"properties": {"type": {"const": adapter.type}}, "required": ["type"]},
        "then": {"properties": {"settings": settings}},
    }


def _of_setting(setting: Setting) -> Schema:
    if setting.kind is SettingKind.SECRET:
        return {**_REFERENCE, "title": str(setting.label)}
    found: Schema = {"title": str(setting.label), **({"description": str(setting.help)} if setting.help else {})}
    match setting.kind:
        case SettingKind.BOOLEAN:
            found["type"] = "boolean"
        case SettingKind.NUMBER:
            found["type"] = "integer"
        case SettingKind.CHOICE:
            found["enum"] = ["", *(value for value, _ in setting.choices)]
        case _:
            found |= {"type": "string", "maxLength": MAX_TEXT_LENGTH}
    return found if setting.default == "" else {**found, "default": setting.default}


def faults(file: Any) -> list[Fault]:
    """List in which ways a file is not what the schema asks for, up to a bound: a small file may hold thousands.

    No sentence repeats a value, which may be a secret.
    """
    errors = Draft202012Validator(schema()).iter_errors(file)
    found = islice((fault for error in errors for fault in _of_error(error)), MOST_FAULTS)
    return list(dict.fromkeys(found))


def _of_error(error: ValidationError) -> Iterator[Fault]:
    path, asked, rule = tuple(error.absolute_path), error.validator_value, str(error.validator)
    if rule == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        yield from (Fault((*path, name), _unknown(name, known)) for name in error.instance if name not in known)
    elif rule == "required":
        missing = (name for name in asked if name not in error.instance)
        yield from (Fault(path, _("{name} is missing.").format(name=name)) for name in missing)
    elif rule == "type" and sections.SECRET in error.schema.get("properties", ()):
        yield Fault(path, _("do not write secrets into the file; write {secret: NAME} instead."))
    elif rule == "type":
        yield Fault(path, str(_KINDS[asked if isinstance(asked, str) else asked[0]]))
    elif rule == "enum":
        names = ", ".join(str(value) or "an empty text" for value in asked)
        yield Fault(path, _("enter one of {names}.").format(names=names))
    else:
        yield Fault(path, str(_BOUNDS.get(rule, _("this does not match the schema."))).format(asked=asked))


def _unknown(name: str, known: list[str]) -> str:
    if name in sections.NOT_SETTINGS:
        return _("this cannot be set by a file: use killswitch to stop or resume a project; the name is the key.")
    if near := difflib.get_close_matches(name, known, n=1):
        return _("unknown name. Did you mean {near}?").format(near=near[0])
    return f"there is no such name here{'; there are ' + ', '.join(known) if len(known) <= LISTED_NAMES else ''}."
