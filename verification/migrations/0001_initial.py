"""All tables. `makemigrations` wrote the operations; the two steps at the end are by hand."""

import datetime
import uuid

import django.contrib.postgres.fields
import django.contrib.postgres.functions
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

    dependencies = [
        ("auth", "__first__"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Provider",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("channel", models.CharField(max_length=20)),
                ("type", models.CharField(max_length=40)),
                ("name", models.CharField(max_length=80)),
                ("is_enabled", models.BooleanField(default=True)),
                ("priority", models.PositiveIntegerField(default=100)),
                ("weight", models.PositiveSmallIntegerField(default=1)),
                (
                    "only_prefixes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), blank=True, default=list, size=None
                    ),
                ),
                (
                    "except_prefixes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), blank=True, default=list, size=None
                    ),
                ),
                (
                    "only_domains",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                (
                    "except_domains",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                ("failed_costs", models.CharField(default="price", max_length=7)),
                ("price_list", models.PositiveIntegerField(default=0, editable=False)),
                ("settings", models.JSONField(blank=True, default=dict)),
                ("secrets", models.BinaryField(null=True)),
                ("hook_secret", models.BinaryField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("checked_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ("priority", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("channel__in", ["sms", "email", "messenger_a", "messenger_b", "voice"])),
                        name="provider_channel",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IdentityConnection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("system", models.CharField(max_length=20)),
                ("channel", models.CharField(blank=True, max_length=20)),
                ("name", models.CharField(max_length=80)),
                ("secret", models.BinaryField()),
                ("options", models.JSONField(blank=True, default=dict)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("last_used_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ("name", "id"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("channel__in", ["", "sms", "email", "messenger_a", "messenger_b", "voice"])
                        ),
                        name="connection_channel",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KillSwitch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("subject", models.CharField(max_length=20, unique=True)),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("since", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                ("event_url", models.URLField(blank=True, db_default="", default="", max_length=2048)),
                ("event_recipients", models.BooleanField(db_default=False, default=False)),
                ("alert_by_mail", models.BooleanField(db_default=True, default=True)),
                (
                    "alert_emails",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.EmailField(max_length=254), blank=True, default=list, size=None
                    ),
                ),
                ("alert_by_webhook", models.BooleanField(db_default=True, default=True)),
                ("alert_url", models.URLField(blank=True, max_length=2048)),
                ("balance_alert_days", models.PositiveSmallIntegerField(default=7)),
                ("alert_quiet_hours", models.CharField(blank=True, default="", max_length=11)),
                ("alert_time_zone", models.CharField(default="UTC", max_length=40)),
                ("alert_digest", models.BooleanField(default=False)),
                ("traffic_guard", models.CharField(default="enforce", max_length=7)),
                ("traffic_guard_manual", models.BooleanField(default=False)),
                ("guard_prefix_numbers", models.PositiveIntegerField(db_default=10, default=10)),
                ("guard_prefix_minutes", models.PositiveIntegerField(db_default=10, default=10)),
                ("guard_country_sends", models.PositiveIntegerField(db_default=30, default=30)),
                ("guard_country_percent", models.PositiveIntegerField(db_default=20, default=20)),
                ("guard_country_minutes", models.PositiveIntegerField(db_default=60, default=60)),
                ("guard_country_day", models.PositiveIntegerField(db_default=20, default=20)),
                ("guard_country_observe_days", models.PositiveIntegerField(db_default=7, default=7)),
                ("guard_network_countries", models.PositiveIntegerField(db_default=3, default=3)),
                ("guard_block_minutes", models.PositiveIntegerField(db_default=30, default=30)),
                ("guard_block_max_minutes", models.PositiveIntegerField(db_default=720, default=720)),
                ("guard_quiet_hours", models.PositiveIntegerField(db_default=24, default=24)),
                ("guard_known_days", models.PositiveIntegerField(db_default=90, default=90)),
                ("guess_minutes", models.PositiveIntegerField(db_default=10, default=10)),
                ("guess_wrong_checks", models.PositiveIntegerField(db_default=200, default=200)),
                ("guess_wrong_percent", models.PositiveIntegerField(db_default=60, default=60)),
                ("guess_network_recipients", models.PositiveIntegerField(db_default=50, default=50)),
                ("guess_same_value_sessions", models.PositiveIntegerField(db_default=20, default=20)),
                ("guess_assumed", models.PositiveIntegerField(db_default=30, default=30)),
                ("guess_heavy", models.PositiveIntegerField(db_default=500, default=500)),
                ("guess_subnet_day", models.PositiveIntegerField(db_default=50, default=50)),
                ("guess_subnet_tries", models.PositiveIntegerField(db_default=3, default=3)),
                ("challenge_mode", models.CharField(default="off", max_length=9)),
                ("challenge_provider", models.CharField(default="altcha", max_length=9)),
                ("challenge_site_key", models.CharField(blank=True, max_length=200)),
                ("challenge_secret", models.BinaryField(null=True)),
                (
                    "challenge_hosts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=253), blank=True, default=list, size=None
                    ),
                ),
                ("challenge_min_score", models.FloatField(default=0.5)),
                ("challenge_fails_open", models.BooleanField(default=False)),
                (
                    "risk_sms",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                (
                    "risk_voice",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                ("risk_fails_open", models.BooleanField(db_default=True, default=True)),
                ("risk_checks_per_day", models.PositiveIntegerField(db_default=1000, default=1000)),
                (
                    "risk_prices",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                ("risk_max_score", models.PositiveSmallIntegerField(db_default=75, default=75)),
                ("risk_swap_hours", models.PositiveSmallIntegerField(db_default=72, default=72)),
                ("risk_callback_url", models.URLField(blank=True, db_default="", default="", max_length=2048)),
                ("risk_twilio_account", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("risk_twilio_secret", models.BinaryField(null=True)),
                ("risk_vonage_application", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("risk_vonage_key", models.BinaryField(null=True)),
                ("risk_camara_url", models.URLField(blank=True, db_default="", default="", max_length=2048)),
                ("risk_camara_token_url", models.URLField(blank=True, db_default="", default="", max_length=2048)),
                ("risk_camara_client", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("risk_camara_secret", models.BinaryField(null=True)),
                ("name", models.CharField(max_length=100)),
                ("is_enabled", models.BooleanField(default=True)),
                ("is_sandbox", models.BooleanField(db_default=False, default=False)),
                ("site_url", models.URLField(blank=True)),
                ("code_length", models.PositiveSmallIntegerField(default=6)),
                ("code_digits", models.BooleanField(default=True)),
                ("code_letters", models.BooleanField(default=False)),
                ("assurance", models.CharField(db_default="none", default="none", max_length=4)),
                ("new_code_on_send", models.BooleanField(default=False)),
                ("session_seconds", models.PositiveSmallIntegerField(db_default=180, default=180)),
                ("language", models.CharField(default="en", max_length=35)),
                (
                    "languages",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=35), blank=True, default=list, size=None
                    ),
                ),
                ("code_in_subject", models.BooleanField(default=False)),
                ("web_otp_domain", models.CharField(blank=True, max_length=253)),
                ("android_hash", models.CharField(blank=True, max_length=11)),
                ("default_phone_channel", models.CharField(default="sms", max_length=20)),
                ("default_email_channel", models.CharField(default="email", max_length=20)),
                (
                    "countries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2), blank=True, default=list, size=None
                    ),
                ),
                ("allow_voip", models.BooleanField(default=False)),
                (
                    "extra_prefixes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=9), blank=True, db_default=[], default=list, size=None
                    ),
                ),
                ("sends_per_10_minutes", models.PositiveIntegerField(db_default=5, default=5)),
                ("sends_per_hour", models.PositiveIntegerField(db_default=10, default=10)),
                ("sends_per_day", models.PositiveIntegerField(db_default=20, default=20)),
                ("wrong_codes_per_15_minutes", models.PositiveIntegerField(db_default=10, default=10)),
                ("wrong_codes_per_day", models.PositiveIntegerField(db_default=20, default=20)),
                ("creates_per_address", models.PositiveIntegerField(db_default=300, default=300)),
                (
                    "server_addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.GenericIPAddressField(), blank=True, default=list, size=None
                    ),
                ),
                ("requests_per_second", models.PositiveIntegerField(db_default=200, default=200)),
                (
                    "origins",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255), blank=True, default=list, size=None
                    ),
                ),
                (
                    "secret_key_networks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=43), blank=True, default=list, size=None
                    ),
                ),
                ("test_logins_enabled", models.BooleanField(default=True)),
                ("twilio_endpoints", models.BooleanField(db_default=False, default=False)),
                ("retention_days", models.PositiveIntegerField(default=30)),
                ("retention_mode", models.CharField(default="remove", max_length=6)),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("deleted_at", models.DateTimeField(editable=False, null=True)),
                ("reported_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("deleted_at", None), ("is_enabled", False), _connector="OR"),
                        name="project_deleted_is_disabled",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("retention_days__range", (1, 3650))), name="project_retention_days"
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
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="WriteTrial",
            fields=[
                ("written_at", models.DateTimeField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=6)),
                ("prefix", models.CharField(editable=False, max_length=20)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
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
                ("number", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("browser", models.CharField(max_length=60)),
                ("network", models.CharField(max_length=60)),
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
                ("openings", models.PositiveIntegerField(default=0)),
                ("reason", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.CreateModel(
            name="ExchangeRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("currency", models.CharField(max_length=3)),
                ("account", models.CharField(max_length=3)),
                ("rate", models.DecimalField(decimal_places=12, max_digits=24)),
                ("valid_from", models.DateField()),
            ],
            options={
                "ordering": ("currency", "-valid_from"),
                "constraints": [
                    models.UniqueConstraint(fields=("currency", "account", "valid_from"), name="exchange_rate_once"),
                    models.CheckConstraint(condition=models.Q(("rate__gt", 0)), name="exchange_rate_positive"),
                ],
            },
        ),
        migrations.CreateModel(
            name="FactorTries",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("failures", models.PositiveIntegerField(default=0)),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("role", models.CharField(default="owner", max_length=10)),
                ("sees_addresses", models.BooleanField(default=False)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "developer", "analyst", "support"])),
                        name="membership_role",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Platform",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("sms_per_recipient_a_day", models.PositiveIntegerField(default=0)),
                ("max_daily_budget", models.PositiveIntegerField(default=0)),
                ("max_sends_per_day", models.PositiveIntegerField(default=0)),
                ("max_requests_per_second", models.PositiveIntegerField(default=0)),
                ("max_creates_per_address", models.PositiveIntegerField(default=0)),
                ("account_currency", models.CharField(default="USD", max_length=3)),
            ],
            options={
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
                ("language", models.CharField(max_length=35)),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("text", models.TextField(max_length=1000)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="templates", to="verification.project"
                    ),
                ),
            ],
            options={
                "ordering": ("channel", "language"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel", "language"), name="template_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("request", models.UUIDField(null=True)),
                ("caller_request", models.CharField(db_default="", default="", max_length=64)),
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("mailbox", models.BigIntegerField(null=True)),
                ("channel", models.CharField(max_length=20)),
                ("language", models.CharField(max_length=35)),
                ("status", models.CharField(default="queued", max_length=8)),
                ("error", models.CharField(blank=True, max_length=500, null=True)),
                ("is_test", models.BooleanField(default=False)),
                ("is_counted", models.BooleanField(default=True)),
                ("is_budgeted", models.BooleanField(db_default=False, default=False)),
                ("code_encrypted", models.BinaryField(null=True)),
                ("callback_url", models.CharField(blank=True, max_length=2048)),
                ("provider_message_id", models.CharField(blank=True, max_length=255, null=True)),
                ("claims", models.SmallIntegerField(default=0)),
                ("lost_leases", models.SmallIntegerField(default=0)),
                ("claimed_at", models.DateTimeField(null=True)),
                ("is_handed_over", models.BooleanField(db_default=False, default=False)),
                ("subnet", models.CharField(db_default="", default="", max_length=43)),
                ("traceparent", models.CharField(max_length=55, null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("due_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("fallback_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField()),
                ("sent_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("verified_at", models.DateTimeField(null=True)),
                (
                    "fallback_of",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="verification.message",
                    ),
                ),
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
                    "connection",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="verification.identityconnection",
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
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_counted", True), ("mailbox__isnull", False)),
                        fields=["mailbox", "created_at"],
                        name="message_of_mailbox",
                    ),
                    models.Index(fields=["project", "-created_at"], name="message_of_project"),
                    models.Index(
                        condition=models.Q(("caller_request", ""), _negated=True),
                        fields=["caller_request"],
                        name="message_of_request",
                    ),
                    models.Index(fields=["-created_at"], name="message_newest"),
                    models.Index(
                        condition=models.Q(("pinned_provider__isnull", False)),
                        fields=["pinned_provider"],
                        name="message_pinned",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ("failed", "expired"))),
                        fields=["project", "status", "-created_at"],
                        include=("id",),
                        name="message_lost_of_project",
                    ),
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
                        condition=models.Q(("sent_at__isnull", True), ("status__in", ("failed", "expired"))),
                        fields=["finished_at"],
                        name="message_lost",
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("kind", models.CharField(default="block", max_length=5)),
                ("subject", models.CharField(max_length=9)),
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
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("email", models.EmailField(max_length=254)),
                ("role", models.CharField(max_length=10)),
                ("sees_addresses", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("digest", models.BinaryField(max_length=32, null=True, unique=True)),
                ("due_at", models.DateTimeField(null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("language", models.CharField(db_default="en", default="en", max_length=10)),
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
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="invitation_due"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("project"),
                        django.db.models.functions.text.Lower("email"),
                        condition=models.Q(("ended_at__isnull", True)),
                        name="invitation_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "developer", "analyst", "support"])),
                        name="invitation_role",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="identityconnection",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="connections", to="verification.project"
            ),
        ),
        migrations.CreateModel(
            name="IdempotentRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("key", models.CharField(max_length=255)),
                ("body_digest", models.BinaryField(max_length=32)),
                ("answer_encrypted", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "api_key",
                    models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to="verification.apikey"),
                ),
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
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "key"), name="idempotent_request_once")],
            },
        ),
        migrations.CreateModel(
            name="HourlyRefusals",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            options={
                "indexes": [models.Index(fields=["hour"], name="hourly_refusals_to_purge")],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "hour", "rule", "country"), name="hourly_refusals_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="HourlyFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(blank=True, max_length=20)),
                ("provider_id", models.BigIntegerField()),
                ("country", models.CharField(blank=True, max_length=3)),
                ("language", models.CharField(max_length=35)),
                ("is_manual", models.BooleanField()),
                ("sessions", models.PositiveIntegerField(default=0)),
                ("sessions_sent", models.PositiveIntegerField(default=0)),
                ("sessions_delivered", models.PositiveIntegerField(default=0)),
                ("sessions_checked", models.PositiveIntegerField(default=0)),
                ("sessions_verified", models.PositiveIntegerField(default=0)),
                ("sessions_proved", models.PositiveIntegerField(default=0)),
                ("sessions_first", models.PositiveIntegerField(default=0)),
                ("messages", models.PositiveIntegerField(default=0)),
                ("messages_accepted", models.PositiveIntegerField(default=0)),
                ("messages_delivered", models.PositiveIntegerField(default=0)),
                ("messages_confirmed", models.PositiveIntegerField(default=0)),
                ("messages_failed", models.PositiveIntegerField(default=0)),
                ("messages_expired", models.PositiveIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("attempts_accepted", models.PositiveIntegerField(default=0)),
                (
                    "accept_times",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
                ),
                (
                    "receipt_times",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
                ),
                (
                    "verify_times",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
                ),
                ("hour", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["hour"], name="hourly_figures_to_purge")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "hour", "channel", "provider_id", "country", "language", "is_manual"),
                        name="hourly_figures_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HourlyFaults",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            options={
                "indexes": [models.Index(fields=["hour"], name="hourly_faults_to_purge")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "hour", "provider_id", "country", "outcome"), name="hourly_faults_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HourlyCosts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
                ("provider_id", models.BigIntegerField()),
                ("country", models.CharField(blank=True, max_length=3)),
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
            options={
                "indexes": [models.Index(fields=["hour"], name="hourly_costs_to_purge")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "hour", "channel", "provider_id", "country", "language", "currency"),
                        name="hourly_costs_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HostedPage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("is_enabled", models.BooleanField(default=False)),
                ("title", models.CharField(blank=True, max_length=60)),
                ("accent", models.CharField(default="#4f46e5", max_length=7)),
                (
                    "return_addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=500), blank=True, default=list, size=None
                    ),
                ),
                ("hand_over", models.CharField(default="form", max_length=8)),
                ("logo", models.BinaryField(null=True)),
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
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("is_enabled", False), models.Q(("return_addresses", []), _negated=True), _connector="OR"
                        ),
                        name="hosted_page_on_has_addresses",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("hand_over__in", ["form", "fragment"])), name="hosted_page_hand_over"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GuardBlock",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("rule", models.CharField(max_length=20)),
                ("subject", models.CharField(max_length=64)),
                ("level", models.PositiveSmallIntegerField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("figures", models.JSONField()),
                ("refused", models.PositiveIntegerField(default=0)),
                ("is_announced", models.BooleanField(default=False)),
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
                "ordering": ("-since",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_announced", False)), fields=["project"], name="guard_block_to_announce"
                    ),
                    models.Index(
                        condition=models.Q(
                            (
                                "rule__in",
                                (
                                    "network_countries",
                                    "wrong_codes",
                                    "same_guess",
                                    "network",
                                    "network_refused",
                                    "strangers",
                                ),
                            )
                        ),
                        fields=["project", "until"],
                        name="guard_block_about_callers",
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
                                    "network_countries",
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
                    models.CheckConstraint(
                        condition=models.Q(("until__gt", models.F("since"))), name="guard_block_ends_later"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FallbackStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("position", models.PositiveSmallIntegerField(default=0)),
                ("channel", models.CharField(max_length=20)),
                ("wait_seconds", models.PositiveSmallIntegerField(default=30)),
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
                "constraints": [models.UniqueConstraint(fields=("project", "channel"), name="fallback_step_once")],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("rule", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=120)),
                ("hour", models.DateTimeField()),
                ("country", models.CharField(blank=True, default="", max_length=3)),
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
                "indexes": [
                    models.Index(fields=["project", "-last_at"], name="decision_of_project"),
                    models.Index(fields=["subject", "project", "-last_at"], name="decision_of_subject"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "rule", "hour", "subject", "country"), name="decision_once_an_hour"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyUsers",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "day"), name="daily_users_once")],
            },
        ),
        migrations.CreateModel(
            name="DailySpend",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
                ("day", models.DateField()),
                ("messages", models.IntegerField()),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "channel", "day"), name="daily_spend_once")],
            },
        ),
        migrations.CreateModel(
            name="DailyFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(blank=True, max_length=20)),
                ("provider_id", models.BigIntegerField()),
                ("country", models.CharField(blank=True, max_length=3)),
                ("language", models.CharField(max_length=35)),
                ("is_manual", models.BooleanField()),
                ("sessions", models.PositiveIntegerField(default=0)),
                ("sessions_sent", models.PositiveIntegerField(default=0)),
                ("sessions_delivered", models.PositiveIntegerField(default=0)),
                ("sessions_checked", models.PositiveIntegerField(default=0)),
                ("sessions_verified", models.PositiveIntegerField(default=0)),
                ("sessions_proved", models.PositiveIntegerField(default=0)),
                ("sessions_first", models.PositiveIntegerField(default=0)),
                ("messages", models.PositiveIntegerField(default=0)),
                ("messages_accepted", models.PositiveIntegerField(default=0)),
                ("messages_delivered", models.PositiveIntegerField(default=0)),
                ("messages_confirmed", models.PositiveIntegerField(default=0)),
                ("messages_failed", models.PositiveIntegerField(default=0)),
                ("messages_expired", models.PositiveIntegerField(default=0)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("attempts_accepted", models.PositiveIntegerField(default=0)),
                (
                    "accept_times",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
                ),
                (
                    "receipt_times",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
                ),
                (
                    "verify_times",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), null=True, size=None),
                ),
                ("day", models.DateField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="verification.project"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="daily_figures_to_purge")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "day", "channel", "provider_id", "country", "language", "is_manual"),
                        name="daily_figures_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyCosts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
                ("provider_id", models.BigIntegerField()),
                ("country", models.CharField(blank=True, max_length=3)),
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
            options={
                "indexes": [models.Index(fields=["day"], name="daily_costs_to_purge")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("project", "day", "channel", "provider_id", "country", "language", "currency"),
                        name="daily_costs_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DailyChannelCost",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
                ("day", models.DateField()),
                ("amount", models.DecimalField(decimal_places=8, max_digits=28)),
                ("month_amount", models.DecimalField(db_default=0, decimal_places=8, default=0, max_digits=28)),
                ("currency", models.CharField(max_length=3)),
                ("project", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="verification.project")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel", "day"), name="daily_channel_cost_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Channel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("type", models.CharField(max_length=20)),
                ("name", models.CharField(blank=True, max_length=50)),
                ("is_active", models.BooleanField(default=True)),
                ("position", models.PositiveSmallIntegerField(default=0)),
                ("image_url", models.URLField(blank=True)),
                ("link", models.URLField(blank=True)),
                ("daily_budget", models.PositiveIntegerField(blank=True, null=True)),
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
                        output_field=models.PositiveIntegerField(null=True),
                    ),
                ),
                ("daily_cost_budget", models.PositiveIntegerField(blank=True, null=True)),
                ("monthly_cost_budget", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "countries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=2), blank=True, default=list, size=None
                    ),
                ),
                ("session_seconds", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("routing", models.CharField(db_default="fixed", default="fixed", max_length=10)),
                ("explore_percent", models.PositiveSmallIntegerField(db_default=5, default=5)),
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
                    models.CheckConstraint(
                        condition=models.Q(("routing__in", ["fixed", "shares", "best_price", "best_time"])),
                        name="channel_routing",
                    ),
                    models.CheckConstraint(condition=models.Q(("explore_percent__lte", 20)), name="channel_explores"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("who", models.CharField(max_length=150)),
                ("address", models.GenericIPAddressField(null=True)),
                ("action", models.CharField(max_length=200)),
                ("object_type", models.CharField(blank=True, max_length=50)),
                ("object_id", models.CharField(blank=True, max_length=40)),
                ("object_label", models.CharField(blank=True, max_length=255)),
                ("changes", models.JSONField(default=dict)),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("uuid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(max_length=10)),
                ("name", models.CharField(max_length=80)),
                ("secret", models.BinaryField()),
                ("chat", models.CharField(blank=True, default="", max_length=40)),
                ("is_enabled", models.BooleanField(default=True)),
                ("told_at", models.DateTimeField(editable=False, null=True)),
                ("tried_at", models.DateTimeField(editable=False, null=True)),
                ("error", models.CharField(blank=True, default="", editable=False, max_length=200)),
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["telegram", "slack", "apprise"])), name="alert_service_kind"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AlertOutcome",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("way", models.CharField(max_length=10)),
                ("tried_at", models.DateTimeField()),
                ("error", models.CharField(blank=True, default="", max_length=200)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="verification.project"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "way"), name="alert_outcome_once")],
            },
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=120)),
                ("title", models.CharField(max_length=200)),
                ("detail", models.TextField()),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=200)),
                ("due_at", models.DateTimeField(null=True)),
                ("mailed_at", models.DateTimeField(null=True)),
                ("posted_at", models.DateTimeField(null=True)),
                (
                    "told_services",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), null=True, size=None
                    ),
                ),
                ("read_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
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
                "indexes": [
                    models.Index(fields=["project", "-created_at"], name="alert_of_project"),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True), ("kind", "channel_down")),
                        fields=["kind"],
                        name="alert_of_outage",
                    ),
                    models.Index(condition=models.Q(("due_at__isnull", False)), fields=["due_at"], name="alert_due"),
                ],
                "constraints": [models.UniqueConstraint(fields=("project", "kind", "key"), name="alert_once")],
            },
        ),
        migrations.CreateModel(
            name="Recipient",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("address", models.CharField(max_length=254)),
                ("mailbox", models.CharField(max_length=254, null=True)),
                ("language", models.CharField(blank=True, max_length=35)),
                ("verified_channel", models.CharField(blank=True, max_length=20)),
                ("verified_at", models.DateTimeField(null=True)),
                ("known_at", models.DateTimeField(null=True)),
                ("known_since", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("forgotten_at", models.DateTimeField(null=True)),
                ("erased_hash", models.CharField(max_length=64, null=True)),
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
            options={
                "indexes": [
                    models.Index(fields=["address"], name="recipient_of_all_projects"),
                    models.Index(fields=["project", "-id"], name="recipient_of_project"),
                    models.Index(
                        condition=models.Q(("forgotten_at__isnull", False)),
                        fields=["forgotten_at"],
                        name="recipient_forgotten",
                    ),
                    models.Index(
                        condition=models.Q(("erased_hash__isnull", False)),
                        fields=["erased_hash"],
                        name="recipient_erased",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("project", "address"), name="recipient_once")],
            },
        ),
        migrations.CreateModel(
            name="NoAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            options={
                "indexes": [
                    models.Index(condition=models.Q(("used_at", None)), fields=["digest"], name="recovery_code_unused")
                ],
            },
        ),
        migrations.CreateModel(
            name="RiskVerdict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("check_name", models.CharField(max_length=20)),
                ("verdict", models.CharField(max_length=9)),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("latency_ms", models.PositiveIntegerField()),
                ("price", models.DecimalField(decimal_places=8, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "message",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="risk_verdicts",
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
            ],
            options={
                "indexes": [
                    models.Index(fields=["recipient", "-created_at"], name="risk_verdict_of_recipient"),
                    models.Index(fields=["project", "created_at"], name="risk_verdict_of_project"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RoutingRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("country", models.CharField(blank=True, default="", max_length=2)),
                ("percent", models.PositiveSmallIntegerField()),
                ("replaced", models.JSONField(editable=False, null=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routing_rules",
                        to="verification.project",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routing_rules",
                        to="verification.provider",
                    ),
                ),
            ],
            options={
                "ordering": ("country", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "provider", "country"), name="routing_rule_once"),
                    models.CheckConstraint(condition=models.Q(("percent__lte", 100)), name="routing_rule_percent"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("page", models.CharField(max_length=60)),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(blank=True, max_length=2000)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ("created_at", "id"),
                "constraints": [
                    models.UniqueConstraint(
                        models.F("user"),
                        models.F("page"),
                        django.db.models.functions.text.Lower("name"),
                        name="saved_view_name",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SecondFactor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("secret", models.BinaryField()),
                ("confirmed_at", models.DateTimeField(null=True)),
                ("last_step", models.BigIntegerField(default=0)),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("host", models.CharField(max_length=253)),
                ("credential", models.BinaryField(max_length=1023, unique=True)),
                ("public_key", models.BinaryField()),
                ("signatures", models.BigIntegerField(default=0)),
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
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("user"), django.db.models.functions.text.Lower("name"), name="security_key_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SenderRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("prefix", models.CharField(max_length=16)),
                ("sender", models.CharField(blank=True, max_length=40)),
                ("dlt_entity_id", models.CharField(blank=True, max_length=40)),
                ("dlt_template_id", models.CharField(blank=True, max_length=40)),
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
                ("request", models.UUIDField(null=True)),
                ("caller_request", models.CharField(db_default="", default="", max_length=64)),
                ("id", models.CharField(max_length=26, primary_key=True, serialize=False)),
                ("language", models.CharField(max_length=35)),
                ("code_digest", models.BinaryField(max_length=32, null=True)),
                ("code_encrypted", models.BinaryField(null=True)),
                ("code_length", models.SmallIntegerField()),
                ("code_digits", models.BooleanField()),
                ("code_letters", models.BooleanField()),
                ("channel", models.CharField(blank=True, max_length=20)),
                ("awaited_channel", models.CharField(blank=True, max_length=20)),
                ("reference", models.CharField(db_default="", default="", max_length=255)),
                ("refusal", models.CharField(blank=True, db_default="", default="", max_length=40)),
                ("link_payload", models.CharField(max_length=64)),
                ("is_open", models.BooleanField(default=True)),
                ("is_link_used", models.BooleanField(db_default=False, default=False)),
                ("is_test", models.BooleanField(default=False)),
                ("test_login", models.UUIDField(null=True)),
                ("is_challenged", models.BooleanField(default=False)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("attempts_max", models.SmallIntegerField()),
                ("subnet", models.CharField(db_default="", default="", max_length=43)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField(null=True)),
                ("cancelled_at", models.DateTimeField(null=True)),
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
                "indexes": [
                    models.Index(fields=["project", "-created_at"], name="session_of_project"),
                    models.Index(
                        condition=models.Q(("caller_request", ""), _negated=True),
                        fields=["caller_request"],
                        name="session_of_request",
                    ),
                    models.Index(
                        condition=models.Q(("reference", ""), _negated=True),
                        fields=["project", "reference", "-created_at"],
                        name="session_of_reference",
                    ),
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
                    models.UniqueConstraint(
                        condition=models.Q(("link_payload", ""), _negated=True),
                        fields=("link_payload",),
                        name="session_of_link",
                    ),
                ],
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            name="Subscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
                "indexes": [models.Index(fields=["provider", "account_id"], name="subscription_of_account")],
                "constraints": [models.UniqueConstraint(fields=("provider", "recipient"), name="subscription_once")],
            },
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
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
            name="TestLogin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("to", models.CharField(max_length=254)),
                ("code_encrypted", models.BinaryField()),
                (
                    "revision",
                    models.UUIDField(db_default=django.contrib.postgres.functions.RandomUUID(), editable=False),
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
                "constraints": [models.UniqueConstraint(fields=("project", "to"), name="test_login_once")],
            },
        ),
        migrations.CreateModel(
            name="TextVariant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("channel", models.CharField(max_length=20)),
                ("language", models.CharField(max_length=35)),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("text", models.TextField(max_length=1000)),
                ("share", models.PositiveSmallIntegerField()),
                ("since", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="text_variants",
                        to="verification.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "channel", "language"), name="text_variant_once"),
                    models.CheckConstraint(
                        condition=models.Q(("share__gte", 1), ("share__lte", 90)), name="text_variant_share"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TextVariantFigures",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("hour", models.DateTimeField()),
                ("is_variant", models.BooleanField()),
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
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("variant", "hour", "is_variant"), name="text_variant_hour_once")
                ],
            },
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
            options={
                "indexes": [models.Index(fields=["expires_at"], name="used_challenge_to_purge")],
            },
        ),
        migrations.CreateModel(
            name="VendorBalance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            options={
                "indexes": [models.Index(fields=["day"], name="vendor_balance_to_purge")],
                "constraints": [models.UniqueConstraint(fields=("provider", "day"), name="vendor_balance_once")],
            },
        ),
        migrations.CreateModel(
            name="VerifyToken",
            fields=[
                ("request", models.UUIDField(null=True)),
                ("caller_request", models.CharField(db_default="", default="", max_length=64)),
                ("digest", models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ("test_login", models.UUIDField(null=True)),
                ("subnet", models.CharField(db_default="", default="", max_length=43)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("used_key", models.BinaryField(max_length=32, null=True)),
                ("used_request", models.UUIDField(null=True)),
                ("used_caller_request", models.CharField(db_default="", default="", max_length=64)),
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
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("subnet", ""), _negated=True),
                        fields=["project", "subnet", "created_at"],
                        name="verify_token_of_subnet",
                    ),
                    models.Index(
                        condition=models.Q(("caller_request", ""), _negated=True),
                        fields=["caller_request"],
                        name="verify_token_of_request",
                    ),
                    models.Index(
                        condition=models.Q(("subnet", ""), _negated=True),
                        fields=["project", "created_at"],
                        name="verify_token_of_strangers",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("type", models.CharField(max_length=20)),
                ("channel", models.CharField(blank=True, db_default="", default="", max_length=20)),
                ("reason", models.CharField(blank=True, db_default="", default="", max_length=40)),
                ("subject", models.CharField(blank=True, db_default="", default="", max_length=120)),
                ("tells_recipient", models.BooleanField(db_default=False, default=False)),
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
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)), fields=["project", "due_at"], name="event_due"
                    ),
                    models.Index(fields=["project", "-created_at"], name="event_of_project"),
                    models.Index(fields=["-created_at"], name="event_newest"),
                    models.Index(
                        condition=models.Q(("session__isnull", False)), fields=["session"], name="event_of_session"
                    ),
                    models.Index(
                        condition=models.Q(("type", "session.refused")),
                        fields=["project", "-created_at"],
                        name="event_refused",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
                "ordering": ("id",),
            },
        ),
        migrations.CreateModel(
            name="WebhookSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("secret", models.BinaryField()),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("request", models.UUIDField(null=True)),
                ("caller_request", models.CharField(db_default="", default="", max_length=64)),
                ("network", models.CharField(db_default="", default="", max_length=43)),
                ("subnet", models.CharField(db_default="", default="", max_length=43)),
                ("guess", models.BinaryField(max_length=16, null=True)),
                ("is_settled", models.BooleanField(db_default=False, default=False)),
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
            options={
                "indexes": [
                    models.Index(fields=["recipient", "-created_at"], name="wrong_code_of_recipient"),
                    models.Index(fields=["session"], name="wrong_code_of_session"),
                    models.Index(
                        condition=models.Q(("caller_request", ""), _negated=True),
                        fields=["caller_request"],
                        name="wrong_code_of_request",
                    ),
                    models.Index(fields=["project", "created_at"], name="wrong_code_of_project"),
                    models.Index(
                        condition=models.Q(("is_settled", False), models.Q(("subnet", ""), _negated=True)),
                        fields=["project", "subnet", "created_at"],
                        name="wrong_code_of_subnet",
                    ),
                    models.Index(
                        condition=models.Q(("is_settled", False), models.Q(("subnet", ""), _negated=True)),
                        fields=["project", "created_at"],
                        name="wrong_code_of_strangers",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BreakerOpening",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
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
            name="ColumnChoice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("page", models.CharField(max_length=60)),
                (
                    "columns",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), size=None),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user", "page"), name="column_choice_once")],
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
                ("prefix", models.CharField(max_length=16)),
                ("country", models.CharField(max_length=3)),
                ("network", models.CharField(db_default="", default="", max_length=43)),
                ("is_manual", models.BooleanField()),
                ("is_handed", models.BooleanField(db_default=False, default=False)),
                ("created_at", models.DateTimeField()),
                ("verified_at", models.DateTimeField(null=True)),
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
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("verified_at__isnull", True)),
                        fields=["project", "prefix", "created_at"],
                        name="guarded_send_of_prefix",
                    ),
                    models.Index(fields=["project", "created_at"], name="guarded_send_of_project"),
                    models.Index(
                        condition=models.Q(("verified_at__isnull", True)),
                        fields=["recipient"],
                        name="guarded_send_of_recipient",
                    ),
                    models.Index(
                        condition=models.Q(("network", ""), _negated=True),
                        fields=["project", "network", "-created_at"],
                        name="guarded_send_of_network",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DeliveryAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("provider_name", models.CharField(max_length=80)),
                ("outcome", models.CharField(max_length=20)),
                ("provider_message_id", models.CharField(max_length=255, null=True)),
                ("provider_status", models.CharField(blank=True, max_length=100)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("latency_ms", models.IntegerField()),
                ("choice", models.CharField(blank=True, db_default="", default="", max_length=10)),
                ("segments", models.PositiveSmallIntegerField(null=True)),
                ("price", models.DecimalField(decimal_places=8, max_digits=20, null=True)),
                ("currency", models.CharField(max_length=3, null=True)),
                ("failed_at", models.DateTimeField(null=True)),
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
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("place", models.CharField(blank=True, max_length=16)),
                ("amount", models.DecimalField(decimal_places=8, max_digits=20)),
                ("currency", models.CharField(max_length=3)),
                ("per", models.CharField(max_length=7)),
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
            model_name="membership",
            constraint=models.UniqueConstraint(fields=("project", "user"), name="membership_once"),
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
        migrations.RunPython(leave_out_indexes_for_like, migrations.RunPython.noop),
        migrations.RunPython(make_platform_row, migrations.RunPython.noop),
    ]
