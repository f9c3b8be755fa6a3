"""A customer: its project with every default and limit, and its members."""

import re
import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.validators import ArrayMaxLengthValidator
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from verification.models.channels import ChannelType

# Controls, ends of lines, and marks that turn the direction of what follows.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
CODE_LENGTHS = ((4, "4"), (6, "6"))
# Every process reads these lists again each second, and a request is compared with some of them.
MAX_ORIGINS = 100  # of the web sites and apps of one customer
MAX_LANGUAGES = 100  # there are texts in 24
MAX_SERVERS = 100  # addresses, and networks, of one customer's own machines
MAX_COUNTRIES = 300  # more than there are
MAX_HOSTS = 100  # that a challenge's widget stands on
MAX_ALERT_EMAILS = 20  # the operator's mail server sends to whatever the owner names
ORIGIN_MAX_LENGTH = 255
URL_MAX_LENGTH = 2048
NETWORK_MAX_LENGTH = 43  # the longest writing of an IPv6 network
LANGUAGE_MAX_LENGTH = 35  # RFC 5646 asks for room for 35 characters


def limit_field(default: int, help_text: str) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(default=default, help_text=f"{help_text} 0 switches the limit off.")


def figure_field(default: int, help_text: str, *, most: int) -> "models.PositiveIntegerField[int, int]":
    """A figure that is never off: 1 to ``most``."""
    return models.PositiveIntegerField(
        default=default, validators=(MinValueValidator(1), MaxValueValidator(most)), help_text=help_text
    )


class GuardMode(models.TextChoices):
    OFF = "off", "Off"
    OBSERVE = "observe", "Observe: note what would be refused"
    ENFORCE = "enforce", "Enforce"


class RetentionMode(models.TextChoices):
    REMOVE = "remove", "Remove the rows"
    HASH = "hash", "Keep the rows, hash the addresses"


class ChallengeMode(models.TextChoices):
    OFF = "off", "Off"
    ALWAYS = "always", "Always"
    SUSPICION = "suspicion", "On suspicion"


class ChallengeProvider(models.TextChoices):
    ALTCHA = "altcha", "ALTCHA (proof of work, no outside service)"
    TURNSTILE = "turnstile", "Cloudflare Turnstile"
    HCAPTCHA = "hcaptcha", "hCaptcha"
    RECAPTCHA = "recaptcha", "Google reCAPTCHA"


