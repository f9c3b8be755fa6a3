"""Fields that clean themselves: each brings what was typed into its one writing, or refuses it in one sentence.

Forms and commands both call ``full_clean``, so the panel and the command line judge alike.
"""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import phonenumbers
import psycopg
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, URLValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from psycopg.types.datetime import TimestamptzLoader

from verification.core.addresses import country_of as region_of
from verification.core.countries import country_of
from verification.core.errors import UserError
from verification.core.formats import EARLIEST_YEAR, FIRST_MOMENT, LAST_MOMENT, LATEST_YEAR
from verification.core.networks import clean_network
from verification.models.shared import EventType

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise
    from psycopg.abc import Buffer

PREFIX_MAX_LENGTH = 16  # characters: a plus and the 15 digits of E.164.
ORIGIN_MAX_LENGTH = 255  # characters: scheme and host; few host names are near their limit of 253.
NETWORK_MAX_LENGTH = 43  # characters of the longest writing of an IPv6 network.
LANGUAGE_MAX_LENGTH = 35  # characters: RFC 5646 asks for room for as many.
HOST_MAX_LENGTH = 253  # characters of the longest name in the DNS.

_NUMBER_PREFIX = re.compile(r"\+[1-9][0-9]{0,14}")
_EXTRA_PREFIX = re.compile(r"\+[0-9]{3,8}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # as browsers name them, by BCP 47
_ANDROID_HASH = re.compile(r"[A-Za-z0-9+/]{11}")
_HOST_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"(?:{_HOST_LABEL}\.)*(?![0-9]+$){_HOST_LABEL}")  # an address's last part is a number
_CHALLENGE_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]{0,251}[a-z0-9_])?")  # vendors take addresses and underscores too
_QUIET_HOURS = re.compile(r"((?:[01][0-9]|2[0-3]):[0-5][0-9]) ?[-–] ?((?:[01][0-9]|2[0-3]):[0-5][0-9])")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]{1,5})?")


def clean_country(text: str) -> str:
    """Return the ISO 3166 code of a country that has phone numbers. Raises :class:`UserError`."""
    country = country_of(text) or text.strip().upper()
    if country not in phonenumbers.SUPPORTED_REGIONS:
        raise UserError(
            gettext(
                "{text!r} is not a country. Enter a country's name in English, or its two letters, such as Morocco or"
                " MA."
            ).format(text=text)
        )
    return country


def clean_prefix(text: str) -> str:
    """Return what our writing of phone numbers begins with, as +49. Raises :class:`UserError`."""
    return re.sub(r"^\+521", "+52", read_prefix(text))  # as numbers there are read


def read_prefix(text: str) -> str:
    """Return what phone numbers begin with as others write them. Raises :class:`UserError`."""
    prefix = f"+{text.strip().removeprefix('+')}"
    if not _NUMBER_PREFIX.fullmatch(prefix):
        raise UserError(gettext("{text!r} is not a phone number prefix. Enter it like +49.").format(text=text))
    return prefix


def clean_extra_prefix(text: str) -> str:
    """Return what numbers of a country begin with that its plan may lack, as +1861. Raises :class:`UserError`."""
    if text.strip().startswith("+") and _EXTRA_PREFIX.fullmatch(prefix := clean_prefix(text)) and region_of(prefix):
        return prefix
    raise UserError(
        gettext(
            "{text!r} is not a prefix of a country's numbers. Enter a plus and 3 to 8 digits that begin with a country"
            " code."
        ).format(text=text)
    )


def clean_language(text: str) -> str:
    """Return the name of a language, such as en or pt-BR. Raises :class:`UserError`."""
    language = text.strip()
    if not _LANGUAGE.fullmatch(language):
        raise UserError(gettext("{text!r} is not a language. Enter it like en, de or pt-BR.").format(text=text))
    return language


def clean_origin(text: str) -> str:
    """Return a browser origin in the writing that browsers send. Raises :class:`UserError`."""
    origin = text.strip().lower()
    if not _ORIGIN.fullmatch(origin):
        raise UserError(
            gettext("{text!r} is not an origin. Enter the scheme and host, such as https://app.example.com.").format(
                text=text
            )
        )
    return origin


def clean_host_name(text: str) -> str:
    """Return a bare host name, as it ends an SMS for filling in. Raises :class:`UserError`."""
    host = text.strip().lower()
    if not _HOST_NAME.fullmatch(host):
        raise UserError(
            gettext(
                "{text!r} is not a plain host name. Enter it like shop.example, without https:// or a path."
            ).format(text=text)
        )
    return host


