"""The settings of a project's risk checks: which services are asked about a number before a message is paid for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core.errors import UserError
from verification.models.fields import CleanedField, ListField, with_unit
from verification.models.shared import SettingGroup

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_SWAP_HOURS = 2_400  # of CAMARA and Vonage
CHECK_MAX_LENGTH = 20  # characters of a name
PRICE_MAX_LENGTH = 60  # characters of a name, an amount and a currency
URL_MAX_LENGTH = 2048  # characters that every browser and proxy takes
_PRICE = re.compile(r"(?P<name>\w+)[\s=]+(?P<amount>[0-9]{1,6}(?:\.[0-9]{1,8})?)\s+(?P<currency>[A-Za-z]{3})")


class RiskCheck(models.TextChoices):
    """The services of ``providers/risk``."""

    TWILIO_LOOKUP = "twilio_lookup", "Twilio Lookup"
    VONAGE_IDENTITY = "vonage_identity", "Vonage Identity Insights"
    CAMARA_SIM_SWAP = "camara_sim_swap", "CAMARA SIM Swap"
    CALLBACK = "callback", _("Your server")


def clean_risk_check(text: str) -> str:
    """Return the name of a risk check. Raises :class:`UserError` for what is none."""
    name = text.strip().lower()
    if name not in RiskCheck.values:
        raise UserError(
            gettext("{text!r} is not a risk check. Use: {names}.").format(text=text, names=", ".join(RiskCheck))
        )
    return name


def clean_risk_price(text: str) -> str:
    """Return a price of a risk check in its one writing, ``twilio_lookup 0.025 USD``. Raises :class:`UserError`."""
    found = _PRICE.fullmatch(text.strip())
    if not found or found["name"].lower() not in RiskCheck.values:
        raise UserError(
            gettext("{text!r} is not a price of a risk check. Enter it like twilio_lookup 0.025 USD.").format(text=text)
        )
    return f"{found['name'].lower()} {found['amount']} {found['currency'].upper()}"


def _text(name: StrOrPromise, help_text: StrOrPromise) -> Any:
    return models.CharField(name, max_length=200, blank=True, default="", db_default="", help_text=help_text)


def _url(name: StrOrPromise, help_text: StrOrPromise) -> Any:
    return models.URLField(name, max_length=URL_MAX_LENGTH, blank=True, default="", db_default="", help_text=help_text)


def _secret(name: StrOrPromise, help_text: StrOrPromise) -> Any:
    return models.BinaryField(name, null=True, editable=False, help_text=help_text)


class RiskCheckField(CleanedField):
    clean_text = staticmethod(clean_risk_check)


class RiskPriceField(CleanedField):
    clean_text = staticmethod(clean_risk_price)


def _checks(name: StrOrPromise, help_text: StrOrPromise) -> ListField:
    return ListField(
        RiskCheckField(max_length=CHECK_MAX_LENGTH, choices=RiskCheck.choices),
        verbose_name=name,
        most=len(RiskCheck),
        db_default=[],
        help_text=format_lazy(
            _("{help_text} Tried in this order: {names}. Leave empty for none."),
            help_text=help_text,
            names=", ".join(RiskCheck.values),
        ),
    )


class RiskChecks(SettingGroup):
    title = "Risk checks"

    risk_sms = _checks(_("before an SMS"), _("Services that check an unknown number before an SMS."))
    risk_voice = _checks(_("before a call"), _("Services that check an unknown number before a call."))
    risk_fails_open = models.BooleanField(
        _("send if no check responds"),
        default=True,
        db_default=True,
        help_text=_("Send the code if no check responds in time. When off, the message fails."),
    )
    risk_checks_per_day = with_unit(
        _("checks"),
        models.PositiveIntegerField(
            _("checks per day"),
            default=1_000,
            db_default=1_000,
            help_text=_("Maximum in 24 hours. Beyond it, codes are sent without a check. 0 = no limit."),
        ),
    )
    risk_prices = ListField(
        RiskPriceField(max_length=PRICE_MAX_LENGTH),
        verbose_name=_("prices"),
        most=len(RiskCheck),
        db_default=[],
        help_text=_("What one check costs, for the Costs page, such as twilio_lookup 0.025 USD."),
    )
    risk_max_score = with_unit(
        _("from 1 to 100"),
        models.PositiveSmallIntegerField(
            _("refuse from score"),
            default=75,
            db_default=75,
            validators=(MinValueValidator(1), MaxValueValidator(100)),
            help_text=_("Block numbers with this Twilio SMS pumping score or higher. 1 to 100."),
        ),
    )
    risk_swap_hours = with_unit(
        _("hours"),
        models.PositiveSmallIntegerField(
            _("hours after a SIM swap"),
            default=72,
            db_default=72,
            validators=(MinValueValidator(1), MaxValueValidator(MAX_SWAP_HOURS)),
            help_text=_("A number whose SIM was changed within this time gets no code. For Vonage and CAMARA."),
        ),
    )
    risk_callback_url = models.URLField(
        _("your server"),
        max_length=URL_MAX_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "An https URL that gets a request, signed with the project's webhook secret. It must answer within 0.3"
            " seconds."
        ),
    )
    risk_twilio_account = _text(_("Twilio account"), _("Account SID, or the SID of an API key."))
    risk_twilio_secret = _secret(_("Twilio secret"), _("Auth token, or the secret of the API key."))
    risk_vonage_application = _text(_("Vonage application"), _("The application ID."))
    risk_vonage_key = _secret(_("Vonage private key"), _("The application's private key: the complete PEM file."))
    risk_camara_url = _url(_("CAMARA URL"), _("The API's URL up to its version, from the mobile operator."))
    risk_camara_token_url = _url(_("CAMARA token URL"), _("The URL that issues access tokens for client credentials."))
    risk_camara_client = _text(_("CAMARA client"), _("The client ID."))
    risk_camara_secret = _secret(_("CAMARA secret"), _("The client secret."))

    class Meta:
        abstract = True
