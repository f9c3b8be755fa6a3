"""All tables of the first release, in one step.

A database with every step that this one replaces needs nothing; it goes on with the next migration.
"""

import datetime
import uuid
from decimal import Decimal

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.contrib.postgres.validators
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import verification.models.events
import verification.models.messages

# On a machine of one's own, where many a project tries the same number, SMS to it are not limited.
SMS_PER_RECIPIENT_A_DAY = 15
TABLES_OF_IDS = ("verification_session", "verification_verifytoken")


def leave_out_indexes_for_like(apps, schema_editor):
    """Drop from what Django is about to make the indexes for the beginning of an id, which nobody asks for.

    Django makes one for every unique text, and each costs every verification a write.
    """
    schema_editor.deferred_sql[:] = [
        statement
        for statement in schema_editor.deferred_sql
        if not ("_pattern_ops" in str(statement) and any(f'"{table}"' in str(statement) for table in TABLES_OF_IDS))
    ]


def make_platform_row(apps, schema_editor):
    limit = 0 if settings.IS_EMBEDDED else SMS_PER_RECIPIENT_A_DAY
    apps.get_model("verification", "Platform").objects.get_or_create(pk=1, defaults={"sms_per_recipient_a_day": limit})


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("verification", "0001_tables"),
        ("verification", "0030_figures_that_last"),
        ("verification", "0031_why_a_provider_was_asked"),
        ("verification", "0032_prices"),
        ("verification", "0033_choice_of_providers"),
        ("verification", "0034_refusals_by_subject"),
        ("verification", "0035_text_variants"),
        ("verification", "0036_scorecards"),
        ("verification", "0037_hot_rows_without_checks"),
        ("verification", "0038_roles"),
        ("verification", "0039_first_use"),
        ("verification", "0040_test_projects"),
        ("verification", "0041_balances_and_cost_budgets"),
        ("verification", "0042_alert_services"),
        ("verification", "0043_people"),
        ("verification", "0044_hosted_pages"),
        ("verification", "0045_security_keys"),
        ("verification", "0046_twilio_endpoints"),
        ("verification", "0047_webhook_events"),
        ("verification", "0048_fewer_scans"),
        ("verification", "0049_messages_of_a_deleted_provider"),
    ]

    dependencies = [
        ("sessions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Provider",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("type", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=80)),
                ("is_enabled", models.BooleanField(default=True)),
                ("priority", models.PositiveIntegerField(default=100, help_text="The lowest number is tried first.")),
                (
                    "weight",
                    models.PositiveSmallIntegerField(
                        default=1,
                        help_text="Its share among those of the same priority: weight 3 comes first three times as often as 1.",
                    ),
                ),
                (
                    "only_prefixes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        blank=True,
                        default=list,
                        help_text="Such as +49, +43. Empty means every number.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(200)],
                        verbose_name="only numbers that begin with",
                    ),
                ),
                (
                    "except_prefixes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        blank=True,
                        default=list,
                        help_text="Such as +1900.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(200)],
                        verbose_name="never numbers that begin with",
                    ),
                ),
                (
                    "failed_costs",
                    models.CharField(
                        choices=[("price", "Its full price"), ("nothing", "Nothing")],
                        default="price",
                        help_text="Whether the vendor charges for a message that it accepted and then reports as not delivered.",
                        max_length=7,
                        verbose_name="a failed message costs",
                    ),
                ),
                (
                    "price_list",
                    models.PositiveIntegerField(
                        default=0,
                        editable=False,
                        help_text="How often its prices were replaced: a new number, and they are read anew.",
                    ),
                ),
                ("settings", models.JSONField(blank=True, default=dict)),
                ("secrets", models.BinaryField(null=True)),
                ("hook_secret", models.BinaryField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "checked_at",
                    models.DateTimeField(
                        editable=False, help_text="When a check of its settings last found them good.", null=True
                    ),
                ),
            ],
            options={
                "ordering": ("priority", "id"),
            },
        ),
        migrations.CreateModel(
            name="KillSwitch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "subject",
                    models.CharField(
                        choices=[
                            ("all", "All sending"),
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                        unique=True,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("since", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name_plural": "kill switches",
            },
        ),
        migrations.CreateModel(
            name="NumberArea",
            fields=[
                ("area", models.CharField(max_length=9, primary_key=True, serialize=False)),
                ("country", models.CharField(blank=True, max_length=3)),
                ("noted_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "traffic_guard",
                    models.CharField(
                        choices=[
                            ("off", "Off"),
                            ("observe", "Observe: note what would be refused"),
                            ("enforce", "Enforce"),
                        ],
                        default="enforce",
                        help_text="Refuse SMS and calls that look like SMS pumping.",
                        max_length=7,
                    ),
                ),
                (
                    "traffic_guard_manual",
                    models.BooleanField(
                        default=False,
                        help_text="Let the traffic guard refuse manual sends too, which it otherwise only observes.",
                        verbose_name="enforce for manual sends",
                    ),
                ),
                (
                    "guard_prefix_numbers",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="Unverified numbers that differ only in their last 4 digits and get a code within the window. 0 switches the limit off.",
                        verbose_name="numbers of one prefix",
                    ),
                ),
                (
                    "guard_prefix_minutes",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="The window of the numbers of one prefix.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1440),
                        ],
                        verbose_name="minutes for a prefix",
                    ),
                ),
                (
                    "guard_country_sends",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="The least number of SMS and calls to a country for its conversion to be judged. 0 switches the limit off.",
                        verbose_name="sends to a country",
                    ),
                ),
                (
                    "guard_country_percent",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="The share of them that must be verified.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="percent verified",
                    ),
                ),
                (
                    "guard_country_minutes",
                    models.PositiveIntegerField(
                        default=60,
                        help_text="The window of a country's conversion.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1440),
                        ],
                        verbose_name="minutes for a country",
                    ),
                ),
                (
                    "guard_block_minutes",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="How long the first finding refuses its subject; each repeat doubles it.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10080),
                        ],
                        verbose_name="first finding, minutes",
                    ),
                ),
                (
                    "guard_block_max_minutes",
                    models.PositiveIntegerField(
                        default=720,
                        help_text="The longest that a finding refuses its subject.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10080),
                        ],
                        verbose_name="longest finding, minutes",
                    ),
                ),
                (
                    "guard_quiet_hours",
                    models.PositiveIntegerField(
                        default=24,
                        help_text="Hours without a finding after which the next one counts as the first again.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(720),
                        ],
                        verbose_name="quiet hours",
                    ),
                ),
                (
                    "guess_minutes",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="The window of the rules on guessing.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(60),
                        ],
                        verbose_name="minutes counted",
                    ),
                ),
                (
                    "guess_wrong_checks",
                    models.PositiveIntegerField(
                        default=200,
                        help_text="Wrong codes in the project that make all its callers suspicious. 0 switches the limit off.",
                        verbose_name="wrong codes",
                    ),
                ),
                (
                    "guess_wrong_percent",
                    models.PositiveIntegerField(
                        default=60,
                        help_text="The share of all checks that must be wrong, too, for that.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="percent wrong",
                    ),
                ),
                (
                    "guess_network_recipients",
                    models.PositiveIntegerField(
                        default=50,
                        help_text="Recipients for whom one client network enters wrong codes; twice as many keep it from checking. 0 switches the limit off.",
                        verbose_name="recipients of one network",
                    ),
                ),
                (
                    "guess_same_value_sessions",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="Sessions on which one and the same wrong code is tried. 0 switches the limit off.",
                        verbose_name="sessions with one guess",
                    ),
                ),
                (
                    "guess_assumed",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="Unsettled wrong codes of all client networks in 5 minutes, beyond which an attack is assumed. 0 switches the limit off.",
                        verbose_name="wrong codes of an attack",
                    ),
                ),
                (
                    "guess_heavy",
                    models.PositiveIntegerField(
                        default=500,
                        help_text="Unsettled wrong codes in 5 minutes beyond which it is a heavy attack.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000000),
                        ],
                        verbose_name="wrong codes of a heavy attack",
                    ),
                ),
                (
                    "guess_subnet_day",
                    models.PositiveIntegerField(
                        default=50,
                        help_text="Unsettled wrong codes that a subnet may enter in a day.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000000),
                        ],
                        verbose_name="wrong codes of a subnet",
                    ),
                ),
                (
                    "guess_subnet_tries",
                    models.PositiveIntegerField(
                        default=3,
                        help_text="The same during an attack; during a heavy one it is one.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="wrong codes of a subnet under attack",
                    ),
                ),
                (
                    "challenge_mode",
                    models.CharField(
                        choices=[("off", "Off"), ("always", "Always"), ("suspicion", "On suspicion")],
                        default="off",
                        help_text="Whether a caller has to prove that they are no bot before a session is created or a code sent.",
                        max_length=9,
                        verbose_name="ask for a challenge",
                    ),
                ),
                (
                    "challenge_provider",
                    models.CharField(
                        choices=[
                            ("altcha", "ALTCHA (proof of work, no outside service)"),
                            ("turnstile", "Cloudflare Turnstile"),
                            ("hcaptcha", "hCaptcha"),
                            ("recaptcha", "Google reCAPTCHA"),
                        ],
                        default="altcha",
                        help_text="Who makes and judges it. ALTCHA is ours and needs no account.",
                        max_length=9,
                        verbose_name="provider",
                    ),
                ),
                (
                    "challenge_site_key",
                    models.CharField(
                        blank=True,
                        help_text="The public key of the account at the provider. ALTCHA needs none.",
                        max_length=200,
                        verbose_name="site key",
                    ),
                ),
                (
                    "challenge_secret",
                    models.BinaryField(
                        help_text="The secret key of the account at the provider. ALTCHA needs none.",
                        null=True,
                        verbose_name="secret",
                    ),
                ),
                (
                    "challenge_hosts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253),
                        blank=True,
                        default=list,
                        help_text="Host names that the provider's widget may stand on, such as shop.example, or names of Android packages. Empty means the hosts of the origins.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(100)],
                        verbose_name="hosts",
                    ),
                ),
                (
                    "challenge_min_score",
                    models.FloatField(
                        default=0.5,
                        help_text="The least score of reCAPTCHA v3 that passes, from 0 (a bot) to 1 (a person).",
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                        verbose_name="least score",
                    ),
                ),
                (
                    "challenge_fails_open",
                    models.BooleanField(
                        default=False,
                        help_text="Let callers in unchallenged while the provider does not answer. Otherwise they get a 503.",
                        verbose_name="let in while it is away",
                    ),
                ),
                ("name", models.CharField(help_text="The name that messages and the panel show.", max_length=100)),
                (
                    "is_enabled",
                    models.BooleanField(
                        default=True,
                        help_text="The keys of a disabled project answer 401, and it sends nothing.",
                        verbose_name="enabled",
                    ),
                ),
                (
                    "is_sandbox",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Sends nothing: recipients of the sandbox have known outcomes and one known code. Only before the project's first session or message.",
                        verbose_name="test project",
                    ),
                ),
                (
                    "site_url",
                    models.URLField(
                        blank=True, help_text="The link of a channel that has none of its own.", verbose_name="site"
                    ),
                ),
                (
                    "code_length",
                    models.PositiveSmallIntegerField(
                        choices=[(4, "4"), (6, "6")],
                        default=6,
                        help_text="6 is the safe choice: a code of 4 is guessed a hundred times as easily.",
                        verbose_name="length",
                    ),
                ),
                (
                    "code_digits",
                    models.BooleanField(default=True, help_text="Codes have digits.", verbose_name="digits"),
                ),
                (
                    "code_letters",
                    models.BooleanField(
                        default=False,
                        help_text="Codes have letters, without look-alikes such as 0 and O. At least one of the two must be on.",
                        verbose_name="letters",
                    ),
                ),
                (
                    "new_code_on_send",
                    models.BooleanField(
                        default=False,
                        help_text="Draw a new code for every send of a session instead of sending the same one.",
                        verbose_name="new code on every send",
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        default="en",
                        help_text="The language where nothing else is known.",
                        max_length=35,
                        verbose_name="default language",
                    ),
                ),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=35),
                        blank=True,
                        default=list,
                        help_text="Languages that a caller's Accept-Language may choose, such as en or pt-BR. Empty means every language with a text.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(100)],
                    ),
                ),
                (
                    "code_in_subject",
                    models.BooleanField(
                        default=False,
                        help_text="Put the code into the subject of e-mails, where notifications show it.",
                        verbose_name="code in the subject",
                    ),
                ),
                (
                    "web_otp_domain",
                    models.CharField(
                        blank=True,
                        help_text="Such as shop.example. SMS then end with @shop.example #123456, and browsers and iOS fill in the code by themselves.",
                        max_length=253,
                        verbose_name="domain for filling in",
                    ),
                ),
                (
                    "android_hash",
                    models.CharField(
                        blank=True,
                        help_text="The 11 characters by which Android hands SMS to your app, such as FA+9qCX9VSu.",
                        max_length=11,
                        verbose_name="Android app hash",
                    ),
                ),
                (
                    "default_phone_channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        default="sms",
                        help_text="What a code for a phone number goes out over where the caller names no channel.",
                        max_length=20,
                        verbose_name="default for phone numbers",
                    ),
                ),
                (
                    "default_email_channel",
                    models.CharField(
                        choices=[("email", "E-mail")],
                        default="email",
                        help_text="The same for an e-mail address.",
                        max_length=20,
                        verbose_name="default for e-mail addresses",
                    ),
                ),
                (
                    "countries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2),
                        blank=True,
                        default=list,
                        help_text="Where phone numbers may be from, two letters each, such as DE. Empty means every country.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(300)],
                    ),
                ),
                (
                    "allow_voip",
                    models.BooleanField(
                        default=False,
                        help_text="Send SMS to VoIP and personal numbers too (they are easy to get by the thousand).",
                        verbose_name="allow VoIP numbers",
                    ),
                ),
                (
                    "sends_per_10_minutes",
                    models.PositiveIntegerField(
                        default=5,
                        help_text="Messages to one recipient in 10 minutes. 0 switches the limit off.",
                        verbose_name="sends in 10 minutes",
                    ),
                ),
                (
                    "sends_per_hour",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="Messages to one recipient in an hour. 0 switches the limit off.",
                        verbose_name="sends an hour",
                    ),
                ),
                (
                    "sends_per_day",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="Messages to one recipient in a day. 0 switches the limit off.",
                        verbose_name="sends a day",
                    ),
                ),
                (
                    "wrong_codes_per_15_minutes",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="Wrong codes for one recipient in 15 minutes (half of that for codes of 4). 0 switches the limit off.",
                        verbose_name="wrong codes in 15 minutes",
                    ),
                ),
                (
                    "wrong_codes_per_day",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="Wrong codes for one recipient in a day (half of that for codes of 4). 0 switches the limit off.",
                        verbose_name="wrong codes a day",
                    ),
                ),
                (
                    "creates_per_address",
                    models.PositiveIntegerField(
                        default=300,
                        help_text="Session creates from one client address in 10 minutes. 0 switches the limit off.",
                        verbose_name="creates per client address",
                    ),
                ),
                (
                    "server_addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.GenericIPAddressField(),
                        blank=True,
                        default=list,
                        help_text="IP addresses of the customer's own servers. The limit per client address leaves them alone.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(100)],
                    ),
                ),
                (
                    "requests_per_second",
                    models.PositiveIntegerField(
                        default=200,
                        help_text="Session creates and manual sends of the project in a second. 0 switches the limit off.",
                        verbose_name="requests a second",
                    ),
                ),
                (
                    "origins",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255),
                        blank=True,
                        default=list,
                        help_text="Browser origins that may call the session endpoints, such as https://app.example.com.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(100)],
                    ),
                ),
                (
                    "secret_key_networks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43),
                        blank=True,
                        default=list,
                        help_text="Networks of your servers, such as 203.0.113.0/24. Secret keys are taken from nowhere else. Empty means from anywhere.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(100)],
                        verbose_name="secret keys only from",
                    ),
                ),
                (
                    "test_logins_enabled",
                    models.BooleanField(
                        default=True, help_text="One switch for all test logins.", verbose_name="test logins"
                    ),
                ),
                (
                    "twilio_endpoints",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Serve the paths of Twilio Verify v2 to the project's secret keys, for servers that were written for Twilio.",
                        verbose_name="Twilio Verify endpoints",
                    ),
                ),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("session.opened", "Session opened"),
                                ("session.verified", "Session verified"),
                                ("session.locked", "Session locked"),
                                ("session.expired", "Session expired"),
                                ("session.refused", "Session refused"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="What your server is told of sessions: session.opened, session.verified, session.locked, session.expired, session.refused. Empty means nothing.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(5)],
                    ),
                ),
                (
                    "event_url",
                    models.URLField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="An https address that is called with each of these events, signed like a callback.",
                        max_length=2048,
                        verbose_name="call with events",
                    ),
                ),
                (
                    "event_recipients",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Events name the whole phone number or e-mail address. Otherwise they show a part of it.",
                        verbose_name="whole recipients",
                    ),
                ),
                (
                    "alert_emails",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.EmailField(max_length=254),
                        blank=True,
                        default=list,
                        help_text="Who gets a mail about findings, spent budgets and the like. Empty means the project's members.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(20)],
                        verbose_name="mail alerts to",
                    ),
                ),
                (
                    "alert_url",
                    models.URLField(
                        blank=True,
                        help_text="An https address that is called with each alert, signed like a callback.",
                        max_length=2048,
                        verbose_name="call with alerts",
                    ),
                ),
                (
                    "balance_alert_days",
                    models.PositiveSmallIntegerField(
                        default=7,
                        help_text="Days: an alert tells when a provider's balance would be used up sooner, at the last week's rate. 0 is no alert.",
                        validators=[django.core.validators.MaxValueValidator(90)],
                        verbose_name="balance lasts less than",
                    ),
                ),
                (
                    "alert_quiet_hours",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Such as 22:00-07:00. Mails and chats then wait until they end, but for a channel over which nothing gets out. The call goes at once.",
                        max_length=11,
                        verbose_name="quiet hours",
                    ),
                ),
                (
                    "alert_time_zone",
                    models.CharField(
                        default="UTC",
                        help_text="Of quiet hours and the digest, such as Europe/Berlin.",
                        max_length=40,
                        verbose_name="time zone",
                    ),
                ),
                (
                    "alert_digest",
                    models.BooleanField(
                        default=False,
                        help_text="On Monday from 9: verified users, conversion, cost and the worst provider of the last week.",
                        verbose_name="weekly digest",
                    ),
                ),
                (
                    "retention_days",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="Days after which old sessions and messages are removed, and recipients with none left.",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "retention_mode",
                    models.CharField(
                        choices=[("remove", "Remove the rows"), ("hash", "Keep the rows, hash the addresses")],
                        default="remove",
                        help_text="Remove old rows, or keep them with a hash in place of the address.",
                        max_length=6,
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "deleted_at",
                    models.DateTimeField(
                        editable=False,
                        help_text="Since when it is gone for everybody but the worker that removes its rows.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="SpentForm",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("spent_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name="Upkeep",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("host", models.CharField(max_length=255)),
                ("pid", models.PositiveIntegerField()),
                ("version", models.CharField(max_length=40)),
                ("threads", models.PositiveIntegerField()),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20),
                        help_text="What it works on: messages, connections.",
                        size=None,
                    ),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("api", "API key"), ("secret", "Secret key")], max_length=6)),
                ("prefix", models.CharField(editable=False, max_length=20)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "last_used_at",
                    models.DateTimeField(blank=True, editable=False, help_text="To the minute.", null=True),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "key",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="BrowserLogin",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="sessions.session",
                    ),
                ),
                (
                    "number",
                    models.UUIDField(default=uuid.uuid4, editable=False, help_text="Names it in forms.", unique=True),
                ),
                ("browser", models.CharField(max_length=60)),
                (
                    "network",
                    models.CharField(
                        help_text="The client's network, without the part that names the device.", max_length=60
                    ),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CircuitBreaker",
            fields=[
                (
                    "provider",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="breaker",
                        serialize=False,
                        to="verification.provider",
                    ),
                ),
                ("opened_at", models.DateTimeField(null=True)),
                ("open_until", models.DateTimeField(null=True)),
                (
                    "openings",
                    models.PositiveIntegerField(default=0, help_text="How often in a row; each opening lasts longer."),
                ),
                ("reason", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="ExchangeRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("currency", models.CharField(help_text="Three letters, such as EUR.", max_length=3)),
                (
                    "account",
                    models.CharField(
                        help_text="The currency of account that the rate leads to, such as USD.",
                        max_length=3,
                        verbose_name="in",
                    ),
                ),
                (
                    "rate",
                    models.DecimalField(
                        decimal_places=12,
                        help_text="How much one unit of the first is worth in the second: 1 EUR = 1.08 USD is 1.08.",
                        max_digits=24,
                        validators=[django.core.validators.MinValueValidator(Decimal("1E-12"))],
                    ),
                ),
                (
                    "valid_from",
                    models.DateField(help_text="The first day (UTC) that it is good for.", verbose_name="good from"),
                ),
            ],
            options={
                "ordering": ("currency", "-valid_from"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("currency", "account", "valid_from"),
                        name="exchange_rate_once",
                        violation_error_message="There is a rate of these two from this day already. Change that one.",
                    ),
                    models.CheckConstraint(condition=models.Q(("rate__gt", 0)), name="exchange_rate_positive"),
                ],
            },
        ),
        migrations.CreateModel(
            name="FactorTries",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("failures", models.PositiveIntegerField(default=0, help_text="Failed tries in a row.")),
                ("failed_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("developer", "Developer"),
                            ("analyst", "Analyst"),
                            ("support", "Support"),
                        ],
                        default="owner",
                        help_text="Decides what they see and do in the project.",
                        max_length=10,
                    ),
                ),
                (
                    "sees_addresses",
                    models.BooleanField(
                        default=False, help_text="May show a recipient's whole address, one at a time and on record."
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Platform",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "sms_per_recipient_a_day",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="SMS to one number in 24 hours from all projects together, once more than one sends there. 0 switches the limit off.",
                    ),
                ),
                (
                    "max_daily_budget",
                    models.PositiveIntegerField(
                        default=0, help_text="Messages a day over one channel of a project. 0 means no ceiling."
                    ),
                ),
                (
                    "max_sends_per_day",
                    models.PositiveIntegerField(
                        default=0, help_text="Messages to one recipient of a project in a day. 0 means no ceiling."
                    ),
                ),
                (
                    "max_requests_per_second",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Session creates and manual sends of a project in a second. 0 means no ceiling.",
                    ),
                ),
                (
                    "max_creates_per_address",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="Session creates from one client address in 10 minutes. 0 means no ceiling.",
                    ),
                ),
                (
                    "account_currency",
                    models.CharField(
                        default="USD",
                        help_text="The currency that costs are summed in, such as EUR. Prices in others need an exchange rate.",
                        max_length=3,
                    ),
                ),
            ],
            options={
                "verbose_name": "ceilings",
                "verbose_name_plural": "ceilings",
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="platform_one_row")],
            },
        ),
        migrations.CreateModel(
            name="PurgedRows",
            fields=[
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="verification.project",
                    ),
                ),
                ("before", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="provider",
            name="project",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="providers",
                to="verification.project",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="members",
            field=models.ManyToManyField(
                related_name="projects", through="verification.Membership", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.CreateModel(
            name="MessageTemplate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("language", models.CharField(max_length=35)),
                ("subject", models.CharField(blank=True, help_text="For e-mail.", max_length=200)),
                ("text", models.TextField(max_length=1000)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="templates", to="verification.project"
                    ),
                ),
            ],
            options={
                "verbose_name": "message text",
                "ordering": ("channel", "language"),
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("language", models.CharField(max_length=35)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("sending", "Sending"),
                            ("sent", "Sent"),
                            ("success", "Delivered"),
                            ("failed", "Failed"),
                            ("expired", "Expired"),
                        ],
                        default="queued",
                        max_length=8,
                    ),
                ),
                ("error", models.CharField(blank=True, max_length=500, null=True)),
                ("is_test", models.BooleanField(default=False)),
                ("is_counted", models.BooleanField(default=True)),
                (
                    "is_budgeted",
                    models.BooleanField(
                        db_default=False, default=False, help_text="Counted in its channel's budget of the day."
                    ),
                ),
                (
                    "code_encrypted",
                    models.BinaryField(help_text="The code of a manual send, until it is sent.", null=True),
                ),
                ("callback_url", models.CharField(blank=True, max_length=2048)),
                ("provider_message_id", models.CharField(blank=True, max_length=255, null=True)),
                ("claims", models.SmallIntegerField(default=0, help_text="How often a worker took it.")),
                ("lost_leases", models.SmallIntegerField(default=0, help_text="How often a worker died with it.")),
                ("claimed_at", models.DateTimeField(null=True)),
                (
                    "is_handed_over",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Left to a worker that holds its provider's connection.",
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "fallback_at",
                    models.DateTimeField(help_text="When the next channel is tried unless it has arrived.", null=True),
                ),
                ("expires_at", models.DateTimeField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "pinned_provider",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="verification.provider",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=verification.models.messages.unlink_carried,
                        related_name="messages",
                        to="verification.provider",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.AddField(
            model_name="membership",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="memberships", to="verification.project"
            ),
        ),
        migrations.CreateModel(
            name="ListEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("block", "Block"), ("safe", "Safe")],
                        default="block",
                        max_length=5,
                        verbose_name="list",
                    ),
                ),
                (
                    "subject",
                    models.CharField(
                        choices=[
                            ("recipient", "Recipient"),
                            ("prefix", "Beginning of a number"),
                            ("domain", "E-mail domain"),
                            ("country", "Country"),
                            ("client", "Client address or network"),
                        ],
                        max_length=9,
                    ),
                ),
                ("value", models.CharField(max_length=254)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="list_entries",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "verbose_name": "list entry",
                "verbose_name_plural": "list entries",
                "ordering": ("-created_at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.EmailField(max_length=254)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("owner", "Owner"),
                            ("developer", "Developer"),
                            ("analyst", "Analyst"),
                            ("support", "Support"),
                        ],
                        max_length=10,
                    ),
                ),
                ("sees_addresses", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(help_text="Since when it is accepted, or withdrawn.", null=True)),
                ("digest", models.BinaryField(max_length=32, null=True, unique=True)),
                (
                    "due_at",
                    models.DateTimeField(
                        help_text="When it is mailed, or tried again; empty once it is mailed.", null=True
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                (
                    "invited_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="verification.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=255)),
                ("body_digest", models.BinaryField(max_length=32)),
                ("answer_encrypted", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("api_key", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.apikey")),
                (
                    "message",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="idempotent_requests",
                        to="verification.message",
                    ),
                ),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
        ),
        migrations.CreateModel(
            name="HourlyRefusals",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hour", models.DateTimeField()),
                ("rule", models.CharField(max_length=40)),
                ("country", models.CharField(blank=True, max_length=3)),
                ("refused", models.PositiveIntegerField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HourlyFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "provider_id",
                    models.BigIntegerField(help_text="The provider, also once it was deleted; 0 for none."),
                ),
                ("country", models.CharField(blank=True, help_text="ISO 3166, empty for none.", max_length=3)),
                ("language", models.CharField(max_length=35)),
                (
                    "is_manual",
                    models.BooleanField(help_text="Sent by the customer's server itself, so without a session."),
                ),
                ("sessions", models.PositiveIntegerField(default=0)),
                (
                    "sessions_sent",
                    models.PositiveIntegerField(default=0, help_text="A provider accepted a message of them."),
                ),
                ("sessions_delivered", models.PositiveIntegerField(default=0, help_text="A message of them arrived.")),
                ("sessions_checked", models.PositiveIntegerField(default=0, help_text="A code was entered.")),
                ("sessions_verified", models.PositiveIntegerField(default=0, help_text="The right code was entered.")),
                ("sessions_proved", models.PositiveIntegerField(default=0, help_text="Their token was redeemed.")),
                ("sessions_first", models.PositiveIntegerField(default=0, help_text="Verified with one message.")),
                ("messages", models.PositiveIntegerField(default=0)),
                ("messages_accepted", models.PositiveIntegerField(default=0)),
                ("messages_delivered", models.PositiveIntegerField(default=0)),
                (
                    "messages_confirmed",
                    models.PositiveIntegerField(default=0, help_text="Delivered, as a receipt of its own says."),
                ),
                ("messages_failed", models.PositiveIntegerField(default=0)),
                ("messages_expired", models.PositiveIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0, help_text="Calls of this provider.")),
                ("attempts_accepted", models.PositiveIntegerField(default=0)),
                (
                    "accept_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="A message's, from creation to acceptance.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "receipt_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="A message's, from creation to receipt.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "verify_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="A session's, from creation to right code.",
                        null=True,
                        size=None,
                    ),
                ),
                ("hour", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HourlyFaults",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hour", models.DateTimeField()),
                ("provider_id", models.BigIntegerField()),
                ("country", models.CharField(blank=True, max_length=3)),
                ("outcome", models.CharField(max_length=20)),
                ("calls", models.PositiveIntegerField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HourlyCosts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "provider_id",
                    models.BigIntegerField(help_text="The provider, also once it was deleted; 0 for none."),
                ),
                ("country", models.CharField(blank=True, help_text="ISO 3166, empty for none.", max_length=3)),
                ("language", models.CharField(max_length=35)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("sends", models.PositiveIntegerField(default=0)),
                ("segments", models.PositiveIntegerField(default=0)),
                ("amount", models.DecimalField(decimal_places=8, default=0, max_digits=28)),
                ("hour", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HostedPage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "is_enabled",
                    models.BooleanField(
                        default=False,
                        help_text="Serve the page. Off, its address answers that there is nothing.",
                        verbose_name="on",
                    ),
                ),
                (
                    "title",
                    models.CharField(
                        blank=True,
                        help_text="The name above the form. Left empty, that of the project.",
                        max_length=60,
                        verbose_name="name",
                    ),
                ),
                (
                    "accent",
                    models.CharField(
                        default="#4f46e5",
                        help_text="Of buttons and links, such as #0f766e. It is made darker or lighter where it could not be read.",
                        max_length=7,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^#[0-9a-f]{6}\\Z", "Write a colour as # and six digits, such as #0f766e."
                            )
                        ],
                        verbose_name="colour",
                    ),
                ),
                (
                    "return_addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=500),
                        blank=True,
                        default=list,
                        help_text="Where the page may lead back to: whole addresses, such as https://shop.example/verified. One that a link names must be the same in every character.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(50)],
                    ),
                ),
                (
                    "hand_over",
                    models.CharField(
                        choices=[
                            ("form", "Form, posted to your server"),
                            ("fragment", "Fragment, read by your script"),
                        ],
                        default="form",
                        help_text="How it comes back. It is never in a query, which logs would keep.",
                        max_length=8,
                        verbose_name="verify token",
                    ),
                ),
                ("logo", models.BinaryField(help_text="A PNG made of the pixels alone.", null=True)),
                ("key_text", models.CharField(blank=True, editable=False, max_length=80)),
                (
                    "key",
                    models.OneToOneField(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="verification.apikey",
                    ),
                ),
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hosted_page",
                        to="verification.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GuardBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "rule",
                    models.CharField(
                        choices=[
                            ("prefix", "Many numbers of one prefix"),
                            ("manual_prefix", "Many numbers of one prefix, by manual sends"),
                            ("conversion", "A country where few codes are verified"),
                            ("low_conversion", "A country to watch"),
                            ("wrong_codes", "Many wrong codes in the project"),
                            ("same_guess", "One code tried on many sessions"),
                            ("network", "A client network that guesses"),
                            ("network_refused", "A client network that is kept from checking"),
                            ("strangers", "Wrong codes from many client networks"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "subject",
                    models.CharField(help_text="A prefix, country or network; empty for the project.", max_length=64),
                ),
                (
                    "level",
                    models.PositiveSmallIntegerField(
                        help_text="1 for the first time, 2 for the first repeat, and so on."
                    ),
                ),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("figures", models.JSONField(help_text="What was counted, and the limits it was compared with.")),
                (
                    "refused",
                    models.PositiveIntegerField(
                        default=0, help_text="Requests refused since, or that would have been."
                    ),
                ),
                (
                    "is_announced",
                    models.BooleanField(default=False, help_text="Whether it is in the log and its alert went out."),
                ),
                ("lifted_at", models.DateTimeField(null=True)),
                (
                    "lifted_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="guard_blocks",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "verbose_name": "finding",
                "ordering": ("-since",),
            },
        ),
        migrations.CreateModel(
            name="FallbackStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField(default=0)),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "wait_seconds",
                    models.PositiveSmallIntegerField(
                        default=30,
                        help_text="How long a receipt is waited for before the code goes out over the next channel.",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="fallback_steps",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "ordering": ("position", "id"),
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rule", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=120)),
                ("hour", models.DateTimeField()),
                (
                    "country",
                    models.CharField(
                        blank=True, default="", help_text="Whither, where the traffic guard refused.", max_length=3
                    ),
                ),
                ("count", models.PositiveIntegerField(default=1)),
                ("refused", models.PositiveIntegerField(default=0)),
                ("figures", models.JSONField(default=dict)),
                ("first_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-last_at",),
            },
        ),
        migrations.CreateModel(
            name="DailyUsers",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("users", models.PositiveIntegerField()),
                ("verified", models.PositiveIntegerField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DailySpend",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("day", models.DateField()),
                ("messages", models.IntegerField()),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
        ),
        migrations.CreateModel(
            name="DailyFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "provider_id",
                    models.BigIntegerField(help_text="The provider, also once it was deleted; 0 for none."),
                ),
                ("country", models.CharField(blank=True, help_text="ISO 3166, empty for none.", max_length=3)),
                ("language", models.CharField(max_length=35)),
                (
                    "is_manual",
                    models.BooleanField(help_text="Sent by the customer's server itself, so without a session."),
                ),
                ("sessions", models.PositiveIntegerField(default=0)),
                (
                    "sessions_sent",
                    models.PositiveIntegerField(default=0, help_text="A provider accepted a message of them."),
                ),
                ("sessions_delivered", models.PositiveIntegerField(default=0, help_text="A message of them arrived.")),
                ("sessions_checked", models.PositiveIntegerField(default=0, help_text="A code was entered.")),
                ("sessions_verified", models.PositiveIntegerField(default=0, help_text="The right code was entered.")),
                ("sessions_proved", models.PositiveIntegerField(default=0, help_text="Their token was redeemed.")),
                ("sessions_first", models.PositiveIntegerField(default=0, help_text="Verified with one message.")),
                ("messages", models.PositiveIntegerField(default=0)),
                ("messages_accepted", models.PositiveIntegerField(default=0)),
                ("messages_delivered", models.PositiveIntegerField(default=0)),
                (
                    "messages_confirmed",
                    models.PositiveIntegerField(default=0, help_text="Delivered, as a receipt of its own says."),
                ),
                ("messages_failed", models.PositiveIntegerField(default=0)),
                ("messages_expired", models.PositiveIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0, help_text="Calls of this provider.")),
                ("attempts_accepted", models.PositiveIntegerField(default=0)),
                (
                    "accept_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="A message's, from creation to acceptance.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "receipt_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="A message's, from creation to receipt.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "verify_times",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="A session's, from creation to right code.",
                        null=True,
                        size=None,
                    ),
                ),
                ("day", models.DateField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DailyCosts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "provider_id",
                    models.BigIntegerField(help_text="The provider, also once it was deleted; 0 for none."),
                ),
                ("country", models.CharField(blank=True, help_text="ISO 3166, empty for none.", max_length=3)),
                ("language", models.CharField(max_length=35)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("sends", models.PositiveIntegerField(default=0)),
                ("segments", models.PositiveIntegerField(default=0)),
                ("amount", models.DecimalField(decimal_places=8, default=0, max_digits=28)),
                ("day", models.DateField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DailyChannelCost",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("day", models.DateField()),
                ("amount", models.DecimalField(decimal_places=8, max_digits=28)),
                ("currency", models.CharField(max_length=3)),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                        verbose_name="channel",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        blank=True, help_text="What users see. Empty means the usual name.", max_length=50
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                (
                    "position",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="The project's order; the lowest comes first."
                    ),
                ),
                (
                    "image_url",
                    models.URLField(
                        blank=True, help_text="The address of a picture. Empty means ours.", verbose_name="icon"
                    ),
                ),
                (
                    "link",
                    models.URLField(
                        blank=True, help_text="Where users are sent for this channel. Empty means the site."
                    ),
                ),
                (
                    "daily_budget",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Messages a day (UTC) at the most; a hard stop. 0 means no limit. Empty means the usual budget: 1,000 for SMS and for voice calls, no limit for the others.",
                        null=True,
                    ),
                ),
                (
                    "effective_budget",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Case(
                            models.When(
                                daily_budget__isnull=False,
                                then=django.db.models.functions.comparison.NullIf("daily_budget", models.Value(0)),
                            ),
                            models.When(then=models.Value(1000), type__in=("sms", "voice")),
                        ),
                        help_text="The budget that holds; null for no limit.",
                        output_field=models.PositiveIntegerField(null=True),
                    ),
                ),
                (
                    "daily_cost_budget",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="What the messages of a day (UTC) may cost, in whole units of the currency of account. Costs are summed once a minute, so the messages of about a minute may pass it; those without a price do not count. 0 or empty means no limit.",
                        null=True,
                    ),
                ),
                (
                    "countries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2),
                        blank=True,
                        default=list,
                        help_text="Narrows the project's countries for this channel, two letters each. Empty means as the project.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(300)],
                    ),
                ),
                (
                    "routing",
                    models.CharField(
                        choices=[
                            ("fixed", "Fixed order"),
                            ("shares", "Shares"),
                            ("best_price", "Best for the money"),
                            ("best_time", "Best for the time"),
                        ],
                        db_default="fixed",
                        default="fixed",
                        help_text="In any case your own providers come before the system's, and those that were late just now last.",
                        max_length=10,
                        verbose_name="choice of the provider",
                    ),
                ),
                (
                    "explore_percent",
                    models.PositiveSmallIntegerField(
                        db_default=5,
                        default=5,
                        help_text="With one of the best: how many of a hundred messages at the most try another provider, so that one that became better is found. 0 to 20.",
                        validators=[django.core.validators.MaxValueValidator(20)],
                        verbose_name="messages to learn from",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="channels", to="verification.project"
                    ),
                ),
            ],
            options={
                "ordering": ("position", "id"),
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("who", models.CharField(help_text="A user of the panel, or the command or process.", max_length=150)),
                ("address", models.GenericIPAddressField(help_text="The client's.", null=True)),
                ("action", models.CharField(max_length=200)),
                (
                    "object_type",
                    models.CharField(blank=True, help_text="Such as verification.provider.", max_length=50),
                ),
                ("object_id", models.CharField(blank=True, max_length=40)),
                ("object_label", models.CharField(blank=True, max_length=255)),
                ("changes", models.JSONField(default=dict, help_text="By column: the value before and after.")),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit entries",
                "ordering": ("-id",),
            },
        ),
        migrations.AddField(
            model_name="apikey",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="keys", to="verification.project"
            ),
        ),
        migrations.CreateModel(
            name="AlertService",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("telegram", "Telegram"),
                            ("slack", "Slack, Mattermost, Discord"),
                            ("apprise", "Another one, by Apprise"),
                        ],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("secret", models.BinaryField()),
                ("chat", models.CharField(blank=True, default="", max_length=40)),
                ("is_enabled", models.BooleanField(default=True)),
                ("told_at", models.DateTimeField(editable=False, null=True)),
                (
                    "error",
                    models.CharField(
                        blank=True,
                        default="",
                        editable=False,
                        help_text="Why it was last not told; empty if it was.",
                        max_length=200,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alert_services",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "ordering": ("name", "id"),
            },
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=120)),
                ("title", models.CharField(max_length=200)),
                ("detail", models.TextField()),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("error", models.CharField(blank=True, help_text="Why the last try failed.", max_length=200)),
                ("due_at", models.DateTimeField(null=True)),
                ("mailed_at", models.DateTimeField(null=True)),
                ("posted_at", models.DateTimeField(null=True)),
                (
                    "told_services",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        help_text="The ids of the alert services that took it.",
                        null=True,
                        size=None,
                    ),
                ),
                ("read_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(help_text="Of an outage, when it was over.", null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="alerts", to="verification.project"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="Recipient",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "address",
                    models.CharField(help_text="Canonical: E.164, or the lower-cased e-mail address.", max_length=254),
                ),
                (
                    "mailbox",
                    models.CharField(
                        help_text="Whose limits of sends it shares; null for a phone number.", max_length=254, null=True
                    ),
                ),
                ("language", models.CharField(blank=True, max_length=35)),
                (
                    "verified_channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "verified_at",
                    models.DateTimeField(help_text="The last success; wrong codes before it do not count.", null=True),
                ),
                (
                    "reached_channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "forgotten_at",
                    models.DateTimeField(
                        help_text="When they were erased; the address is a hash since then, and what is left goes a day later.",
                        null=True,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recipients",
                        to="verification.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="NoAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("noted_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "provider",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.provider"),
                ),
                (
                    "recipient",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.recipient"),
                ),
            ],
        ),
        migrations.AddField(
            model_name="message",
            name="recipient",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="messages",
                to="verification.recipient",
            ),
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.BinaryField(max_length=32)),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recovery_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("secret", models.BinaryField(help_text="Encrypted.")),
                ("confirmed_at", models.DateTimeField(null=True)),
                (
                    "last_step",
                    models.BigIntegerField(
                        default=0, help_text="The step of time of the last code; none is good twice."
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="second_factor",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SecurityKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                (
                    "host",
                    models.CharField(
                        help_text="The relying party's id: the panel's host, without a port.", max_length=253
                    ),
                ),
                ("credential", models.BinaryField(help_text="The key's id for itself.", max_length=1023, unique=True)),
                ("public_key", models.BinaryField()),
                ("signatures", models.BigIntegerField(default=0, help_text="The key's own count; it never goes back.")),
                ("added_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="security_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SenderRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "prefix",
                    models.CharField(
                        help_text="Such as +91. Where several fit, the longest holds.",
                        max_length=16,
                        verbose_name="numbers that begin with",
                    ),
                ),
                ("sender", models.CharField(blank=True, max_length=40)),
                ("dlt_entity_id", models.CharField(blank=True, max_length=40, verbose_name="DLT entity id")),
                ("dlt_template_id", models.CharField(blank=True, max_length=40, verbose_name="DLT template id")),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sender_rules",
                        to="verification.provider",
                    ),
                ),
            ],
            options={
                "ordering": ("prefix",),
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.CharField(max_length=26, primary_key=True, serialize=False)),
                ("language", models.CharField(max_length=35)),
                ("code_digest", models.BinaryField(max_length=32, null=True)),
                ("code_encrypted", models.BinaryField(null=True)),
                ("code_length", models.SmallIntegerField()),
                ("code_digits", models.BooleanField()),
                ("code_letters", models.BooleanField()),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "awaited_channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        help_text="A messenger that the code goes out over once the user starts its bot.",
                        max_length=20,
                    ),
                ),
                (
                    "refusal",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Why its code did not go out when it was last asked for: an outcome or a rule of the decision log.",
                        max_length=40,
                    ),
                ),
                (
                    "link_payload",
                    models.CharField(help_text="The one-time payload of the messenger's deep link.", max_length=64),
                ),
                (
                    "is_open",
                    models.BooleanField(default=True, help_text="False once verified, or replaced by a later session."),
                ),
                (
                    "is_link_used",
                    models.BooleanField(db_default=False, default=False, help_text="Used up by binding an account."),
                ),
                ("is_test", models.BooleanField(default=False)),
                (
                    "test_login",
                    models.UUIDField(help_text="The revision of the test login that it is good for.", null=True),
                ),
                ("is_challenged", models.BooleanField(default=False, help_text="Whether a challenge was passed.")),
                ("attempts", models.SmallIntegerField(default=0)),
                ("attempts_max", models.SmallIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="verification.project",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="verification.recipient",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.AddField(
            model_name="message",
            name="session",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="messages",
                to="verification.session",
            ),
        ),
        migrations.CreateModel(
            name="BotChat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("account_id", models.CharField(max_length=64)),
                ("language", models.CharField(blank=True, max_length=35)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "provider",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.provider"),
                ),
                (
                    "session",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, to="verification.session"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("account_id", models.CharField(max_length=64)),
                ("is_active", models.BooleanField(default=True)),
                ("bound_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
                        to="verification.provider",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
                        to="verification.recipient",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("reason", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="suppressions",
                        to="verification.project",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="suppressions",
                        to="verification.recipient",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="TestLogin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("to", models.CharField(help_text="The phone number (E.164) or e-mail address.", max_length=254)),
                ("code_encrypted", models.BinaryField()),
                (
                    "revision",
                    models.UUIDField(
                        db_default=django.contrib.postgres.functions.RandomUUID(),
                        editable=False,
                        help_text="New with every change, which ends the sessions of the old one.",
                    ),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="test_logins",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "ordering": ("to",),
            },
        ),
        migrations.CreateModel(
            name="TextVariant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        max_length=20,
                    ),
                ),
                ("language", models.CharField(max_length=35)),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("text", models.TextField(max_length=1000)),
                ("share", models.PositiveSmallIntegerField(help_text="Percent of the sessions that get it.")),
                (
                    "since",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="Sessions created since then count.",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="text_variants",
                        to="verification.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TextVariantFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hour", models.DateTimeField()),
                ("is_variant", models.BooleanField(help_text="False for the present text.")),
                ("sessions", models.PositiveIntegerField()),
                ("verified", models.PositiveIntegerField()),
                (
                    "variant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="figures",
                        to="verification.textvariant",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="UsedChallenge",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("expires_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="verification.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="VendorBalance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("amount", models.DecimalField(decimal_places=8, max_digits=28)),
                ("unit", models.CharField(max_length=7)),
                (
                    "provider",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="balances",
                        to="verification.provider",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="VerifyToken",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("test_login", models.UUIDField(null=True)),
                ("subnet", models.CharField(db_default="", default="", max_length=43)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="verification.project",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="verification.recipient",
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verify_token",
                        to="verification.session",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WebhookEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("message.finished", "Message finished"),
                            ("session.opened", "Session opened"),
                            ("session.verified", "Session verified"),
                            ("session.locked", "Session locked"),
                            ("session.expired", "Session expired"),
                            ("session.refused", "Session refused"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sms", "SMS"),
                            ("email", "E-mail"),
                            ("messenger_a", "Telegram"),
                            ("messenger_b", "WhatsApp"),
                            ("voice", "Voice call"),
                        ],
                        db_default="",
                        default="",
                        max_length=20,
                    ),
                ),
                ("reason", models.CharField(blank=True, db_default="", default="", max_length=40)),
                ("subject", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("url", models.CharField(blank=True, db_default="", default="", max_length=2048)),
                ("tries", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("due_at", models.DateTimeField(db_default=verification.models.events.ClockNow(), null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=verification.models.events.ClockNow())),
                (
                    "message",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="event",
                        to="verification.message",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="verification.project",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="verification.session",
                    ),
                ),
            ],
            options={
                "verbose_name": "event",
                "verbose_name_plural": "events",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="WebhookAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=200)),
                ("latency_ms", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="verification.webhookevent",
                    ),
                ),
            ],
            options={
                "verbose_name": "call of a server",
                "verbose_name_plural": "calls of a server",
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="WebhookSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("secret", models.BinaryField(help_text="Encrypted.")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook_secrets",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="WrongCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(db_default="", default="", max_length=43)),
                ("subnet", models.CharField(db_default="", default="", max_length=43)),
                ("guess", models.BinaryField(max_length=16, null=True)),
                (
                    "is_settled",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether the recipient's right code came from the same subnet since.",
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="verification.project",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="verification.recipient",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="wrong_codes",
                        to="verification.session",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="BreakerOpening",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("opened_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("closed_at", models.DateTimeField(null=True)),
                ("reason", models.CharField(blank=True, max_length=200)),
                (
                    "provider",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="openings",
                        to="verification.provider",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["provider", "-opened_at"], name="breaker_opening_of_provider")],
            },
        ),
        migrations.CreateModel(
            name="BotUpdate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=200)),
                ("account_id", models.CharField(blank=True, max_length=64)),
                ("event", models.JSONField(null=True)),
                ("tries", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("received_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "provider",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.provider"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["provider", "id"], name="bot_update_due"
                    ),
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["provider", "account_id", "id"],
                        name="bot_update_of_chat",
                    ),
                    models.Index(fields=["received_at"], name="bot_update_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "key"), name="bot_update_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("due_at__isnull", False), ("event__isnull", False)),
                            models.Q(("account_id", ""), ("due_at", None), ("event__isnull", True)),
                            _connector="OR",
                        ),
                        name="bot_update_wiped_when_done",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GuardedSend",
            fields=[
                (
                    "message",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="guarded_send",
                        serialize=False,
                        to="verification.message",
                    ),
                ),
                ("prefix", models.CharField(help_text="The number without its last 4 digits.", max_length=16)),
                ("country", models.CharField(help_text="ISO 3166, empty for a network of no country.", max_length=3)),
                ("is_manual", models.BooleanField()),
                ("created_at", models.DateTimeField()),
                (
                    "verified_at",
                    models.DateTimeField(help_text="When session/verify proved the number after this send.", null=True),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="verification.project",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to="verification.recipient",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DeliveryAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider_name", models.CharField(max_length=80)),
                ("outcome", models.CharField(max_length=20)),
                ("provider_message_id", models.CharField(max_length=255, null=True)),
                ("provider_status", models.CharField(blank=True, max_length=100)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("latency_ms", models.IntegerField()),
                (
                    "choice",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("order", "as the first in the order"),
                            ("only", "as the only one that could carry it"),
                            ("share", "by its share among equals"),
                            ("best", "as the best by what it has shown"),
                            ("explored", "to learn how it does now"),
                            ("instead", "as one before it was late or set aside"),
                            ("next", "as another one had not taken it"),
                            ("probe", "to see whether it works again"),
                            ("pinned", "as the request named it"),
                        ],
                        db_default="",
                        default="",
                        help_text="Why this provider was asked.",
                        max_length=10,
                    ),
                ),
                (
                    "segments",
                    models.PositiveSmallIntegerField(
                        help_text="SMS that it is billed as; null if not sent.", null=True
                    ),
                ),
                (
                    "price",
                    models.DecimalField(
                        decimal_places=8, help_text="At the time; null if not known.", max_digits=20, null=True
                    ),
                ),
                ("currency", models.CharField(max_length=3, null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "provider",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="attempts",
                        to="verification.provider",
                    ),
                ),
                (
                    "message",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="verification.message",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(fields=["provider", "-created_at"], name="attempt_of_provider"),
                    models.Index(
                        condition=models.Q(("provider_message_id__isnull", False)),
                        fields=["provider_message_id"],
                        name="attempt_by_provider_id",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Price",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("place", models.CharField(blank=True, max_length=16)),
                ("amount", models.DecimalField(decimal_places=8, max_digits=20)),
                ("currency", models.CharField(max_length=3)),
                ("per", models.CharField(choices=[("message", "Message"), ("segment", "Segment")], max_length=7)),
                ("valid_from", models.DateField(default=datetime.date(1970, 1, 1))),
                (
                    "provider",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="prices",
                        to="verification.provider",
                    ),
                ),
            ],
            options={
                "ordering": ("place", "valid_from"),
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "place", "valid_from"), name="price_once"),
                    models.CheckConstraint(condition=models.Q(("amount__gte", 0)), name="price_not_negative"),
                    models.CheckConstraint(condition=models.Q(("per__in", ["message", "segment"])), name="price_per"),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="provider",
            index=models.Index(fields=["channel", "project"], name="provider_of_channel"),
        ),
        migrations.AddConstraint(
            model_name="provider",
            constraint=models.CheckConstraint(
                condition=models.Q(("channel__in", ["sms", "email", "messenger_a", "messenger_b", "voice"])),
                name="provider_channel",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("deleted_at", None), ("is_enabled", False), _connector="OR"),
                name="project_deleted_is_disabled",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("retention_days__gte", 1)), name="project_retention_days"
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("code_length__in", (4, 6))), name="project_code_length"
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("code_digits", True), ("code_letters", True), _connector="OR"),
                name="project_code_alphabet",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("challenge_mode__in", ["off", "always", "suspicion"])),
                name="project_challenge_mode",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("challenge_mode", "off"),
                    ("challenge_provider", "altcha"),
                    models.Q(models.Q(("challenge_site_key", ""), _negated=True), ("challenge_secret__isnull", False)),
                    _connector="OR",
                ),
                name="project_challenge_has_keys",
            ),
        ),
        migrations.AddConstraint(
            model_name="messagetemplate",
            constraint=models.UniqueConstraint(fields=("project", "channel", "language"), name="template_once"),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(fields=("project", "user"), name="membership_once"),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["owner", "developer", "analyst", "support"])), name="membership_role"
            ),
        ),
        migrations.AddConstraint(
            model_name="listentry",
            constraint=models.UniqueConstraint(
                fields=("project", "kind", "subject", "value"), name="list_entry_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="listentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["block", "safe"])), name="list_entry_kind"
            ),
        ),
        migrations.AddConstraint(
            model_name="listentry",
            constraint=models.CheckConstraint(
                condition=models.Q(("subject__in", ["recipient", "prefix", "domain", "country", "client"])),
                name="list_entry_subject",
            ),
        ),
        migrations.AddIndex(
            model_name="invitation",
            index=models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="invitation_due"),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.UniqueConstraint(
                models.F("project"),
                django.db.models.functions.text.Lower("email"),
                condition=models.Q(("ended_at__isnull", True)),
                name="invitation_open_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ["owner", "developer", "analyst", "support"])), name="invitation_role"
            ),
        ),
        migrations.AddConstraint(
            model_name="idempotentrequest",
            constraint=models.UniqueConstraint(fields=("project", "key"), name="idempotent_request_once"),
        ),
        migrations.AddIndex(
            model_name="hourlyrefusals",
            index=models.Index(fields=["hour"], name="hourly_refusals_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="hourlyrefusals",
            constraint=models.UniqueConstraint(
                fields=("project", "hour", "rule", "country"), name="hourly_refusals_once"
            ),
        ),
        migrations.AddIndex(
            model_name="hourlyfigures",
            index=models.Index(fields=["hour"], name="hourly_figures_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="hourlyfigures",
            constraint=models.UniqueConstraint(
                fields=("project", "hour", "channel", "provider_id", "country", "language", "is_manual"),
                name="hourly_figures_once",
            ),
        ),
        migrations.AddIndex(
            model_name="hourlyfaults",
            index=models.Index(fields=["hour"], name="hourly_faults_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="hourlyfaults",
            constraint=models.UniqueConstraint(
                fields=("project", "hour", "provider_id", "country", "outcome"), name="hourly_faults_once"
            ),
        ),
        migrations.AddIndex(
            model_name="hourlycosts",
            index=models.Index(fields=["hour"], name="hourly_costs_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="hourlycosts",
            constraint=models.UniqueConstraint(
                fields=("project", "hour", "channel", "provider_id", "country", "language", "currency"),
                name="hourly_costs_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="hostedpage",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_enabled", False), models.Q(("return_addresses", []), _negated=True), _connector="OR"
                ),
                name="hosted_page_on_has_addresses",
            ),
        ),
        migrations.AddConstraint(
            model_name="hostedpage",
            constraint=models.CheckConstraint(
                condition=models.Q(("hand_over__in", ["form", "fragment"])), name="hosted_page_hand_over"
            ),
        ),
        migrations.AddIndex(
            model_name="guardblock",
            index=models.Index(
                condition=models.Q(("is_announced", False)), fields=["project"], name="guard_block_to_announce"
            ),
        ),
        migrations.AddIndex(
            model_name="guardblock",
            index=models.Index(
                condition=models.Q(
                    ("rule__in", ("wrong_codes", "same_guess", "network", "network_refused", "strangers"))
                ),
                fields=["project", "until"],
                name="guard_block_of_guessing",
            ),
        ),
        migrations.AddConstraint(
            model_name="guardblock",
            constraint=models.UniqueConstraint(fields=("project", "subject", "rule"), name="guard_block_once"),
        ),
        migrations.AddConstraint(
            model_name="guardblock",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "rule__in",
                        [
                            "prefix",
                            "manual_prefix",
                            "conversion",
                            "low_conversion",
                            "wrong_codes",
                            "same_guess",
                            "network",
                            "network_refused",
                            "strangers",
                        ],
                    )
                ),
                name="guard_block_rule",
            ),
        ),
        migrations.AddConstraint(
            model_name="guardblock",
            constraint=models.CheckConstraint(
                condition=models.Q(("until__gt", models.F("since"))), name="guard_block_ends_later"
            ),
        ),
        migrations.AddConstraint(
            model_name="fallbackstep",
            constraint=models.UniqueConstraint(fields=("project", "channel"), name="fallback_step_once"),
        ),
        migrations.AddConstraint(
            model_name="fallbackstep",
            constraint=models.CheckConstraint(
                condition=models.Q(("wait_seconds__gte", 5), ("wait_seconds__lte", 150)), name="fallback_wait"
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["project", "-last_at"], name="decision_of_project"),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["subject", "project", "-last_at"], name="decision_of_subject"),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.UniqueConstraint(
                fields=("project", "rule", "hour", "subject", "country"), name="decision_once_an_hour"
            ),
        ),
        migrations.AddConstraint(
            model_name="dailyusers",
            constraint=models.UniqueConstraint(fields=("project", "day"), name="daily_users_once"),
        ),
        migrations.AddConstraint(
            model_name="dailyspend",
            constraint=models.UniqueConstraint(fields=("project", "channel", "day"), name="daily_spend_once"),
        ),
        migrations.AddIndex(
            model_name="dailyfigures",
            index=models.Index(fields=["day"], name="daily_figures_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="dailyfigures",
            constraint=models.UniqueConstraint(
                fields=("project", "day", "channel", "provider_id", "country", "language", "is_manual"),
                name="daily_figures_once",
            ),
        ),
        migrations.AddIndex(
            model_name="dailycosts",
            index=models.Index(fields=["day"], name="daily_costs_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="dailycosts",
            constraint=models.UniqueConstraint(
                fields=("project", "day", "channel", "provider_id", "country", "language", "currency"),
                name="daily_costs_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="dailychannelcost",
            constraint=models.UniqueConstraint(fields=("project", "channel", "day"), name="daily_channel_cost_once"),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.UniqueConstraint(fields=("project", "type"), name="channel_once"),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("type__in", ["sms", "email", "messenger_a", "messenger_b", "voice"])),
                name="channel_type",
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("routing__in", ["fixed", "shares", "best_price", "best_time"])),
                name="channel_routing",
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("explore_percent__lte", 20)), name="channel_explores"
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(condition=models.Q(("kind__in", ["api", "secret"])), name="key_kind"),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("expires_at__gt", models.F("created_at"))), name="key_expires_later"
            ),
        ),
        migrations.AddConstraint(
            model_name="alertservice",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["telegram", "slack", "apprise"])), name="alert_service_kind"
            ),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(fields=["project", "-created_at"], name="alert_of_project"),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True), ("kind", "channel_down")),
                fields=["kind"],
                name="alert_of_outage",
            ),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="alert_due"),
        ),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.UniqueConstraint(fields=("project", "kind", "key"), name="alert_once"),
        ),
        migrations.AddIndex(
            model_name="recipient",
            index=models.Index(fields=["address"], name="recipient_of_all_projects"),
        ),
        migrations.AddIndex(
            model_name="recipient",
            index=models.Index(fields=["project", "-id"], name="recipient_of_project"),
        ),
        migrations.AddIndex(
            model_name="recipient",
            index=models.Index(
                condition=models.Q(("mailbox__isnull", False)), fields=["project", "mailbox"], name="recipient_mailbox"
            ),
        ),
        migrations.AddIndex(
            model_name="recipient",
            index=models.Index(
                condition=models.Q(("forgotten_at__isnull", False)), fields=["forgotten_at"], name="recipient_forgotten"
            ),
        ),
        migrations.AddConstraint(
            model_name="recipient",
            constraint=models.UniqueConstraint(fields=("project", "address"), name="recipient_once"),
        ),
        migrations.AddConstraint(
            model_name="noaccount",
            constraint=models.UniqueConstraint(fields=("recipient", "provider"), name="no_account_once"),
        ),
        migrations.AddIndex(
            model_name="recoverycode",
            index=models.Index(condition=models.Q(("used_at", None)), fields=["digest"], name="recovery_code_unused"),
        ),
        migrations.AddConstraint(
            model_name="securitykey",
            constraint=models.UniqueConstraint(
                models.F("user"), django.db.models.functions.text.Lower("name"), name="security_key_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="senderrule",
            constraint=models.UniqueConstraint(fields=("provider", "prefix"), name="sender_rule_once"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["project", "-created_at"], name="session_of_project"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                condition=models.Q(("code_digest__isnull", False)), fields=["expires_at"], name="session_code_to_wipe"
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_open", True)), fields=("recipient",), name="session_one_open_per_recipient"
            ),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                condition=models.Q(("link_payload", ""), _negated=True),
                fields=("link_payload",),
                name="session_of_link",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("session__isnull", False)), fields=["session"], name="message_of_session"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["recipient", "-created_at"], name="message_of_recipient"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["project", "-created_at"], name="message_of_project"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(fields=["-created_at"], name="message_newest"),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("pinned_provider__isnull", False)),
                fields=["pinned_provider"],
                name="message_pinned",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("status__in", ("failed", "expired"))),
                fields=["project", "status", "-created_at"],
                include=("id",),
                name="message_lost_of_project",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("status__in", ("queued", "sending"))), fields=["-created_at"], name="message_due"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("status__in", ("queued", "sending"))), fields=["expires_at"], name="message_expires"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("fallback_at__isnull", False)), fields=["fallback_at"], name="message_falls_back"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("sent_at__isnull", True), ("status__in", ("failed", "expired"))),
                fields=["finished_at"],
                name="message_lost",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("status", "sent")), fields=["due_at"], name="message_awaits_receipt"
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("provider_message_id__isnull", False)),
                fields=["provider", "provider_message_id"],
                name="message_by_provider_id",
            ),
        ),
        migrations.AddConstraint(
            model_name="botchat",
            constraint=models.UniqueConstraint(fields=("provider", "account_id"), name="bot_chat_once"),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(fields=["provider", "account_id"], name="subscription_of_account"),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(fields=("provider", "recipient"), name="subscription_once"),
        ),
        migrations.AddConstraint(
            model_name="suppression",
            constraint=models.UniqueConstraint(
                condition=models.Q(("lifted_at__isnull", True)),
                fields=("recipient", "channel"),
                name="suppression_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="testlogin",
            constraint=models.UniqueConstraint(fields=("project", "to"), name="test_login_once"),
        ),
        migrations.AddConstraint(
            model_name="textvariant",
            constraint=models.UniqueConstraint(fields=("project", "channel", "language"), name="text_variant_once"),
        ),
        migrations.AddConstraint(
            model_name="textvariant",
            constraint=models.CheckConstraint(
                condition=models.Q(("share__gte", 1), ("share__lte", 90)), name="text_variant_share"
            ),
        ),
        migrations.AddConstraint(
            model_name="textvariantfigures",
            constraint=models.UniqueConstraint(fields=("variant", "hour", "is_variant"), name="text_variant_hour_once"),
        ),
        migrations.AddIndex(
            model_name="usedchallenge",
            index=models.Index(fields=["expires_at"], name="used_challenge_to_purge"),
        ),
        migrations.AddIndex(
            model_name="vendorbalance",
            index=models.Index(fields=["day"], name="vendor_balance_to_purge"),
        ),
        migrations.AddConstraint(
            model_name="vendorbalance",
            constraint=models.UniqueConstraint(fields=("provider", "day"), name="vendor_balance_once"),
        ),
        migrations.AddIndex(
            model_name="verifytoken",
            index=models.Index(
                condition=models.Q(("subnet", ""), _negated=True),
                fields=["project", "subnet", "created_at"],
                name="verify_token_of_subnet",
            ),
        ),
        migrations.AddIndex(
            model_name="verifytoken",
            index=models.Index(
                condition=models.Q(("subnet", ""), _negated=True),
                fields=["project", "created_at"],
                name="verify_token_of_strangers",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)), fields=["project", "due_at"], name="event_due"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(fields=["project", "-created_at"], name="event_of_project"),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(fields=["-created_at"], name="event_newest"),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(
                condition=models.Q(("session__isnull", False)), fields=["session"], name="event_of_session"
            ),
        ),
        migrations.AddIndex(
            model_name="webhookevent",
            index=models.Index(
                condition=models.Q(("type", "session.refused")), fields=["project", "-created_at"], name="event_refused"
            ),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(fields=["recipient", "-created_at"], name="wrong_code_of_recipient"),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(fields=["session"], name="wrong_code_of_session"),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(fields=["project", "created_at"], name="wrong_code_of_project"),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(
                condition=models.Q(("is_settled", False), models.Q(("subnet", ""), _negated=True)),
                fields=["project", "subnet", "created_at"],
                name="wrong_code_of_subnet",
            ),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(
                condition=models.Q(("is_settled", False), models.Q(("subnet", ""), _negated=True)),
                fields=["project", "created_at"],
                name="wrong_code_of_strangers",
            ),
        ),
        migrations.AddIndex(
            model_name="guardedsend",
            index=models.Index(
                condition=models.Q(("verified_at__isnull", True)),
                fields=["project", "prefix", "created_at"],
                name="guarded_send_of_prefix",
            ),
        ),
        migrations.AddIndex(
            model_name="guardedsend",
            index=models.Index(fields=["project", "created_at"], name="guarded_send_of_project"),
        ),
        migrations.AddIndex(
            model_name="guardedsend",
            index=models.Index(
                condition=models.Q(("verified_at__isnull", True)),
                fields=["recipient"],
                name="guarded_send_of_recipient",
            ),
        ),
        migrations.RunPython(leave_out_indexes_for_like, migrations.RunPython.noop),
        migrations.RunPython(make_platform_row, migrations.RunPython.noop),
    ]
