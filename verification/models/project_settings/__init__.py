"""A project's settings, each declared once: type, bounds, name, help and group.

The project's page in the panel, ``setproject`` with its help, and the snapshot that requests read follow from this.
"""

from typing import Any

from django.apps import apps
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from verification.core.session_rules import (
    LONG_CODE,
    LONGEST_SESSION_SECONDS,
    SESSION_SECONDS,
    SHORT_CODE,
    SHORTEST_SESSION_SECONDS,
)
from verification.models.channels import ChannelType
from verification.models.fields import (
    HOST_MAX_LENGTH,
    LANGUAGE_MAX_LENGTH,
    NETWORK_MAX_LENGTH,
    ORIGIN_MAX_LENGTH,
    AndroidHashField,
    CountryField,
    ExtraPrefixField,
    HostNameField,
    LanguageField,
    ListField,
    NameField,
    NetworkField,
    OriginField,
    limit_field,
    with_unit,
)
from verification.models.project_settings.notices import Alerts, Events
from verification.models.project_settings.protection import Challenges, Guessing, TrafficGuard
from verification.models.project_settings.risk import RiskChecks
from verification.models.shared import SettingGroup

CODE_LENGTHS = ((SHORT_CODE, str(SHORT_CODE)), (LONG_CODE, str(LONG_CODE)))
# Every process reads these lists again each second, and a request is compared with some of them.
MAX_ORIGINS = 100  # Web sites and apps of one customer.
MAX_LANGUAGES = 100  # There are built-in texts in 24.
MAX_SERVERS = 100  # Addresses, or networks, of one customer's own machines.
MAX_EXTRA_PREFIXES = 50  # Area codes that opened since our tables' release are a handful.
EXTRA_PREFIX_MAX_LENGTH = 9  # Characters: a plus and 8 digits.
MAX_COUNTRIES = 300  # More countries than there are.
MAX_RETENTION_DAYS = 3_650  # Ten years: no law asks for longer of a code, and no date of the purge lies before our era.


class RetentionMode(models.TextChoices):
    REMOVE = "remove", _("Delete the data")
    HASH = "hash", _("Keep the data, hash the addresses")


class Assurance(models.TextChoices):
    NONE = "none", _("None")
    NIST = "nist", _("NIST SP 800-63B-4")


class Basics(SettingGroup):
    title = "Basics"

    name = NameField(_("name"), max_length=100, help_text=_("The name shown in messages and in the panel."))
    is_enabled = models.BooleanField(
        _("active"), default=True, help_text=_("When off, API calls return 401 and nothing is sent.")
    )
    is_sandbox = models.BooleanField(
        _("test project"),
        default=False,
        db_default=False,
        help_text=_(
            "Sends nothing: sandbox recipients have fixed outcomes and one known code. Can only be changed"
            " before the first session or message."
        ),
    )
    site_url = models.URLField(
        _("site"), blank=True, help_text=_("Your website. Channels without a link of their own use it.")
    )

    class Meta:
        abstract = True


