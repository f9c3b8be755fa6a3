"""The settings of a project that protect it: the traffic guard, the rules on guessing, and challenges."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from verification.models.fields import HOST_MAX_LENGTH, ChallengeHostField, ListField, figure_field, limit_field
from verification.models.shared import SettingGroup

MAX_KNOWN_DAYS = 3_650  # days: by then most numbers have another owner
MAX_OBSERVE_DAYS = 3_650  # days: whoever wants longer has the mode "observe"
MAX_HOSTS = 100  # hosts and apps that a challenge's widget stands on


class GuardMode(models.TextChoices):
    OFF = "off", _("Off")
    OBSERVE = "observe", _("Observe: note what would be refused")
    ENFORCE = "enforce", _("Enforce")


class ChallengeMode(models.TextChoices):
    OFF = "off", _("Off")
    ALWAYS = "always", _("Always")
    SUSPICION = "suspicion", _("On suspicion")


class ChallengeProvider(models.TextChoices):
    ALTCHA = "altcha", _("ALTCHA (proof of work, no outside service)")
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
        help_text=_("Refuse SMS and calls that look like SMS pumping."),
    )
    traffic_guard_manual = models.BooleanField(
        _("enforce for manual sends"),
        default=False,
        help_text=_("Let the traffic guard refuse manual sends too, which it otherwise only observes."),
    )
    guard_prefix_numbers = limit_field(
        _("numbers of one prefix"),
        10,
        _("Unverified numbers that differ only in their last 4 digits and get a code within the window."),
    )
    guard_prefix_minutes = figure_field(
        _("minutes for a prefix"), 10, _("The window of the numbers of one prefix."), most=24 * 60
    )
    guard_country_sends = limit_field(
        _("sends to a country"),
        30,
        _("The least number of SMS and calls to a country for its conversion to be judged."),
    )
    guard_country_percent = figure_field(
        _("percent verified"), 20, _("The share of them that must be verified."), most=100
    )
    guard_country_minutes = figure_field(
        _("minutes for a country"), 60, _("The window of a country's conversion."), most=24 * 60
    )
    guard_country_day = models.PositiveIntegerField(
        _("unverified sends to a country in a day"),
        default=20,
        db_default=20,
        help_text=_("Beyond so many, the share that must be verified is asked of the whole day, too. 0: of no day."),
    )
    guard_country_observe_days = models.PositiveIntegerField(
        _("days that countries are only observed"),
        default=7,
        db_default=7,
        validators=(MaxValueValidator(MAX_OBSERVE_DAYS),),
        help_text=_("Days from the project's creation in which no country is refused for its conversion."),
    )
    guard_network_countries = models.PositiveIntegerField(
        _("countries of one network"),
        default=3,
        db_default=3,
        help_text=_(
            "Countries that one client network asks for in a day while hardly anything of it is verified. 0: any"
            " number."
        ),
    )
    guard_block_minutes = figure_field(
        _("first finding, minutes"),
        30,
        _("How long the first finding refuses its subject; each repeat doubles it."),
        most=7 * 24 * 60,
    )
    guard_block_max_minutes = figure_field(
        _("longest finding, minutes"), 720, _("The longest that a finding refuses its subject."), most=7 * 24 * 60
    )
    guard_quiet_hours = figure_field(
        _("quiet hours"),
        24,
        _("Hours without a finding after which the next one counts as the first again."),
        most=30 * 24,
    )

    guard_known_days = models.PositiveIntegerField(
        _("days that a number is known"),
        default=90,
        db_default=90,
        validators=(MaxValueValidator(MAX_KNOWN_DAYS),),
        help_text=_(
            "A number that your server verified within them passes the rules on prefixes and countries. 0: none does."
        ),
    )

    class Meta:
        abstract = True


class Guessing(SettingGroup):
    title = "Guessing"

    guess_minutes = figure_field(_("minutes counted"), 10, _("The window of the rules on guessing."), most=60)
    guess_wrong_checks = limit_field(
        _("wrong codes"), 200, _("Wrong codes in the project that make all its callers suspicious.")
    )
    guess_wrong_percent = figure_field(
        _("percent wrong"), 60, _("The share of all checks that must be wrong, too, for that."), most=100
    )
    guess_network_recipients = limit_field(
        _("recipients of one network"),
        50,
        _("Recipients for whom one client network enters wrong codes; twice as many keep it from checking."),
    )
    guess_same_value_sessions = limit_field(
        _("sessions with one guess"), 20, _("Sessions on which one and the same wrong code is tried.")
    )
    guess_assumed = limit_field(
        _("wrong codes of an attack"),
        30,
        _("Unsettled wrong codes of all client networks in 5 minutes, beyond which an attack is assumed."),
    )
    guess_heavy = figure_field(
        _("wrong codes of a heavy attack"),
        500,
        _("Unsettled wrong codes in 5 minutes beyond which it is a heavy attack."),
        most=1_000_000,
    )
    guess_subnet_day = figure_field(
        _("wrong codes of a subnet"), 50, _("Unsettled wrong codes that a subnet may enter in a day."), most=1_000_000
    )
    guess_subnet_tries = figure_field(
        _("wrong codes of a subnet under attack"),
        3,
        _("The same during an attack; during a heavy one it is one."),
        most=1_000,
    )

    class Meta:
        abstract = True


class Challenges(SettingGroup):
    title = "Challenges"

    challenge_mode = models.CharField(
        _("ask for a challenge"),
        max_length=9,
        choices=ChallengeMode.choices,
        default=ChallengeMode.OFF,
        help_text=_("Whether a caller has to prove that they are no bot before a session is created or a code sent."),
    )
    challenge_provider = models.CharField(
        _("provider"),
        max_length=9,
        choices=ChallengeProvider.choices,
        default=ChallengeProvider.ALTCHA,
        help_text=_("Who makes and judges it. ALTCHA is ours and needs no account."),
    )
    challenge_site_key = models.CharField(
        _("site key"),
        max_length=200,
        blank=True,
        help_text=_("The public key of the account at the provider. ALTCHA needs none."),
    )
    challenge_secret = models.BinaryField(
        _("secret"),
        null=True,
        editable=False,
        help_text=_("The secret key of the account at the provider. ALTCHA needs none."),
    )
    challenge_hosts = ListField(
        ChallengeHostField(max_length=HOST_MAX_LENGTH),
        verbose_name=_("hosts"),
        most=MAX_HOSTS,
        help_text=_(
            "Host names that the provider's widget may stand on, such as shop.example, or names of Android"
            " packages. Empty means the hosts of the origins."
        ),
    )
    challenge_min_score = models.FloatField(
        _("least score"),
        default=0.5,
        validators=(MinValueValidator(0), MaxValueValidator(1)),
        help_text=_("The least score of reCAPTCHA v3 that passes, from 0 (a bot) to 1 (a person)."),
    )
    challenge_fails_open = models.BooleanField(
        _("let in while it is away"),
        default=False,
        help_text=_("Let callers in unchallenged while the provider does not answer. Otherwise they get a 503."),
    )

    class Meta:
        abstract = True
