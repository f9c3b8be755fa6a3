import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import verification.models.recipients


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "__first__"),
    ]

    operations = [
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
            ],
            options={
                "verbose_name": "ceilings",
                "verbose_name_plural": "ceilings",
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="platform_one_row")],
            },
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recovery_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("digest", models.BinaryField(max_length=32)),
                ("used_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("used_at", None)), fields=["digest"], name="recovery_code_unused")
                ],
            },
        ),
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="second_factor",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("secret", models.BinaryField(help_text="Encrypted.")),
                ("confirmed_at", models.DateTimeField(null=True)),
                (
                    "last_step",
                    models.BigIntegerField(
                        default=0, help_text="The step of time of the last code; none is good twice."
                    ),
                ),
                ("failures", models.PositiveIntegerField(default=0, help_text="Wrong codes in a row.")),
                ("failed_at", models.DateTimeField(null=True)),
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
            name="Project",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(help_text="Messages carry it.", max_length=100, unique=True)),
                (
                    "is_enabled",
                    models.BooleanField(
                        default=True, help_text="A disabled project's keys answer 401 and nothing of it is sent."
                    ),
                ),
                (
                    "site_url",
                    models.URLField(blank=True, help_text="Where a channel without a link of its own points."),
                ),
                (
                    "origins",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255),
                        blank=True,
                        default=list,
                        help_text="Browser origins that may call the session endpoints, e.g. https://app.example.com.",
                        size=None,
                    ),
                ),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=35),
                        blank=True,
                        default=list,
                        help_text="Languages offered to Accept-Language. Empty means every language there is a text in.",
                        size=None,
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        default="en", help_text="The language where nothing else is known.", max_length=35
                    ),
                ),
                (
                    "code_length",
                    models.PositiveSmallIntegerField(
                        choices=[(4, "4"), (6, "6")],
                        default=6,
                        help_text="6 is the safe choice: a code of 4 is guessed a hundred times as easily.",
                    ),
                ),
                ("code_digits", models.BooleanField(default=True, help_text="Codes have digits.")),
                (
                    "code_letters",
                    models.BooleanField(
                        default=False,
                        help_text="Codes have letters, without look-alikes. At least one of the two must be on.",
                    ),
                ),
                (
                    "new_code_on_send",
                    models.BooleanField(
                        default=False,
                        help_text="Draw a new code for every send of a session instead of sending the same one.",
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
                    ),
                ),
                (
                    "default_email_channel",
                    models.CharField(
                        choices=[("email", "E-mail")],
                        default="email",
                        help_text="The same for an e-mail address.",
                        max_length=20,
                    ),
                ),
                (
                    "allow_voip",
                    models.BooleanField(
                        default=False,
                        help_text="Send SMS to VoIP and personal numbers too (they are easy to get by the thousand).",
                    ),
                ),
                ("test_logins_enabled", models.BooleanField(default=True, help_text="One switch for all test logins.")),
                (
                    "code_in_subject",
                    models.BooleanField(
                        default=False,
                        help_text="Put the code into the subject of e-mails, where notifications show it.",
                    ),
                ),
                (
                    "web_otp_domain",
                    models.CharField(
                        blank=True,
                        help_text="Ends SMS with @domain #code, which browsers and iOS fill in by themselves.",
                        max_length=253,
                    ),
                ),
                (
                    "android_hash",
                    models.CharField(
                        blank=True, help_text="The 11 characters by which Android hands SMS to your app.", max_length=11
                    ),
                ),
                (
                    "sends_per_10_minutes",
                    models.PositiveIntegerField(
                        default=5, help_text="Messages to one recipient in 10 minutes. 0 switches the limit off."
                    ),
                ),
                (
                    "sends_per_hour",
                    models.PositiveIntegerField(
                        default=10, help_text="Messages to one recipient in an hour. 0 switches the limit off."
                    ),
                ),
                (
                    "sends_per_day",
                    models.PositiveIntegerField(
                        default=20, help_text="Messages to one recipient in a day. 0 switches the limit off."
                    ),
                ),
                (
                    "wrong_codes_per_15_minutes",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="Wrong codes for one recipient in 15 minutes (half of that for codes of 4). 0 switches the limit off.",
                    ),
                ),
                (
                    "wrong_codes_per_day",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="Wrong codes for one recipient in a day (half of that for codes of 4). 0 switches the limit off.",
                    ),
                ),
                (
                    "creates_per_address",
                    models.PositiveIntegerField(
                        default=300,
                        help_text="Session creates from one client address in 10 minutes. 0 switches the limit off.",
                    ),
                ),
                (
                    "requests_per_second",
                    models.PositiveIntegerField(
                        default=200,
                        help_text="Session creates and manual sends of the project in a second. 0 switches the limit off.",
                    ),
                ),
                (
                    "server_addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.GenericIPAddressField(),
                        blank=True,
                        default=list,
                        help_text="Addresses of the customer's own servers, which the limit per client address leaves alone.",
                        size=None,
                    ),
                ),
                (
                    "countries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2),
                        blank=True,
                        default=list,
                        help_text="ISO regions that phone numbers may be of, such as DE. Empty means every country.",
                        size=None,
                    ),
                ),
                (
                    "alert_emails",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.EmailField(max_length=254),
                        blank=True,
                        default=list,
                        help_text="Who is mailed of blocks, spent budgets and the like. Empty means the project's members.",
                        size=None,
                    ),
                ),
                (
                    "alert_url",
                    models.URLField(
                        blank=True,
                        help_text="Called with each alert, signed as callbacks are. https only.",
                        max_length=2048,
                    ),
                ),
                (
                    "secret_key_networks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43),
                        blank=True,
                        default=list,
                        help_text="Networks from which the secret keys are taken, e.g. 203.0.113.0/24. Empty means from anywhere.",
                        size=None,
                    ),
                ),
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
                    ),
                ),
                (
                    "guard_prefix_numbers",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="Unverified numbers, all alike but for their last 4 digits, that get a code within the window. 0 switches the limit off.",
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
                    ),
                ),
                (
                    "guard_country_sends",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="SMS and calls to a country from which on its conversion is judged. 0 switches the limit off.",
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
                    ),
                ),
                (
                    "guard_block_minutes",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="How long the first block lasts; each repeat doubles it.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10080),
                        ],
                    ),
                ),
                (
                    "guard_block_max_minutes",
                    models.PositiveIntegerField(
                        default=720,
                        help_text="How long a block lasts at most.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10080),
                        ],
                    ),
                ),
                (
                    "guard_quiet_hours",
                    models.PositiveIntegerField(
                        default=24,
                        help_text="So long after a block's end the next one is a first one.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(720),
                        ],
                    ),
                ),
                (
                    "guess_minutes",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="The window of the alarms on guessing.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(60),
                        ],
                    ),
                ),
                (
                    "guess_wrong_checks",
                    models.PositiveIntegerField(
                        default=200,
                        help_text="Wrong codes in the project that raise an alarm. 0 switches the limit off.",
                    ),
                ),
                (
                    "guess_wrong_percent",
                    models.PositiveIntegerField(
                        default=60,
                        help_text="The share of all checks that they must exceed for it.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                (
                    "guess_network_recipients",
                    models.PositiveIntegerField(
                        default=50,
                        help_text="Recipients for whom one client network enters wrong codes; twice as many keep it from checking. 0 switches the limit off.",
                    ),
                ),
                (
                    "guess_same_value_sessions",
                    models.PositiveIntegerField(
                        default=20,
                        help_text="Sessions on which one and the same wrong code is tried. 0 switches the limit off.",
                    ),
                ),
                (
                    "retention_days",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="Days after which sessions, messages and recipients of whom nothing is left go.",
                        validators=[django.core.validators.MinValueValidator(1)],
                    ),
                ),
                (
                    "retention_mode",
                    models.CharField(
                        choices=[("remove", "Remove the rows"), ("hash", "Keep the rows, hash the addresses")],
                        default="remove",
                        help_text="What becomes of them then.",
                        max_length=6,
                    ),
                ),
                (
                    "challenge_mode",
                    models.CharField(
                        choices=[("off", "Off"), ("always", "Always"), ("suspicion", "On suspicion")],
                        default="off",
                        help_text="Whether a caller has to prove that they are no bot before a session is created or a code sent.",
                        max_length=9,
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
                    ),
                ),
                (
                    "challenge_site_key",
                    models.CharField(
                        blank=True,
                        help_text="The public key of the account at the provider. ALTCHA needs none.",
                        max_length=200,
                    ),
                ),
                (
                    "challenge_secret",
                    models.BinaryField(
                        help_text="The secret key of the account at the provider. ALTCHA needs none.", null=True
                    ),
                ),
                (
                    "challenge_hosts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253),
                        blank=True,
                        default=list,
                        help_text="Host names that the provider's widget may stand on, or names of Android packages. Empty means the hosts of the origins.",
                        size=None,
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
                    ),
                ),
                (
                    "challenge_fails_open",
                    models.BooleanField(
                        default=False,
                        help_text="Let callers in unchallenged while the provider does not answer. Otherwise they get a 503.",
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("retention_days__gte", 1)), name="project_retention_days"
                    ),
                    models.CheckConstraint(condition=models.Q(("code_length__in", (4, 6))), name="project_code_length"),
                    models.CheckConstraint(
                        condition=models.Q(("code_digits", True), ("code_letters", True), _connector="OR"),
                        name="project_code_alphabet",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("challenge_mode__in", ["off", "always", "suspicion"])),
                        name="project_challenge_mode",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("challenge_mode", "off"),
                            ("challenge_provider", "altcha"),
                            models.Q(
                                models.Q(("challenge_site_key", ""), _negated=True), ("challenge_secret__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="project_challenge_has_keys",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="alerts", to="verification.project"
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=120)),
                ("title", models.CharField(max_length=200)),
                ("detail", models.TextField()),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("error", models.CharField(blank=True, help_text="Why the last try failed.", max_length=200)),
                ("due_at", models.DateTimeField(null=True)),
                ("mailed_at", models.DateTimeField(null=True)),
                ("posted_at", models.DateTimeField(null=True)),
                ("read_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(fields=["project", "-created_at"], name="alert_of_project"),
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="alert_due"),
                ],
                "constraints": [models.UniqueConstraint(fields=("project", "kind", "key"), name="alert_once")],
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="keys", to="verification.project"
                    ),
                ),
                ("kind", models.CharField(choices=[("api", "API key"), ("secret", "Secret key")], max_length=6)),
                ("prefix", models.CharField(editable=False, max_length=20)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
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
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "last_used_at",
                    models.DateTimeField(blank=True, editable=False, help_text="To the minute.", null=True),
                ),
            ],
            options={
                "verbose_name": "key",
                "ordering": ("-created_at",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("kind__in", ["api", "secret"])), name="key_kind"),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))), name="key_expires_later"
                    ),
                ],
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
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="verification.project",
                    ),
                ),
                (
                    "object_type",
                    models.CharField(blank=True, help_text="Such as verification.provider.", max_length=50),
                ),
                ("object_id", models.CharField(blank=True, max_length=40)),
                ("object_label", models.CharField(blank=True, max_length=255)),
                ("changes", models.JSONField(default=dict, help_text="By column: the value before and after.")),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit entries",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="channels", to="verification.project"
                    ),
                ),
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
                ("image_url", models.URLField(blank=True, help_text="The icon. Empty means ours.")),
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
                        help_text="Messages a day (UTC) at the most; a hard stop. Empty means no budget.",
                        null=True,
                    ),
                ),
                (
                    "countries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2),
                        blank=True,
                        default=list,
                        help_text="Narrows the project's countries for this channel. Empty means as the project.",
                        size=None,
                    ),
                ),
            ],
            options={
                "ordering": ("position", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "type"), name="channel_once"),
                    models.CheckConstraint(
                        condition=models.Q(("type__in", ["sms", "email", "messenger_a", "messenger_b", "voice"])),
                        name="channel_type",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DailySpend",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
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
                ("messages", models.PositiveIntegerField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "channel", "day"), name="daily_spend_once")],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
                ("rule", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=120)),
                ("hour", models.DateTimeField()),
                ("count", models.PositiveIntegerField(default=1)),
                ("figures", models.JSONField(default=dict)),
                ("first_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ("-last_at",),
                "indexes": [models.Index(fields=["project", "-last_at"], name="decision_of_project")],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "rule", "hour", "subject"), name="decision_once_an_hour")
                ],
            },
        ),
        migrations.CreateModel(
            name="FallbackStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="fallback_steps",
                        to="verification.project",
                    ),
                ),
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
            ],
            options={
                "ordering": ("position", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel"), name="fallback_step_once"),
                    models.CheckConstraint(
                        condition=models.Q(("wait_seconds__gte", 5), ("wait_seconds__lte", 150)), name="fallback_wait"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GuardBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="guard_blocks",
                        to="verification.project",
                    ),
                ),
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
            ],
            options={
                "verbose_name": "block",
                "ordering": ("-since",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_announced", False)), fields=["project"], name="guard_block_to_announce"
                    ),
                    models.Index(
                        condition=models.Q(("rule__in", ("wrong_codes", "same_guess", "network", "network_refused"))),
                        fields=["project", "until"],
                        name="guard_block_of_guessing",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "subject", "rule"), name="guard_block_once"),
                    models.CheckConstraint(
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
                                ],
                            )
                        ),
                        name="guard_block_rule",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("until__gt", models.F("since"))), name="guard_block_ends_later"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ListEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
            ],
            options={
                "verbose_name": "list entry",
                "verbose_name_plural": "list entries",
                "ordering": ("-created_at", "-id"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "kind", "subject", "value"), name="list_entry_once", nulls_distinct=False
                    ),
                    models.CheckConstraint(condition=models.Q(("kind__in", ["block", "safe"])), name="list_entry_kind"),
                    models.CheckConstraint(
                        condition=models.Q(("subject__in", ["recipient", "prefix", "domain", "country", "client"])),
                        name="list_entry_subject",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="verification.project",
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
                (
                    "sees_addresses",
                    models.BooleanField(
                        default=False, help_text="May show a recipient's whole address, one at a time and on record."
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "user"), name="membership_once")],
            },
        ),
        migrations.CreateModel(
            name="MessageTemplate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="templates", to="verification.project"
                    ),
                ),
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
            ],
            options={
                "verbose_name": "message text",
                "ordering": ("channel", "language"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel", "language"), name="template_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Provider",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="providers",
                        to="verification.project",
                    ),
                ),
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
                        help_text="Serve only numbers that begin so, e.g. +49, +43. Empty means every number.",
                        size=None,
                    ),
                ),
                (
                    "except_prefixes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        blank=True,
                        default=list,
                        help_text="Never serve numbers that begin so.",
                        size=None,
                    ),
                ),
                ("settings", models.JSONField(blank=True, default=dict)),
                ("secrets", models.BinaryField(null=True)),
                ("hook_secret", models.BinaryField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "ordering": ("priority", "id"),
                "indexes": [models.Index(fields=["channel", "project"], name="provider_of_channel")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("channel__in", ["sms", "email", "messenger_a", "messenger_b", "voice"])),
                        name="provider_channel",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Recipient",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recipients",
                        to="verification.project",
                    ),
                ),
                (
                    "address",
                    models.CharField(help_text="Canonical: E.164, or the lower-cased e-mail address.", max_length=254),
                ),
                (
                    "mailbox",
                    models.GeneratedField(
                        db_persist=True,
                        expression=verification.models.recipients.Mailbox("address"),
                        help_text="Whose limits of sends it shares; null for a phone number.",
                        output_field=models.CharField(max_length=254, null=True),
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
            ],
            options={
                "indexes": [
                    models.Index(fields=["address"], name="recipient_of_all_projects"),
                    models.Index(
                        condition=models.Q(("mailbox__isnull", False)),
                        fields=["project", "mailbox"],
                        name="recipient_mailbox",
                    ),
                    models.Index(
                        condition=models.Q(("forgotten_at__isnull", False)),
                        fields=["forgotten_at"],
                        name="recipient_forgotten",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "address"), name="recipient_once"),
                    models.CheckConstraint(
                        condition=models.Q(("address", ""), _negated=True), name="recipient_address"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TestLogin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="test_logins",
                        to="verification.project",
                    ),
                ),
                ("to", models.CharField(help_text="The phone number (E.164) or e-mail address.", max_length=254)),
                ("code_encrypted", models.BinaryField()),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "ordering": ("to",),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "to"), name="test_login_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsedChallenge",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["expires_at"], name="used_challenge_to_purge")],
            },
        ),
        migrations.CreateModel(
            name="WebhookSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook_secrets",
                        to="verification.project",
                    ),
                ),
                ("secret", models.BinaryField(help_text="Encrypted.")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.AddField(
            model_name="project",
            name="members",
            field=models.ManyToManyField(
                related_name="projects", through="verification.Membership", to=settings.AUTH_USER_MODEL
            ),
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
            name="IdempotentRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
                ("key", models.CharField(max_length=255)),
                ("api_key", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.apikey")),
                ("body_digest", models.BinaryField(max_length=32)),
                ("answer", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "key"), name="idempotent_request_once")],
            },
        ),
        migrations.CreateModel(
            name="NoAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "recipient",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.recipient"),
                ),
                (
                    "provider",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.provider"),
                ),
                ("noted_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("recipient", "provider"), name="no_account_once")],
            },
        ),
        migrations.CreateModel(
            name="SeenHook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "provider",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.provider"),
                ),
                ("key", models.CharField(max_length=200)),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "indexes": [models.Index(fields=["seen_at"], name="seen_hook_age")],
                "constraints": [models.UniqueConstraint(fields=("provider", "key"), name="seen_hook_once")],
            },
        ),
        migrations.CreateModel(
            name="SenderRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sender_rules",
                        to="verification.provider",
                    ),
                ),
                (
                    "prefix",
                    models.CharField(help_text="Numbers that begin so; the longest match holds.", max_length=16),
                ),
                ("sender", models.CharField(blank=True, max_length=40)),
                ("dlt_entity_id", models.CharField(blank=True, max_length=40, verbose_name="DLT entity id")),
                ("dlt_template_id", models.CharField(blank=True, max_length=40, verbose_name="DLT template id")),
            ],
            options={
                "ordering": ("prefix",),
                "constraints": [models.UniqueConstraint(fields=("provider", "prefix"), name="sender_rule_once")],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.CharField(max_length=26, primary_key=True, serialize=False)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to="verification.recipient",
                    ),
                ),
                ("language", models.CharField(max_length=35)),
                ("code_digest", models.BinaryField(max_length=32, null=True)),
                ("code_encrypted", models.BinaryField(null=True)),
                ("code_length", models.PositiveSmallIntegerField()),
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
                ("is_challenged", models.BooleanField(default=False, help_text="Whether a challenge was passed.")),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("attempts_max", models.PositiveSmallIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(fields=["project", "-created_at"], name="session_of_project"),
                    models.Index(
                        condition=models.Q(("code_digest__isnull", False)),
                        fields=["expires_at"],
                        name="session_code_to_wipe",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_open", True)),
                        fields=("recipient",),
                        name="session_one_open_per_recipient",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("attempts__lte", models.F("attempts_max"))), name="session_attempts"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))), name="session_expires_later"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verified_at", None),
                            models.Q(("code_digest", None), ("code_encrypted", None)),
                            _connector="OR",
                        ),
                        name="session_code_wiped_when_verified",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "recipient",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
                        to="verification.recipient",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
                        to="verification.provider",
                    ),
                ),
                ("account_id", models.CharField(max_length=64)),
                ("is_active", models.BooleanField(default=True)),
                ("bound_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "recipient"), name="subscription_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("is_active", True)),
                        fields=("provider", "account_id"),
                        name="subscription_one_recipient_per_account",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
            ],
            options={
                "ordering": ("-created_at",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("lifted_at__isnull", True)),
                        fields=("recipient", "channel"),
                        name="suppression_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BotChat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "provider",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.provider"),
                ),
                ("account_id", models.CharField(max_length=64)),
                (
                    "session",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, to="verification.session"
                    ),
                ),
                ("language", models.CharField(blank=True, max_length=35)),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("provider", "account_id"), name="bot_chat_once")],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="verification.recipient",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="verification.session",
                    ),
                ),
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
                    "code_encrypted",
                    models.BinaryField(help_text="The code of a manual send, until it is sent.", null=True),
                ),
                ("callback_url", models.CharField(blank=True, max_length=2048)),
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
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="messages",
                        to="verification.provider",
                    ),
                ),
                ("provider_message_id", models.CharField(blank=True, max_length=255, null=True)),
                ("claims", models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it.")),
                (
                    "lost_leases",
                    models.PositiveSmallIntegerField(default=0, help_text="How often a worker died with it."),
                ),
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
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("session__isnull", False)), fields=["session"], name="message_of_session"
                    ),
                    models.Index(fields=["recipient", "-created_at"], name="message_of_recipient"),
                    models.Index(fields=["project", "-created_at"], name="message_of_project"),
                    models.Index(
                        condition=models.Q(("status__in", ("queued", "sending"))),
                        fields=["-created_at"],
                        name="message_due",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ("queued", "sending"))),
                        fields=["expires_at"],
                        name="message_expires",
                    ),
                    models.Index(
                        condition=models.Q(("fallback_at__isnull", False)),
                        fields=["fallback_at"],
                        name="message_falls_back",
                    ),
                    models.Index(
                        condition=models.Q(("status", "sent")), fields=["due_at"], name="message_awaits_receipt"
                    ),
                    models.Index(
                        condition=models.Q(("provider_message_id__isnull", False)),
                        fields=["provider", "provider_message_id"],
                        name="message_by_provider_id",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["queued", "sending", "sent", "success", "failed", "expired"])
                        ),
                        name="message_status",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", False), ("status__in", ("success", "failed", "expired"))),
                            models.Q(
                                models.Q(("status__in", ("success", "failed", "expired")), _negated=True),
                                ("finished_at__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="message_finished_when_final",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("code_encrypted", None), ("status__in", ("queued", "sending")), _connector="OR"
                        ),
                        name="message_code_wiped_when_sent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))), name="message_expires_later"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="VerifyToken",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verify_token",
                        to="verification.session",
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))),
                        name="verify_token_expires_later",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WrongCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                ("network", models.CharField(db_default="", default="", max_length=43)),
                ("guess", models.BinaryField(max_length=16, null=True)),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="wrong_codes",
                        to="verification.session",
                    ),
                ),
                (
                    "recipient",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.recipient"
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "indexes": [
                    models.Index(fields=["recipient", "-created_at"], name="wrong_code_of_recipient"),
                    models.Index(fields=["session"], name="wrong_code_of_session"),
                    models.Index(fields=["project", "created_at"], name="wrong_code_of_project"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Callback",
            fields=[
                (
                    "message",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="callback",
                        serialize=False,
                        to="verification.message",
                    ),
                ),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
                ("url", models.CharField(max_length=2048)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["project", "due_at"], name="callback_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DeliveryAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "message",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="verification.message"
                    ),
                ),
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
                ("provider_name", models.CharField(max_length=80)),
                ("outcome", models.CharField(max_length=20)),
                ("provider_message_id", models.CharField(max_length=255, null=True)),
                ("provider_status", models.CharField(blank=True, max_length=100)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("latency_ms", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ("id",),
                "indexes": [models.Index(fields=["provider", "-created_at"], name="attempt_of_provider")],
            },
        ),
        migrations.CreateModel(
            name="GuardedSend",
            fields=[
                (
                    "message",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="guarded_send",
                        serialize=False,
                        to="verification.message",
                    ),
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
                ("prefix", models.CharField(help_text="The number without its last 4 digits.", max_length=16)),
                ("country", models.CharField(help_text="ISO 3166, empty for a network of no country.", max_length=3)),
                ("is_manual", models.BooleanField()),
                ("created_at", models.DateTimeField()),
                (
                    "verified_at",
                    models.DateTimeField(help_text="When session/verify proved the number after this send.", null=True),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("verified_at__isnull", True)),
                        fields=["project", "prefix", "created_at"],
                        name="guarded_send_of_prefix",
                    ),
                    models.Index(fields=["project", "created_at"], name="guarded_send_of_project"),
                ],
            },
        ),
        migrations.CreateModel(
            name="CallbackAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "callback",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="verification.callback"
                    ),
                ),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=200)),
                ("latency_ms", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ("id",),
            },
        ),
    ]
