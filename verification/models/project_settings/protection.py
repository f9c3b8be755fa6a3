"""The settings of a project that protect it: the traffic guard, the rules on guessing, and challenges."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from verification.models.fields import (
    HOST_MAX_LENGTH,
    ChallengeHostField,
    ListField,
    figure_field,
    limit_field,
    with_unit,
)
from verification.models.shared import SettingGroup

MAX_KNOWN_DAYS = 3_650  # days: by then most numbers have another owner
MAX_OBSERVE_DAYS = 3_650  # days: whoever wants longer has the mode "observe"
MAX_HOSTS = 100  # hosts and apps that a challenge's widget stands on


class GuardMode(models.TextChoices):
    OFF = "off", _("Off")
    OBSERVE = "observe", _("Observe only: record what would be refused")
    ENFORCE = "enforce", _("Enforce")


class ChallengeMode(models.TextChoices):
    OFF = "off", _("Off")
    ALWAYS = "always", _("Always")
    SUSPICION = "suspicion", _("On suspicion")


class ChallengeProvider(models.TextChoices):
    ALTCHA = "altcha", _("ALTCHA (proof of work, no external service)")
    TURNSTILE = "turnstile", _("Cloudflare Turnstile")
    HCAPTCHA = "hcaptcha", "hCaptcha"
    RECAPTCHA = "recaptcha", _("Google reCAPTCHA")


class TrafficGuard(SettingGroup):
    title = "Traffic guard"

    traffic_guard = models.CharField(
        _("traffic guard"),
        max_length=7,
        choices=GuardMode.choices,
        default=GuardMode.ENFORCE,
        help_text=_("Blocks SMS pumping."),
    )
    traffic_guard_manual = models.BooleanField(
        _("enforce for manual sends"),
        default=False,
        help_text=_("Also refuse manual sends, which are otherwise only observed."),
    )
    guard_prefix_numbers = limit_field(
        _("numbers with one prefix"),
        10,
        _("Maximum unverified numbers that differ only in the last 4 digits and get a code within the window."),
        unit=_("numbers"),
    )
    guard_prefix_minutes = figure_field(
        _("window for a prefix (minutes)"),
        10,
        _("Time window for numbers with one prefix."),
        most=24 * 60,
        unit=_("minutes"),
    )
    guard_country_sends = limit_field(
        _("minimum sends to a country"),
        30,
        _("SMS and calls to a country needed before its conversion is checked."),
        unit=_("messages"),
    )
    guard_country_percent = figure_field(
        _("minimum verified (%)"),
        20,
        _("Share of SMS and calls to a country that must be verified."),
        most=100,
        unit="%",
    )
    guard_country_minutes = figure_field(
        _("window for a country (minutes)"),
        60,
        _("Time window for a country's conversion."),
        most=24 * 60,
        unit=_("minutes"),
    )
    guard_country_day = with_unit(
        _("messages"),
        models.PositiveIntegerField(
            _("unverified sends to a country per day"),
            default=20,
            db_default=20,
            help_text=_("Above this, the minimum share of verified codes also applies to the whole day. 0 = off."),
        ),
    )
    guard_country_observe_days = figure_field(
        _("observation period for countries (days)"),
        7,
        _("Days after the project's creation during which no country is blocked for low conversion."),
        least=0,
        most=MAX_OBSERVE_DAYS,
        unit=_("days"),
    )
    guard_network_countries = limit_field(
        _("countries per client network"),
        3,
        _("Countries one client network may request codes for in a day while hardly any are verified."),
        unit=_("countries"),
    )
    guard_block_minutes = figure_field(
        _("first block (minutes)"),
        30,
        _("How long the first block lasts; each repeat doubles it."),
        most=7 * 24 * 60,
        unit=_("minutes"),
    )
    guard_block_max_minutes = figure_field(
        _("longest block (minutes)"),
        720,
        _("The longest a block can last."),
        most=7 * 24 * 60,
        unit=_("minutes"),
    )
    guard_quiet_hours = figure_field(
        _("first block again after (hours)"),
        24,
        _("Hours without a block after which the next one counts as the first again."),
        most=30 * 24,
        unit=_("hours"),
    )

    guard_known_days = with_unit(
        _("days"),
        models.PositiveIntegerField(
            _("days a number stays trusted"),
            default=90,
            db_default=90,
            validators=(MaxValueValidator(MAX_KNOWN_DAYS),),
            help_text=_(
                "A number confirmed by your server within this time is exempt from the rules on prefixes and"
                " countries. 0 = no exemption."
            ),
        ),
    )

    class Meta:
        abstract = True


class Guessing(SettingGroup):
    title = "Guessing"

    guess_minutes = figure_field(
        _("window for guessing (minutes)"),
        10,
        _("Time window of the code-guessing rules."),
        most=60,
        unit=_("minutes"),
    )
    guess_wrong_checks = limit_field(
        _("wrong codes"),
        200,
        _("Wrong codes in the project after which all callers are treated as suspicious."),
        unit=_("wrong codes"),
    )
    guess_wrong_percent = figure_field(
        _("wrong codes (%)"),
        60,
        _("Also required: share of code checks that are wrong."),
        most=100,
        unit="%",
    )
    guess_network_recipients = limit_field(
        _("recipients per network"),
        50,
        _(
            "Recipients for whom one client network may enter wrong codes before it is treated as "
            "suspicious. At twice as many, its code checks are refused."
        ),
        unit=_("recipients"),
    )
    guess_same_value_sessions = limit_field(
        _("sessions with the same guess"),
        20,
        _("Sessions in which the same wrong code may be tried before all callers are treated as suspicious."),
        unit=_("sessions"),
    )
    guess_assumed = limit_field(
        _("wrong codes that count as an attack"),
        30,
        _(
            "Wrong codes not followed by the correct one, from all client networks in 5 minutes. Above this,"
            " an attack is assumed."
        ),
        unit=_("wrong codes in 5 minutes"),
    )
    guess_heavy = figure_field(
        _("wrong codes that count as a heavy attack"),
        500,
        _("Same count; above this, a heavy attack is assumed."),
        most=1_000_000,
        unit=_("wrong codes in 5 minutes"),
    )
    guess_subnet_day = figure_field(
        _("wrong codes per subnet"),
        50,
        _("Wrong codes not followed by the correct one that a subnet may enter per day."),
        most=1_000_000,
        unit=_("wrong codes per day"),
    )
    guess_subnet_tries = figure_field(
        _("wrong codes per subnet under attack"),
        3,
        _("The same limit during an attack. During a heavy attack, it is one."),
        most=1_000,
        unit=_("wrong codes per day"),
    )

    class Meta:
        abstract = True


class Challenges(SettingGroup):
    title = "Challenges"

    challenge_mode = models.CharField(
        _("require a challenge"),
        max_length=9,
        choices=ChallengeMode.choices,
        default=ChallengeMode.OFF,
        help_text=_("Whether callers must prove they are human before a session is created or a code is sent."),
    )
    challenge_provider = models.CharField(
        _("provider"),
        max_length=9,
        choices=ChallengeProvider.choices,
        default=ChallengeProvider.ALTCHA,
        help_text=_("The challenge provider. ALTCHA is built in and needs no account."),
    )
    challenge_site_key = models.CharField(
        _("site key"),
        max_length=200,
        blank=True,
        help_text=_("The public key from the challenge provider. Not needed for ALTCHA."),
    )
    challenge_secret = models.BinaryField(
        _("secret"),
        null=True,
        editable=False,
        help_text=_("The secret key from the challenge provider. Not needed for ALTCHA."),
    )
    challenge_hosts = ListField(
        ChallengeHostField(max_length=HOST_MAX_LENGTH),
        verbose_name=_("hosts"),
        most=MAX_HOSTS,
        help_text=_(
            "Hosts allowed to show the widget, such as shop.example, or Android package names. Leave empty to"
            " use the origins' hosts."
        ),
    )
    challenge_min_score = with_unit(
        _("from 0 to 1"),
        models.FloatField(
            _("minimum score"),
            default=0.5,
            validators=(MinValueValidator(0), MaxValueValidator(1)),
            help_text=_("Minimum reCAPTCHA v3 score to pass, from 0 (bot) to 1 (human)."),
        ),
    )
    challenge_fails_open = models.BooleanField(
        _("allow when the provider is unreachable"),
        default=False,
        help_text=_(
            "Let callers through without a challenge while the provider does not respond. Otherwise they get HTTP 503."
        ),
    )

    class Meta:
        abstract = True