class CodesAndTexts(SettingGroup):
    title = "Codes & texts"

    code_length = models.PositiveSmallIntegerField(
        _("length"),
        choices=CODE_LENGTHS,
        default=LONG_CODE,
        help_text=format_lazy(
            _("{long_code} is the safe choice; a code of length {short_code} is a hundred times easier to guess."),
            long_code=LONG_CODE,
            short_code=SHORT_CODE,
        ),
    )
    code_digits = models.BooleanField(_("digits"), default=True, help_text=_("Use digits in codes."))
    code_letters = models.BooleanField(
        _("letters"),
        default=False,
        help_text=_("Use letters in codes, except look-alikes such as 0 and O. Turn on digits, letters or both."),
    )
    assurance = models.CharField(
        _("standard"),
        max_length=4,
        choices=Assurance.choices,
        default=Assurance.NONE,
        db_default=Assurance.NONE.value,
        help_text=_(
            "The standard that codes must meet. NIST requires at least six characters, a validity of at most ten"
            " minutes, and no e-mail."
        ),
    )
    new_code_on_send = models.BooleanField(
        _("new code on every send"),
        default=False,
        help_text=_("Generate a new code for every send in a session instead of resending the same one."),
    )
    session_seconds = with_unit(
        _("seconds"),
        models.PositiveSmallIntegerField(
            _("session lifetime (seconds)"),
            default=SESSION_SECONDS,
            db_default=SESSION_SECONDS,
            validators=[MinValueValidator(SHORTEST_SESSION_SECONDS), MaxValueValidator(LONGEST_SESSION_SECONDS)],
            help_text=_(
                "How long a session and its code are valid, from the session's creation. A channel can extend it."
            ),
        ),
    )
    language = LanguageField(
        _("default language"),
        max_length=LANGUAGE_MAX_LENGTH,
        default="en",
        help_text=_("Used if the user's language is unknown or has no text. A code such as en or pt-BR."),
    )
    languages = ListField(
        LanguageField(max_length=LANGUAGE_MAX_LENGTH),
        verbose_name=_("languages"),
        most=MAX_LANGUAGES,
        help_text=_(
            "Languages a caller's Accept-Language can select, such as en or pt-BR. Leave empty for all"
            " languages with a text."
        ),
    )
    code_in_subject = models.BooleanField(
        _("code in the subject"),
        default=False,
        help_text=_("Show the code in the e-mail subject, so that notifications show it."),
    )
    web_otp_domain = HostNameField(
        _("autofill domain"),
        max_length=HOST_MAX_LENGTH,
        blank=True,
        help_text=_(
            "Such as shop.example. SMS then end with @shop.example #123456, so that browsers and iOS fill in"
            " the code automatically."
        ),
    )
    android_hash = AndroidHashField(
        _("Android app hash"),
        max_length=11,
        blank=True,
        help_text=_("The 11-character hash with which Android passes the SMS to your app, such as FA+9qCX9VSu."),
    )

    class Meta:
        abstract = True


class ChannelsAndCountries(SettingGroup):
    title = "Channels & countries"

    default_phone_channel = models.CharField(
        _("default for phone numbers"),
        max_length=20,
        choices=ChannelType.phone_choices(),
        default=ChannelType.SMS,
        help_text=_("The channel for phone numbers if the caller does not choose one."),
    )
    default_email_channel = models.CharField(
        _("default for e-mail addresses"),
        max_length=20,
        choices=ChannelType.email_choices(),
        default=ChannelType.EMAIL,
        help_text=_("The channel for e-mail addresses if the caller does not choose one."),
    )
    countries = ListField(
        CountryField(max_length=2),
        verbose_name=_("countries"),
        most=MAX_COUNTRIES,
        help_text=_(
            "Countries whose phone numbers are allowed. Leave empty for all countries. Puerto Rico, Jersey, Réunion and"
            " other territories are countries of their own."
        ),
    )
    allow_voip = models.BooleanField(
        _("allow VoIP numbers"),
        default=False,
        help_text=_("Also send SMS to VoIP and personal numbers, which are easy to obtain in bulk."),
    )

    extra_prefixes = ListField(
        ExtraPrefixField(max_length=EXTRA_PREFIX_MAX_LENGTH),
        verbose_name=_("prefixes of mobile numbers"),
        most=MAX_EXTRA_PREFIXES,
        db_default=[],
        help_text=_(
            "For numbers that are in service but unknown to our tables, such as +1861. Numbers that begin so and have a"
            " possible length are mobile numbers of their country."
        ),
    )

    class Meta:
        abstract = True