def clean_challenge_host(text: str) -> str:
    """Return a host name that a widget stands on, or the name of an Android package. Raises :class:`UserError`."""
    host = text.strip().lower()
    if not _CHALLENGE_HOST.fullmatch(host):
        raise UserError(
            gettext("{text!r} is not a host name. Enter it like shop.example, without https:// or a path.").format(
                text=text
            )
        )
    return host


def clean_android_hash(text: str) -> str:
    """Return the hash of an Android app. Raises :class:`UserError`."""
    text = text.strip()
    if not _ANDROID_HASH.fullmatch(text):
        raise UserError(gettext("An app's hash has exactly 11 letters, digits, + or /, such as FA+9qCX9VSu."))
    return text


def clean_quiet_hours(text: str) -> str:
    """Return hours of a day as 22:00-07:00. They may lead over midnight. Raises :class:`UserError`."""
    found = _QUIET_HOURS.fullmatch(text.strip())
    if found is None or found[1] == found[2]:
        raise UserError(gettext("{text!r} is not a time range. Enter it like 22:00-07:00.").format(text=text))
    return f"{found[1]}-{found[2]}"


def clean_time_zone(text: str) -> str:
    """Return the name of a time zone, such as Europe/Berlin. Raises :class:`UserError`."""
    name = text.strip()
    if name not in zoneinfo.available_timezones():
        raise UserError(gettext("{text!r} is not a time zone. Enter one like Europe/Berlin, or UTC.").format(text=text))
    return name


def clean_event(text: str) -> str:
    """Return the name of an event. Raises :class:`UserError`."""
    name = text.strip().lower()
    if name not in EventType.values:
        raise UserError(
            gettext("{text} is not an event. Events: {events}.").format(
                text=repr(text), events=", ".join(EventType.values)
            )
        )
    return name


if TYPE_CHECKING:
    CharField = models.CharField[str, str]
    DateTimeField = models.DateTimeField[Any, Any]
    URLField = models.URLField[str, str]
else:  # Django's classes take no type arguments at run time
    CharField, DateTimeField, URLField = models.CharField, models.DateTimeField, models.URLField


class CleanedField(CharField):
    """A text with one writing, which a subclass's ``clean_text`` finds."""

    @staticmethod
    def clean_text(text: str) -> str:
        """Return the one writing. Raises :class:`UserError` for a text that has none."""
        raise NotImplementedError

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        if value not in self.empty_values:
            try:
                value = self.clean_text(value)
            except UserError as error:
                raise ValidationError(str(error)) from None
        return super().clean(value, model_instance)

    def deconstruct(self) -> Any:
        """Return what migrations know of it: a plain column."""
        name, _unused, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


JOINERS = "\u200c\u200d"  # invisible, but some scripts and emojis need them


class NameField(CleanedField):
    """A name that people give, for lists and lines of the log: one line of what can be seen."""

    @staticmethod
    def clean_text(text: str) -> str:
        text = str(text).strip()
        if not all(each.isprintable() or each in JOINERS for each in text):
            raise UserError(gettext("A name is one line, without control characters."))
        return text


def clean_expiry(moment: datetime) -> datetime:
    """Return a time that every zone can write. Raises :class:`UserError`."""
    if not FIRST_MOMENT <= moment <= LAST_MOMENT:
        raise UserError(
            gettext("Enter a year from {first} to {last}, or leave it empty for no expiry.").format(
                first=EARLIEST_YEAR, last=LATEST_YEAR
            )
        )
    return moment


class _MomentLoader(TimestamptzLoader):
    """Reads a time that Python cannot, or that some zone cannot write, as the nearest one that all can.

    So a row of the year 10000, or of ``infinity``, breaks no list.
    """

    timezone = UTC  # that Django asks of it

    def load(self, data: Buffer) -> datetime:
        try:
            moment = super().load(data).replace(tzinfo=UTC)
        except psycopg.DataError:
            text = bytes(data)
            return FIRST_MOMENT if text.startswith(b"-") or text.endswith(b"BC") else LAST_MOMENT
        return min(max(moment, FIRST_MOMENT), LAST_MOMENT)


def bound_moments(connection: Any, **_: object) -> None:
    """Make a connection read all times by :class:`_MomentLoader`. A receiver of ``connection_created``."""
    connection.connection.adapters.register_loader("timestamptz", _MomentLoader)


