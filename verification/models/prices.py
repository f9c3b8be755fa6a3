"""The money that messages cost: providers' price lists, exchange rates, and the sums that last."""

from datetime import date
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core import currencies
from verification.models.channels import ChannelType
from verification.models.fields import LANGUAGE_MAX_LENGTH, CleanedField
from verification.models.figures import COUNTRY_MAX_LENGTH

DECIMAL_PLACES = 8  # of a price: what vendors write, such as 0.03330000
PRICE_DIGITS = 20  # of one price or message, so 12 before the point: enough in every currency
SUM_DIGITS = 28  # of the sum of many messages
RATE_DIGITS, RATE_PLACES = 24, 12  # of an exchange rate: a so'm is some 0.00008 of a dollar
PLACE_MAX_LENGTH = 16  # characters of a place: a prefix is the longest
ALWAYS = date(1970, 1, 1)  # the first day of a price that has always been good


class CurrencyField(CleanedField):
    clean_text = staticmethod(currencies.clean_currency)


class PricePer(models.TextChoices):
    """The unit that a price is for."""

    MESSAGE = "message", _("Message")
    SEGMENT = "segment", _("Segment")


class Price(models.Model):
    """One line of a provider's price list. ``place`` is a prefix, a country or, empty, everywhere else."""

    provider = models.ForeignKey(
        "verification.Provider", on_delete=models.CASCADE, related_name="prices", db_index=False
    )
    place = models.CharField(max_length=PLACE_MAX_LENGTH, blank=True)
    amount = models.DecimalField(max_digits=PRICE_DIGITS, decimal_places=DECIMAL_PLACES)
    currency = models.CharField(max_length=currencies.CURRENCY_LENGTH)
    per = models.CharField(max_length=7, choices=PricePer.choices)
    valid_from = models.DateField(default=ALWAYS)

    class Meta:
        ordering = ("place", "valid_from")
        constraints = (
            models.UniqueConstraint(name="price_once", fields=("provider", "place", "valid_from")),
            models.CheckConstraint(name="price_not_negative", condition=Q(amount__gte=0)),
            models.CheckConstraint(name="price_per", condition=Q(per__in=PricePer.values)),
        )

    def __str__(self) -> str:
        return f"{self.place or 'default'}: {self.amount} {self.currency}"


class ExchangeRate(models.Model):
    """The rate of a currency against another, from a day (UTC) on until the next rate of the two."""

    currency = CurrencyField(
        _("currency"), max_length=currencies.CURRENCY_LENGTH, help_text=_("Three letters, such as EUR.")
    )
    account = CurrencyField(
        _("into"),
        max_length=currencies.CURRENCY_LENGTH,
        help_text=_("The account currency to convert into, such as USD."),
    )
    rate = models.DecimalField(
        _("rate"),
        max_digits=RATE_DIGITS,
        decimal_places=RATE_PLACES,
        validators=(MinValueValidator(Decimal(1).scaleb(-RATE_PLACES)),),
        help_text=_("The value of one unit of the first currency in the second. For 1 EUR = 1.08 USD, enter 1.08."),
    )
    valid_from = models.DateField(_("valid from"), help_text=_("The first day (UTC) on which it applies."))

    class Meta:
        ordering = ("currency", "-valid_from")
        verbose_name = _("exchange rate")
        verbose_name_plural = _("exchange rates")
        constraints = (
            models.UniqueConstraint(
                name="exchange_rate_once",
                fields=("currency", "account", "valid_from"),
                violation_error_message=_("A rate for this pair and day already exists. Change that one."),
            ),
            models.CheckConstraint(name="exchange_rate_positive", condition=Q(rate__gt=0)),
        )

    def clean(self) -> None:
        if self.currency == self.account:
            raise ValidationError({"account": gettext("Enter two different currencies.")})

    def __str__(self) -> str:
        return gettext("1 {currency} = {rate:f} {account} from {valid_from}").format(
            currency=self.currency, rate=self.rate.normalize(), account=self.account, valid_from=self.valid_from
        )


class Costs(models.Model):
    """The cost of the sends of one project by channel, provider, country, language and currency.

    A send is an attempt that was accepted, or may have been. It counts in the hour or day of its message's creation.
    Test logins never count. The currency is empty for sends without a price, and their amount is then 0.
    """

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False)
    channel = models.CharField(max_length=20, choices=ChannelType.choices)
    provider_id = models.BigIntegerField(help_text=_("The provider, even after it was deleted; 0 for none."))
    country = models.CharField(max_length=COUNTRY_MAX_LENGTH, blank=True, help_text=_("ISO 3166, empty for none."))
    language = models.CharField(max_length=LANGUAGE_MAX_LENGTH)
    currency = models.CharField(max_length=currencies.CURRENCY_LENGTH, blank=True)
    sends = models.PositiveIntegerField(default=0)
    segments = models.PositiveIntegerField(default=0)
    amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=DECIMAL_PLACES, default=0)

    class Meta:
        abstract = True


class HourlyCosts(Costs):
    """The costs of one hour (UTC)."""

    hour = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="hourly_costs_once",
                fields=("project", "hour", "channel", "provider_id", "country", "language", "currency"),
            ),
        )
        indexes = (models.Index(name="hourly_costs_to_purge", fields=("hour",)),)

    def __str__(self) -> str:
        return gettext("costs of {hour}").format(hour=self.hour)


class DailyCosts(Costs):
    """The costs of one day (UTC) that is over: the sum of its hours."""

    day = models.DateField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="daily_costs_once",
                fields=("project", "day", "channel", "provider_id", "country", "language", "currency"),
            ),
        )
        indexes = (models.Index(name="daily_costs_to_purge", fields=("day",)),)

    def __str__(self) -> str:
        return gettext("costs of {day}").format(day=self.day)


UNIT_MAX_LENGTH = 7  # characters: a currency of ISO 4217, or "credits"


class VendorBalance(models.Model):
    """The balance of a provider's account when the vendor was first asked on a day (UTC)."""

    provider = models.ForeignKey(
        "verification.Provider", on_delete=models.CASCADE, related_name="balances", db_index=False
    )
    day = models.DateField()
    amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=DECIMAL_PLACES)
    unit = models.CharField(max_length=UNIT_MAX_LENGTH)

    class Meta:
        constraints = (models.UniqueConstraint(name="vendor_balance_once", fields=("provider", "day")),)
        indexes = (models.Index(name="vendor_balance_to_purge", fields=("day",)),)

    def __str__(self) -> str:
        return f"{self.amount} {self.unit} on {self.day}"