class Limits(SettingGroup):
    title = "Limits"

    sends_per_10_minutes = limit_field(
        _("sends in 10 minutes"),
        5,
        _("Messages to one recipient in 10 minutes."),
        unit=_("messages"),
    )
    sends_per_hour = limit_field(
        _("sends per hour"),
        10,
        _("Messages to one recipient per hour."),
        unit=_("messages"),
    )
    sends_per_day = limit_field(
        _("sends per day"),
        20,
        _("Messages to one recipient per day."),
        unit=_("messages"),
    )
    wrong_codes_per_15_minutes = limit_field(
        _("wrong codes in 15 minutes"),
        10,
        format_lazy(
            _("Wrong codes for one recipient in 15 minutes (half of that for codes of length {short_code})."),
            short_code=SHORT_CODE,
        ),
        unit=_("wrong codes"),
    )
    wrong_codes_per_day = limit_field(
        _("wrong codes per day"),
        20,
        format_lazy(
            _("Wrong codes for one recipient per day (half of that for codes of length {short_code})."),
            short_code=SHORT_CODE,
        ),
        unit=_("wrong codes"),
    )
    creates_per_address = limit_field(
        _("sessions per IP address"),
        300,
        _("Sessions created from one IP address in 10 minutes."),
        unit=_("sessions in 10 minutes"),
    )
    server_addresses = ListField(
        models.GenericIPAddressField(),
        verbose_name=_("server addresses"),
        most=MAX_SERVERS,
        help_text=_("IP addresses of your own servers. They are exempt from the limit per IP address."),
    )
    requests_per_second = limit_field(
        _("requests per second"),
        200,
        _("Sessions created and manual sends of the project per second."),
        unit=_("requests per second"),
    )

    class Meta:
        abstract = True


class Access(SettingGroup):
    title = "Access"

    origins = ListField(
        OriginField(max_length=ORIGIN_MAX_LENGTH),
        verbose_name=_("origins"),
        most=MAX_ORIGINS,
        help_text=_("Browser origins allowed to call the session endpoints, such as https://app.example.com."),
    )
    secret_key_networks = ListField(
        NetworkField(max_length=NETWORK_MAX_LENGTH),
        verbose_name=_("networks for secret keys"),
        most=MAX_SERVERS,
        help_text=_(
            "Networks of your servers, such as 203.0.113.0/24. Secret keys from other networks are rejected."
            " Leave empty to allow all."
        ),
    )
    test_logins_enabled = models.BooleanField(
        _("test logins"), default=True, help_text=_("Turns all test logins on or off.")
    )
    twilio_endpoints = models.BooleanField(
        _("Twilio Verify endpoints"),
        default=False,
        db_default=False,
        help_text=_(
            "Offer the Twilio Verify v2 endpoints to the project's secret keys, for servers written for Twilio."
        ),
    )

    class Meta:
        abstract = True


class Retention(SettingGroup):
    title = "Retention"

    retention_days = with_unit(
        _("days"),
        models.PositiveIntegerField(
            _("retention days"),
            default=30,
            validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION_DAYS)],
            help_text=_(
                "Sessions and messages are deleted after this many days, and so are recipients that have none left."
            ),
        ),
    )
    retention_mode = models.CharField(
        _("retention mode"),
        max_length=6,
        choices=RetentionMode.choices,
        default=RetentionMode.REMOVE,
        help_text=_("Delete old data, or keep it with a hash instead of the address."),
    )

    class Meta:
        abstract = True


class ProjectSettings(
    Basics,
    CodesAndTexts,
    ChannelsAndCountries,
    Limits,
    TrafficGuard,
    Guessing,
    RiskChecks,
    Challenges,
    Access,
    Events,
    Alerts,
    Retention,
):
    """All settings of a project."""

    class Meta:
        abstract = True


APPS = {"twilio_endpoints": "verification.contrib.twilio"}  # a setting that means nothing where its app is left out
_GROUPS: tuple[Any, ...] = ProjectSettings.__bases__
SETTABLE_GROUPS: dict[str, tuple[str, ...]] = {
    group.title: tuple(
        field.name
        for field in group._meta.local_fields
        if field.name not in APPS or apps.is_installed(APPS[field.name])
    )
    for group in _GROUPS
}
LIMITS = tuple(field.name for field in Limits._meta.local_fields if isinstance(field, models.PositiveIntegerField))
SETTABLE = tuple(name for names in SETTABLE_GROUPS.values() for name in names)
SECRETS = tuple(
    field.name for group in _GROUPS for field in group._meta.local_fields if isinstance(field, models.BinaryField)
)  # settings that are stored encrypted and never shown
SENT_TO: dict[str, tuple[str, ...]] = {  # the settings that name the server which a secret is sent to, if any does
    "challenge_secret": ("challenge_provider",),
    "risk_twilio_secret": (),
    "risk_vonage_key": (),
    "risk_camara_secret": ("risk_camara_url", "risk_camara_token_url"),
}