class ExpiryField(DateTimeField):
    """The time at which a row ends, as people enter it in their zone."""

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        moment = super().clean(value, model_instance)
        try:
            return moment and clean_expiry(moment)
        except UserError as error:
            raise ValidationError(str(error)) from None

    def deconstruct(self) -> Any:
        """Return what migrations know of it: a plain column."""
        name, _unused, args, kwargs = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, kwargs


class CountryField(CleanedField):
    clean_text = staticmethod(clean_country)


class PrefixField(CleanedField):
    clean_text = staticmethod(clean_prefix)


class ExtraPrefixField(CleanedField):
    clean_text = staticmethod(clean_extra_prefix)


class LanguageField(CleanedField):
    clean_text = staticmethod(clean_language)


class OriginField(CleanedField):
    clean_text = staticmethod(clean_origin)


class NetworkField(CleanedField):
    clean_text = staticmethod(clean_network)


class HostNameField(CleanedField):
    clean_text = staticmethod(clean_host_name)


class ChallengeHostField(CleanedField):
    clean_text = staticmethod(clean_challenge_host)


class AndroidHashField(CleanedField):
    clean_text = staticmethod(clean_android_hash)


class QuietHoursField(CleanedField):
    clean_text = staticmethod(clean_quiet_hours)


class TimeZoneField(CleanedField):
    clean_text = staticmethod(clean_time_zone)


class EventField(CleanedField):
    clean_text = staticmethod(clean_event)


class HttpsUrlField(URLField):
    """An address that apps load or open, and so one of https."""

    default_validators = [URLValidator(schemes=["https"], message=_("Enter a URL that starts with https://."))]

    def deconstruct(self) -> Any:
        """Return what migrations know of it: a plain column."""
        name, _unused, args, kwargs = super().deconstruct()
        return name, "django.db.models.URLField", args, kwargs


class ListField(ArrayField):  # type: ignore[type-arg]  # as its base
    """A list of at most ``most`` items. Each item cleans itself and is kept once, in the order that it was typed in."""

    def __init__(self, base_field: Any, *, most: int | None = None, **options: Any) -> None:
        if most is not None:
            options["validators"] = (ArrayMaxLengthValidator(most),)
        super().__init__(base_field, **{"default": list, "blank": True, **options})

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        items = [self.base_field.clean(item, model_instance) for item in self.to_python(value) or []]
        return super().clean(list(dict.fromkeys(items)), model_instance)

    def formfield(self, **options: Any) -> Any:
        """Return the field of a form. Its class is the form's choice, as the panel's pages have one for all lists."""
        return super(ArrayField, self).formfield(**{"show_hidden_initial": False, **options})

    def deconstruct(self) -> Any:
        """Return what migrations know of it: a plain column."""
        name, _unused, args, kwargs = super().deconstruct()
        return name, "django.contrib.postgres.fields.ArrayField", args, kwargs


AnyField = TypeVar("AnyField", bound="models.Field[Any, Any]")


def with_unit(unit: StrOrPromise, field: AnyField) -> AnyField:
    """Return the field of a number with its unit, which the panel writes behind it. Migrations know nothing of it."""
    field.unit = unit  # type: ignore[attr-defined]
    return field


def unit_of(field: models.Field[Any, Any]) -> StrOrPromise | None:
    unit: StrOrPromise | None = getattr(field, "unit", None)
    return unit


def limit_field(
    name: StrOrPromise, default: int, help_text: StrOrPromise, *, unit: StrOrPromise
) -> models.PositiveIntegerField[int, int]:
    """Return a field for a limit, which 0 switches off. The options are as of :func:`figure_field`."""
    limit = models.PositiveIntegerField(
        name,
        default=default,
        db_default=default,
        help_text=format_lazy(_("{help_text} 0 = no limit."), help_text=help_text),
    )
    return with_unit(unit, limit)


def figure_field(
    name: StrOrPromise,
    default: int,
    help_text: StrOrPromise,
    *,
    unit: StrOrPromise,
    least: int = 1,
    most: int,
) -> models.PositiveIntegerField[int, int]:
    """Return a field for a figure from ``least`` to ``most``, with its unit in words.

    The database has the default too: while a release is replaced, processes of the one before insert rows without it.
    """
    bounds = (*([MinValueValidator(least)] if least else ()), MaxValueValidator(most))
    figure = models.PositiveIntegerField(
        name,
        default=default,
        db_default=default,
        validators=bounds,
        help_text=help_text,
    )
    return with_unit(unit, figure)
