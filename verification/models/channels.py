"""The ways by which messages leave: a project's channels, and the providers that serve them."""

import uuid
from typing import TYPE_CHECKING

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now, NullIf
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core.formats import grouped
from verification.core.session_rules import LONGEST_SESSION_SECONDS, SHORTEST_SESSION_SECONDS
from verification.models.fields import (
    HOST_MAX_LENGTH,
    PREFIX_MAX_LENGTH,
    CountryField,
    HostNameField,
    HttpsUrlField,
    ListField,
    NameField,
    PrefixField,
)
from verification.models.shared import Providers

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

DEFAULT_PRIORITY = 100
DEFAULT_DAILY_BUDGET = 1_000  # SMS, or calls: enough for a first launch, and a bound on what an attack may cost
# Seconds that a channel is waited for before the next is tried. Receipts take some seconds; and however long a wait is
# set to, the next channel has the session's last 30.
MIN_FALLBACK_WAIT_SECONDS = 5
SECONDS_AFTER_FALLBACK = 30
MAX_FALLBACK_WAIT_SECONDS = LONGEST_SESSION_SECONDS - SECONDS_AFTER_FALLBACK
DEFAULT_EXPLORE_PERCENT = 5  # of messages: enough to find a route that came back within the hour
MAX_EXPLORE_PERCENT = 20  # of messages: more would cost more than it teaches
MAX_PREFIXES = 200  # that a provider serves, or does not; each message is compared with them
MAX_COUNTRIES = 300  # more than there are


class ChannelType(models.TextChoices):
    """The values of the API. Owners choose the names that people see."""

    SMS = "sms", "SMS"
    EMAIL = "email", _("E-mail")
    MESSENGER_A = "messenger_a", _("Telegram")
    MESSENGER_B = "messenger_b", _("WhatsApp")
    VOICE = "voice", _("Voice call")

    @classmethod
    def email_choices(cls) -> "list[tuple[str, StrOrPromise]]":
        return [choice for choice in cls.choices if choice[0] == cls.EMAIL]

    @classmethod
    def phone_choices(cls) -> "list[tuple[str, StrOrPromise]]":
        return [choice for choice in cls.choices if choice[0] != cls.EMAIL]


class FailedCosts(models.TextChoices):
    """The cost of a message that a vendor accepted and could not deliver, by the vendor's practice."""

    PRICE = "price", _("Full price")
    NOTHING = "nothing", _("Nothing")


class RoutingMode(models.TextChoices):
    """The rule by which a channel's providers take their turns."""

    FIXED = "fixed", _("Fixed order")
    SHARES = "shares", _("Weighted")
    BEST_PRICE = "best_price", _("Cheapest per verified user")
    BEST_TIME = "best_time", _("Fastest per verified user")


