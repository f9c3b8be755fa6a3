"""The settings of a project that protect it: the traffic guard, the rules on guessing, and challenges."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from verification.models.fields import HOST_MAX_LENGTH, ChallengeHostField, ListField, figure_field, limit_field
from verification.models.project_settings.group import SettingGroup

MAX_HOSTS = 100  # hosts and apps that a challenge's widget stands on


class GuardMode(models.TextChoices):
    OFF = "off", "Off"
    OBSERVE = "observe", "Observe: note what would be refused"
    ENFORCE = "enforce", "Enforce"


class ChallengeMode(models.TextChoices):
    OFF = "off", "Off"
    ALWAYS = "always", "Always"
    SUSPICION = "suspicion", "On suspicion"


class ChallengeProvider(models.TextChoices):
    ALTCHA = "altcha", "ALTCHA (proof of work, no outside service)"
    TURNSTILE = "turnstile", "Cloudflare Turnstile"
    HCAPTCHA = "hcaptcha", "hCaptcha"
    RECAPTCHA = "recaptcha", "Google reCAPTCHA"


class TrafficGuard(SettingGroup):
    title = "Traffic guard"

    traffic_guard = models.CharField(
        max_length=7,
        choices=GuardMode.choices,
        default=GuardMode.ENFORCE,
        help_text="Refuse SMS and calls that look like SMS pumping.",
    )
    traffic_guard_manual = models.BooleanField(
        "enforce for manual sends",
        default=False,
        help_text="Let the traffic guard refuse manual sends too, which it otherwise only observes.",
    )
    guard_prefix_numbers = limit_field(
        "numbers of one prefix",
        10,
        "Unverified numbers that differ only in their last 4 digits and get a code within the window.",
    )
    guard_prefix_minutes = figure_field(
        "minutes for a prefix", 10, "The window of the numbers of one prefix.", most=24 * 60
    )
    guard_country_sends = limit_field(
        "sends to a country", 30, "The least number of SMS and calls to a country for its conversion to be judged."
    )
    guard_country_percent = figure_field("percent verified", 20, "The share of them that must be verified.", most=100)
    guard_country_minutes = figure_field(
        "minutes for a country", 60, "The window of a country's conversion.", most=24 * 60
    )
    guard_block_minutes = figure_field(
        "first finding, minutes",
        30,
        "How long the first finding refuses its subject; each repeat doubles it.",
        most=7 * 24 * 60,
    )
    guard_block_max_minutes = figure_field(
        "longest finding, minutes", 720, "The longest that a finding refuses its subject.", most=7 * 24 * 60
    )
    guard_quiet_hours = figure_field(
        "quiet hours", 24, "Hours without a finding after which the next one counts as the first again.", most=30 * 24
    )

    class Meta:
        abstract = True


class Guessing(SettingGroup):
    title = "Guessing"

    guess_minutes = figure_field("minutes counted", 10, "The window of the rules on guessing.", most=60)
    guess_wrong_checks = limit_field(
        "wrong codes", 200, "Wrong codes in the project that make all its callers suspicious."
    )
    guess_wrong_percent = figure_field(
        "percent wrong", 60, "The share of all checks that must be wrong, too, for that.", most=100
    )
    guess_network_recipients = limit_field(
        "recipients of one network",
        50,
        "Recipients for whom one client network enters wrong codes; twice as many keep it from checking.",
    )
    guess_same_value_sessions = limit_field(
        "sessions with one guess", 20, "Sessions on which one and the same wrong code is tried."
    )
    guess_assumed = limit_field(
        "wrong codes of an attack",
        30,
        "Unsettled wrong codes of all client networks in 5 minutes, beyond which an attack is assumed.",
    )
    guess_heavy = figure_field(
        "wrong codes of a heavy attack",
        500,
        "Unsettled wrong codes in 5 minutes beyond which it is a heavy attack.",
        most=1_000_000,
    )
    guess_subnet_day = figure_field(
        "wrong codes of a subnet", 50, "Unsettled wrong codes that a subnet may enter in a day.", most=1_000_000
    )
    guess_subnet_tries = figure_field(
        "wrong codes of a subnet under attack",
        3,
        "The same during an attack; during a heavy one it is one.",
        most=1_000,
    )

    class Meta:
        abstract = True


class Challenges(SettingGroup):
    title = "Challenges"

    challenge_mode = models.CharField(
        "ask for a challenge",
        max_length=9,
        choices=ChallengeMode.choices,
        default=ChallengeMode.OFF,
        help_text="Whether a caller has to prove that they are no bot before a session is created or a code sent.",
    )
    challenge_provider = models.CharField(
        "provider",
        max_length=9,
        choices=ChallengeProvider.choices,
        default=ChallengeProvider.ALTCHA,
        help_text="Who makes and judges it. ALTCHA is ours and needs no account.",
    )
    challenge_site_key = models.CharField(
        "site key",
        max_length=200,
        blank=True,
        help_text="The public key of the account at the provider. ALTCHA needs none.",
    )
    challenge_secret = models.BinaryField(
        "secret",
        null=True,
        editable=False,
        help_text="The secret key of the account at the provider. ALTCHA needs none.",
    )
    challenge_hosts = ListField(
        ChallengeHostField(max_length=HOST_MAX_LENGTH),
        verbose_name="hosts",
        most=MAX_HOSTS,
        help_text="Host names that the provider's widget may stand on, such as shop.example, or names of Android"
        " packages. Empty means the hosts of the origins.",
    )
    challenge_min_score = models.FloatField(
        "least score",
        default=0.5,
        validators=(MinValueValidator(0), MaxValueValidator(1)),
        help_text="The least score of reCAPTCHA v3 that passes, from 0 (a bot) to 1 (a person).",
    )
    challenge_fails_open = models.BooleanField(
        "let in while it is away",
        default=False,
        help_text="Let callers in unchallenged while the provider does not answer. Otherwise they get a 503.",
    )

    class Meta:
        abstract = True
