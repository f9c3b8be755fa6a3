import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import verification.codes


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=100, unique=True)),
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
                ("code_length", models.PositiveSmallIntegerField(choices=[(4, "4"), (6, "6")], default=6)),
                ("code_digits", models.BooleanField(default=True)),
                ("code_letters", models.BooleanField(default=False)),
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
                        max_length=20,
                    ),
                ),
                (
                    "default_email_channel",
                    models.CharField(choices=[("email", "E-mail")], default="email", max_length=20),
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
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("code_length__in", (4, 6))), name="project_code_length"),
                    models.CheckConstraint(
                        condition=models.Q(("code_digits", True), ("code_letters", True), _connector="OR"),
                        name="project_code_alphabet",
                    ),
                ],
            },
        ),
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
                (
                    "hook_secret",
                    models.CharField(default=verification.codes.generate_hook_secret, editable=False, max_length=64),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
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
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="keys", to="verification.project"
                    ),
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
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="verification.project",
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
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel", "language"), name="template_once")
                ],
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
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel"), name="fallback_step_once"),
                    models.CheckConstraint(
                        condition=models.Q(("wait_seconds__gte", 5), ("wait_seconds__lte", 150)), name="fallback_wait"
                    ),
                ],
            },
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
                ("messages", models.PositiveIntegerField()),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "channel", "day"), name="daily_spend_once")],
            },
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
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="channels", to="verification.project"
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
            name="Recipient",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "address",
                    models.CharField(help_text="Canonical: E.164, or the lower-cased e-mail address.", max_length=254),
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
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recipients",
                        to="verification.project",
                    ),
                ),
            ],
            options={
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
                ("to", models.CharField(help_text="The phone number (E.164) or e-mail address.", max_length=254)),
                ("code", models.CharField(help_text="4 or 6 characters.", max_length=6)),
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
                "constraints": [
                    models.UniqueConstraint(fields=("project", "to"), name="test_login_once"),
                    models.CheckConstraint(
                        condition=models.Q(("code__regex", "^([0-9A-Z]{4}|[0-9A-Z]{6})$")), name="test_login_code"
                    ),
                ],
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
                ("key", models.CharField(max_length=255)),
                ("body_digest", models.BinaryField(max_length=32)),
                ("answer", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("api_key", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.apikey")),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "key"), name="idempotent_request_once")],
            },
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
            options={
                "constraints": [models.UniqueConstraint(fields=("recipient", "provider"), name="no_account_once")],
            },
        ),
        migrations.CreateModel(
            name="SeenHook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=200)),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "provider",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.provider"),
                ),
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
                    "prefix",
                    models.CharField(help_text="Numbers that begin so; the longest match holds.", max_length=16),
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
                "constraints": [models.UniqueConstraint(fields=("provider", "prefix"), name="sender_rule_once")],
            },
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.CharField(max_length=26, primary_key=True, serialize=False)),
                ("language", models.CharField(max_length=35)),
                ("code_digest", models.BinaryField(max_length=32)),
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
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(fields=["project", "-created_at"], name="session_of_project"),
                    models.Index(
                        condition=models.Q(("code_encrypted__isnull", False)),
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
                ],
            },
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
                    "code_encrypted",
                    models.BinaryField(help_text="The code of a manual send, until it is final.", null=True),
                ),
                ("callback_url", models.CharField(blank=True, max_length=2048)),
                ("provider_message_id", models.CharField(blank=True, max_length=255, null=True)),
                ("claims", models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it.")),
                (
                    "lost_leases",
                    models.PositiveSmallIntegerField(default=0, help_text="How often a worker died with it."),
                ),
                ("claimed_at", models.DateTimeField(null=True)),
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
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="messages",
                        to="verification.provider",
                    ),
                ),
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
                        condition=models.Q(("expires_at__gt", models.F("created_at"))), name="message_expires_later"
                    ),
                ],
            },
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
            options={
                "constraints": [models.UniqueConstraint(fields=("provider", "account_id"), name="bot_chat_once")],
            },
        ),
        migrations.CreateModel(
            name="VerifyToken",
            fields=[
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
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
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "recipient",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.recipient"
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="wrong_codes",
                        to="verification.session",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["recipient", "-created_at"], name="wrong_code_of_recipient"),
                    models.Index(fields=["session"], name="wrong_code_of_session"),
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
                ("url", models.CharField(max_length=2048)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="callback_due")
                ],
            },
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
                ("latency_ms", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
            ],
            options={
                "ordering": ("id",),
                "indexes": [models.Index(fields=["provider", "-created_at"], name="attempt_of_provider")],
            },
        ),
        migrations.CreateModel(
            name="CallbackAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("error", models.CharField(blank=True, max_length=200)),
                ("latency_ms", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "callback",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="attempts", to="verification.callback"
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
            },
        ),
        migrations.AddField(
            model_name="project",
            name="members",
            field=models.ManyToManyField(
                related_name="projects", through="verification.Membership", to=settings.AUTH_USER_MODEL
            ),
        ),
    ]