class Channel(models.Model):
    """A delivery route that a project offers. A user sees its name, icon and link."""

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="channels"
    )
    type = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    name = NameField(
        _("name"), max_length=50, blank=True, help_text=_("The name users see. Leave empty for the default.")
    )
    is_active = models.BooleanField(_("active"), default=True)
    position = models.PositiveSmallIntegerField(
        _("position"), default=0, help_text=_("Order within the project, lowest first.")
    )
    image_url = HttpsUrlField(_("icon"), blank=True, help_text=_("Image URL. Leave empty for the default."))
    link = HttpsUrlField(
        _("link"), blank=True, help_text=_("Where users go for this channel. Leave empty for the project's site.")
    )
    daily_budget = models.PositiveIntegerField(
        _("daily budget"),
        null=True,
        blank=True,
        help_text=format_lazy(
            _(
                "Maximum messages per day (UTC; hard limit). 0 = no limit. Leave empty for the default:"
                " {default_daily_budget} for SMS and for voice calls, no limit for other channels."
            ),
            default_daily_budget=lazy(grouped, str)(DEFAULT_DAILY_BUDGET),
        ),
    )
    effective_budget = models.GeneratedField(
        expression=models.Case(
            models.When(daily_budget__isnull=False, then=NullIf("daily_budget", models.Value(0))),
            models.When(type__in=("sms", "voice"), then=models.Value(DEFAULT_DAILY_BUDGET)),
        ),
        output_field=models.PositiveIntegerField(null=True),
        db_persist=True,
        help_text=_("The effective budget; null for no limit."),
    )
    daily_cost_budget = models.PositiveIntegerField(
        _("daily cost budget"),
        null=True,
        blank=True,
        help_text=_(
            "Maximum cost per day (UTC), in whole units of the account currency. Costs are updated once a "
            "minute, so spending can exceed the limit by about one minute of traffic; messages without a "
            "price don't count. 0 or empty = no limit."
        ),
    )
    monthly_cost_budget = models.PositiveIntegerField(
        _("monthly cost budget"),
        null=True,
        blank=True,
        help_text=_(
            "Maximum cost per calendar month (UTC), in whole units of the account currency. Costs are updated"
            " once a minute. 0 or empty = no limit."
        ),
    )
    countries = ListField(
        CountryField(max_length=2),
        verbose_name=_("countries"),
        most=MAX_COUNTRIES,
        help_text=_("Limits this channel to some of the project's countries. Leave empty for all of them."),
    )
    session_seconds = models.PositiveSmallIntegerField(
        _("session lifetime (seconds)"),
        null=True,
        blank=True,
        validators=[MinValueValidator(SHORTEST_SESSION_SECONDS), MaxValueValidator(LONGEST_SESSION_SECONDS)],
        help_text=_(
            "For channels with slow delivery: sessions that may use this channel stay valid at least this"
            " long. Leave empty to use the project's value."
        ),
    )
    routing = models.CharField(
        _("routing"),
        max_length=10,
        choices=RoutingMode.choices,
        default=RoutingMode.FIXED,
        db_default=RoutingMode.FIXED.value,
        help_text=_(
            "Your project's providers always come before the system's, and providers that were slow recently come last."
        ),
    )
    explore_percent = models.PositiveSmallIntegerField(
        _("exploration (%)"),
        default=DEFAULT_EXPLORE_PERCENT,
        db_default=DEFAULT_EXPLORE_PERCENT,
        validators=(MaxValueValidator(MAX_EXPLORE_PERCENT),),
        help_text=format_lazy(
            _(
                "With “cheapest” or “fastest”: the share of messages that try other providers, to notice when"
                " one has become better. 0 to {max_explore_percent}."
            ),
            max_explore_percent=MAX_EXPLORE_PERCENT,
        ),
    )

    class Meta:
        ordering = ("position", "id")
        verbose_name = _("channel")
        verbose_name_plural = _("channels")
        constraints = (
            models.UniqueConstraint(name="channel_once", fields=("project", "type")),
            models.CheckConstraint(name="channel_type", condition=Q(type__in=ChannelType.values)),
            models.CheckConstraint(name="channel_routing", condition=Q(routing__in=RoutingMode.values)),
            models.CheckConstraint(name="channel_explores", condition=Q(explore_percent__lte=MAX_EXPLORE_PERCENT)),
        )

    def __str__(self) -> str:
        return self.display_name

    @property
    def display_name(self) -> str:
        return self.name or str(ChannelType(self.type).label)