class Project(models.Model):
    """One tenant. Its fields are the defaults and limits that the panel and ``setproject`` set."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=100, help_text="Messages carry it.")
    is_enabled = models.BooleanField(
        default=True, help_text="A disabled project's keys answer 401 and nothing of it is sent."
    )
    site_url = models.URLField(blank=True, help_text="Where a channel without a link of its own points.")
    origins = ArrayField(
        models.CharField(max_length=ORIGIN_MAX_LENGTH),
        validators=(ArrayMaxLengthValidator(MAX_ORIGINS),),
        default=list,
        blank=True,
        help_text="Browser origins that may call the session endpoints, e.g. https://app.example.com.",
    )
    languages = ArrayField(
        models.CharField(max_length=LANGUAGE_MAX_LENGTH),
        validators=(ArrayMaxLengthValidator(MAX_LANGUAGES),),
        default=list,
        blank=True,
        help_text="Languages offered to Accept-Language. Empty means every language there is a text in.",
    )
    language = models.CharField(
        max_length=LANGUAGE_MAX_LENGTH, default="en", help_text="The language where nothing else is known."
    )

    code_length = models.PositiveSmallIntegerField(
        choices=CODE_LENGTHS,
        default=6,
        help_text="6 is the safe choice: a code of 4 is guessed a hundred times as easily.",
    )
    code_digits = models.BooleanField(default=True, help_text="Codes have digits.")
    code_letters = models.BooleanField(
        default=False, help_text="Codes have letters, without look-alikes. At least one of the two must be on."
    )
    new_code_on_send = models.BooleanField(
        default=False,
        help_text="Draw a new code for every send of a session instead of sending the same one.",
    )

    default_phone_channel = models.CharField(
        max_length=20,
        choices=ChannelType.phone_choices(),
        default=ChannelType.SMS,
        help_text="What a code for a phone number goes out over where the caller names no channel.",
    )
    default_email_channel = models.CharField(
        max_length=20,
        choices=ChannelType.email_choices(),
        default=ChannelType.EMAIL,
        help_text="The same for an e-mail address.",
    )
    allow_voip = models.BooleanField(
        default=False,
        help_text="Send SMS to VoIP and personal numbers too (they are easy to get by the thousand).",
    )
    test_logins_enabled = models.BooleanField(default=True, help_text="One switch for all test logins.")

    code_in_subject = models.BooleanField(
        default=False, help_text="Put the code into the subject of e-mails, where notifications show it."
    )
    web_otp_domain = models.CharField(
        max_length=253,
        blank=True,
        help_text="Ends SMS with @domain #code, which browsers and iOS fill in by themselves.",
    )
    android_hash = models.CharField(
        max_length=11, blank=True, help_text="The 11 characters by which Android hands SMS to your app."
    )

    sends_per_10_minutes = limit_field(5, "Messages to one recipient in 10 minutes.")
    sends_per_hour = limit_field(10, "Messages to one recipient in an hour.")
    sends_per_day = limit_field(20, "Messages to one recipient in a day.")
    wrong_codes_per_15_minutes = limit_field(
        10, "Wrong codes for one recipient in 15 minutes (half of that for codes of 4)."
    )
    wrong_codes_per_day = limit_field(20, "Wrong codes for one recipient in a day (half of that for codes of 4).")
    creates_per_address = limit_field(300, "Session creates from one client address in 10 minutes.")
    requests_per_second = limit_field(200, "Session creates and manual sends of the project in a second.")
    server_addresses = ArrayField(
        models.GenericIPAddressField(),
        validators=(ArrayMaxLengthValidator(MAX_SERVERS),),
        default=list,
        blank=True,
        help_text="Addresses of the customer's own servers, which the limit per client address leaves alone.",
    )
    countries = ArrayField(
        models.CharField(max_length=2),
        validators=(ArrayMaxLengthValidator(MAX_COUNTRIES),),
        default=list,
        blank=True,
        help_text="ISO regions that phone numbers may be of, such as DE. Empty means every country.",
    )
    alert_emails = ArrayField(
        models.EmailField(),
        default=list,
        blank=True,
        help_text="Who is mailed of blocks, spent budgets and the like. Empty means the project's members.",
    )
    alert_url = models.URLField(
        max_length=URL_MAX_LENGTH,
        blank=True,
        help_text="Called with each alert, signed as callbacks are. https only.",
    )
    secret_key_networks = ArrayField(
        models.CharField(max_length=NETWORK_MAX_LENGTH),
        validators=(ArrayMaxLengthValidator(MAX_SERVERS),),
        default=list,
        blank=True,
        help_text="Networks from which the secret keys are taken, e.g. 203.0.113.0/24. Empty means from anywhere.",
    )

    traffic_guard = models.CharField(
        max_length=7,
        choices=GuardMode.choices,
        default=GuardMode.ENFORCE,
        help_text="Refuse SMS and calls that look like SMS pumping.",
    )
    traffic_guard_manual = models.BooleanField(
        default=False, help_text="Let the traffic guard refuse manual sends too, which it otherwise only observes."
    )
    guard_prefix_numbers = limit_field(
        10, "Unverified numbers, all alike but for their last 4 digits, that get a code within the window."
    )
    guard_prefix_minutes = figure_field(10, "The window of the numbers of one prefix.", most=24 * 60)
    guard_country_sends = limit_field(30, "SMS and calls to a country from which on its conversion is judged.")
    guard_country_percent = figure_field(20, "The share of them that must be verified.", most=100)
    guard_country_minutes = figure_field(60, "The window of a country's conversion.", most=24 * 60)
    guard_block_minutes = figure_field(30, "How long the first block lasts; each repeat doubles it.", most=7 * 24 * 60)
    guard_block_max_minutes = figure_field(720, "How long a block lasts at most.", most=7 * 24 * 60)
    guard_quiet_hours = figure_field(24, "So long after a block's end the next one is a first one.", most=30 * 24)
    guess_minutes = figure_field(10, "The window of the alarms on guessing.", most=60)
    guess_wrong_checks = limit_field(200, "Wrong codes in the project that raise an alarm.")
    guess_wrong_percent = figure_field(60, "The share of all checks that they must exceed for it.", most=100)
    guess_network_recipients = limit_field(
        50, "Recipients for whom one client network enters wrong codes; twice as many keep it from checking."
    )
    guess_same_value_sessions = limit_field(20, "Sessions on which one and the same wrong code is tried.")
    guess_assumed = limit_field(
        30, "Wrong codes of all client networks in 5 minutes, unsettled and unexplained, that are taken for an attack."
    )
    guess_heavy = figure_field(500, "So many of them are a heavy attack.", most=1_000_000)
    guess_subnet_day = figure_field(50, "Unsettled wrong codes that a subnet may enter in a day.", most=1_000_000)
    guess_subnet_tries = figure_field(3, "The same under attack; under a heavy one it is a single one.", most=1_000)
    retention_days = models.PositiveIntegerField(
        default=30,
        validators=[MinValueValidator(1)],
        help_text="Days after which sessions, messages and recipients of whom nothing is left go.",
    )
    retention_mode = models.CharField(
        max_length=6,
        choices=RetentionMode.choices,
        default=RetentionMode.REMOVE,
        help_text="What becomes of them then.",
    )

    challenge_mode = models.CharField(
        max_length=9,
        choices=ChallengeMode.choices,
        default=ChallengeMode.OFF,
        help_text="Whether a caller has to prove that they are no bot before a session is created or a code sent.",
    )
    challenge_provider = models.CharField(
        max_length=9,
        choices=ChallengeProvider.choices,
        default=ChallengeProvider.ALTCHA,
        help_text="Who makes and judges it. ALTCHA is ours and needs no account.",
    )
    challenge_site_key = models.CharField(
        max_length=200, blank=True, help_text="The public key of the account at the provider. ALTCHA needs none."
    )
    challenge_secret = models.BinaryField(
        null=True, editable=False, help_text="The secret key of the account at the provider. ALTCHA needs none."
    )
    challenge_hosts = ArrayField(
        models.CharField(max_length=253),
        validators=(ArrayMaxLengthValidator(MAX_HOSTS),),
        default=list,
        blank=True,
        help_text="Host names that the provider's widget may stand on, or names of Android packages. "
        "Empty means the hosts of the origins.",
    )
    challenge_min_score = models.FloatField(
        default=0.5,
        validators=(MinValueValidator(0), MaxValueValidator(1)),
        help_text="The least score of reCAPTCHA v3 that passes, from 0 (a bot) to 1 (a person).",
    )
    challenge_fails_open = models.BooleanField(
        default=False,
        help_text="Let callers in unchallenged while the provider does not answer. Otherwise they get a 503.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    deleted_at = models.DateTimeField(
        null=True, editable=False, help_text="Since when it is gone for everybody but the worker that removes its rows."
    )
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="projects")

    class Meta:
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(
                name="project_deleted_is_disabled", condition=Q(deleted_at=None) | Q(is_enabled=False)
            ),
            models.CheckConstraint(name="project_retention_days", condition=Q(retention_days__gte=1)),
            models.CheckConstraint(name="project_code_length", condition=Q(code_length__in=(4, 6))),
            models.CheckConstraint(name="project_code_alphabet", condition=Q(code_digits=True) | Q(code_letters=True)),
            models.CheckConstraint(name="project_challenge_mode", condition=Q(challenge_mode__in=ChallengeMode.values)),
            models.CheckConstraint(
                name="project_challenge_has_keys",
                condition=Q(challenge_mode=ChallengeMode.OFF)
                | Q(challenge_provider=ChallengeProvider.ALTCHA)
                | (~Q(challenge_site_key="") & Q(challenge_secret__isnull=False)),
            ),
        )

    def clean(self) -> None:
        """The name goes into subjects and texts, and so is one line of what can be read; commands take it or the id."""
        if _INVISIBLE.search(self.name):
            raise ValidationError({"name": "The name may hold no control characters."})
        if self.name.isdigit():
            raise ValidationError({"name": "A name of digits alone would be taken for the id of a project."})
        if len(self.alert_emails) > MAX_ALERT_EMAILS:
            raise ValidationError({"alert_emails": f"Alerts are mailed to at most {MAX_ALERT_EMAILS} addresses."})

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user of the panel who runs a project."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    sees_addresses = models.BooleanField(
        default=False, help_text="May show a recipient's whole address, one at a time and on record."
    )

    class Meta:
        constraints = (models.UniqueConstraint(name="membership_once", fields=("project", "user")),)

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"