class Provider(models.Model):
    """An account at an outside service. Without a project it is a system provider, which serves every project.

    ``settings`` are the plain values; ``secrets`` is one encrypted JSON object of the secret ones.
    ``hook_secret`` is encrypted too: the part of its hook's path that nobody can guess.
    """

    uuid = models.UUIDField(_("uuid"), default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey(
        "verification.Project",
        verbose_name=_("project"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="providers",
    )
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    type = models.CharField(_("type"), max_length=40)
    name = NameField(_("name"), max_length=80)
    is_enabled = models.BooleanField(_("active"), default=True)
    priority = models.PositiveIntegerField(
        _("priority"), default=DEFAULT_PRIORITY, help_text=_("Lowest is tried first.")
    )
    weight = models.PositiveSmallIntegerField(
        _("weight"),
        default=1,
        help_text=_("Share among providers of the same priority: weight 3 is chosen three times as often as weight 1."),
    )
    only_prefixes = ListField(
        PrefixField(max_length=PREFIX_MAX_LENGTH),
        verbose_name=_("only numbers starting with"),
        most=MAX_PREFIXES,
        help_text=_("Such as +49, +43. Leave empty for all numbers."),
    )
    except_prefixes = ListField(
        PrefixField(max_length=PREFIX_MAX_LENGTH),
        verbose_name=_("exclude numbers starting with"),
        most=MAX_PREFIXES,
        help_text=_("Such as +1900."),
    )
    only_domains = ListField(
        HostNameField(max_length=HOST_MAX_LENGTH),
        verbose_name=_("only these domains"),
        most=MAX_PREFIXES,
        db_default=[],
        help_text=_("For e-mail: domains such as example.com. Leave empty for all addresses."),
    )
    except_domains = ListField(
        HostNameField(max_length=HOST_MAX_LENGTH),
        verbose_name=_("exclude these domains"),
        most=MAX_PREFIXES,
        db_default=[],
        help_text=_("For e-mail: domains such as example.com."),
    )
    failed_costs = models.CharField(
        _("charge for failed messages"),
        max_length=7,
        choices=FailedCosts.choices,
        default=FailedCosts.PRICE,
        help_text=_("What the vendor charges for a message it accepted but reports as not delivered."),
    )
    price_list = models.PositiveIntegerField(
        _("price list"),
        default=0,
        editable=False,
        help_text=_("How often its prices were replaced; a new number reloads them."),
    )
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    secrets = models.BinaryField(_("secrets"), null=True, editable=False)
    hook_secret = models.BinaryField(_("hook secret"), editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    checked_at = models.DateTimeField(null=True, editable=False, help_text=_("When its settings last passed a check."))

    objects = Providers["Provider"].as_manager()

    class Meta:
        ordering = ("priority", "id")
        verbose_name = _("provider")
        verbose_name_plural = _("providers")
        constraints = (models.CheckConstraint(name="provider_channel", condition=Q(channel__in=ChannelType.values)),)
        indexes = (models.Index(name="provider_of_channel", fields=("channel", "project")),)

    def __str__(self) -> str:
        return self.name

    @property
    def is_system(self) -> bool:
        return self.project_id is None


class RoutingRule(models.Model):
    """A part of a project's messages that one provider is asked first for: of one country, or of all.

    Part 0 is a pause: the provider carries none of them. A rule of a country comes before one of all countries.
    """

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="routing_rules"
    )
    provider = models.ForeignKey(
        Provider, verbose_name=_("provider"), on_delete=models.CASCADE, related_name="routing_rules"
    )
    country = CountryField(
        _("country"), max_length=2, blank=True, default="", help_text=_("Two letters. Leave empty for all countries.")
    )
    percent = models.PositiveSmallIntegerField(
        _("percent"), help_text=_("Percentage of messages sent to this provider first. 0 pauses it.")
    )
    replaced = models.JSONField(
        null=True, editable=False, help_text="The percent, by provider, of each rule that this one ended."
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        ordering = ("country", "id")
        verbose_name = _("routing rule")
        verbose_name_plural = _("routing rules")
        constraints = (
            models.UniqueConstraint(name="routing_rule_once", fields=("project", "provider", "country")),
            models.CheckConstraint(name="routing_rule_percent", condition=Q(percent__lte=100)),
        )

    def __str__(self) -> str:
        place = self.country or gettext("all countries")
        return f"{self.provider.name}, {place}"

    @property
    def is_pause(self) -> bool:
        return not self.percent


class SenderRule(models.Model):
    """Marks of a provider's messages to one country: another sender, and the ids India's operators ask for."""

    provider = models.ForeignKey(
        Provider, verbose_name=_("provider"), on_delete=models.CASCADE, related_name="sender_rules"
    )
    prefix = PrefixField(
        _("numbers starting with"),
        max_length=PREFIX_MAX_LENGTH,
        help_text=_("Such as +91. If several match, the longest applies."),
    )
    sender = models.CharField(_("sender"), max_length=40, blank=True)
    dlt_entity_id = models.CharField(_("DLT entity ID"), max_length=40, blank=True)
    dlt_template_id = models.CharField(_("DLT template ID"), max_length=40, blank=True)

    class Meta:
        ordering = ("prefix",)
        verbose_name = _("sender rule")
        verbose_name_plural = _("sender rules")
        constraints = (models.UniqueConstraint(name="sender_rule_once", fields=("provider", "prefix")),)

    def __str__(self) -> str:
        return self.prefix


class CircuitBreaker(models.Model):
    """A provider that keeps failing is set aside until ``open_until``; then one message is let through as a probe.

    A provider without a row, or with ``open_until`` null, is closed: it works as far as anybody knows.
    """

    provider = models.OneToOneField(Provider, primary_key=True, on_delete=models.CASCADE, related_name="breaker")
    opened_at = models.DateTimeField(null=True)
    open_until = models.DateTimeField(null=True)
    openings = models.PositiveIntegerField(default=0, help_text=_("Consecutive openings; each lasts longer."))
    reason = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return gettext("breaker of {provider_id}").format(provider_id=self.provider_id)


class BreakerOpening(models.Model):
    """One time for which a provider was set aside: written when its breaker opens, ended when it closes."""

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="openings", db_index=False)
    opened_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = (models.Index(name="breaker_opening_of_provider", fields=("provider", "-opened_at")),)

    def __str__(self) -> str:
        return gettext("opening of {provider_id} at {opened_at}").format(
            provider_id=self.provider_id, opened_at=self.opened_at
        )


class FallbackStep(models.Model):
    """One place in a project's order of fall-back: how long a channel is waited for before the next one is tried."""

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="fallback_steps"
    )
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    wait_seconds = models.PositiveSmallIntegerField(
        _("wait seconds"),
        default=30,
        validators=[MinValueValidator(MIN_FALLBACK_WAIT_SECONDS), MaxValueValidator(MAX_FALLBACK_WAIT_SECONDS)],
        help_text=_("How long to wait for a delivery report before the code is sent by the next channel."),
    )

    class Meta:
        ordering = ("position", "id")
        verbose_name = _("fallback step")
        verbose_name_plural = _("fallback steps")
        constraints = (models.UniqueConstraint(name="fallback_step_once", fields=("project", "channel")),)

    def __str__(self) -> str:
        return f"{self.channel}, {self.wait_seconds} s"
