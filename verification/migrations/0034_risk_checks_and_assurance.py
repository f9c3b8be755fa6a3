# Risk checks before a paid send: a project's settings, and what was said of a number. The standard that its codes keep to.

import django.contrib.postgres.fields
import django.contrib.postgres.validators
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from verification.migrations._state import StateAtOnce


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0033_words_of_the_panel"),
    ]

    operations = [
        migrations.CreateModel(
            name="RiskVerdict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("check_name", models.CharField(max_length=20)),
                ("verdict", models.CharField(help_text="allow, challenge, deny or unknown.", max_length=9)),
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
        # The table that requests read comes last and in one statement, so that it is locked for as short as can be.
        StateAtOnce(
            [
                migrations.RunSQL(
                    'ALTER TABLE "verification_project"'
                    " ADD COLUMN \"assurance\" varchar(4) DEFAULT 'none' NOT NULL,"
                    " ADD COLUMN \"risk_callback_url\" varchar(2048) DEFAULT '' NOT NULL,"
                    " ADD COLUMN \"risk_camara_client\" varchar(200) DEFAULT '' NOT NULL,"
                    ' ADD COLUMN "risk_camara_secret" bytea NULL,'
                    " ADD COLUMN \"risk_camara_token_url\" varchar(2048) DEFAULT '' NOT NULL,"
                    " ADD COLUMN \"risk_camara_url\" varchar(2048) DEFAULT '' NOT NULL,"
                    ' ADD COLUMN "risk_checks_per_day" integer DEFAULT 1000 NOT NULL CHECK ("risk_checks_per_day" >= 0),'
                    ' ADD COLUMN "risk_fails_open" boolean DEFAULT true NOT NULL,'
                    ' ADD COLUMN "risk_max_score" smallint DEFAULT 75 NOT NULL CHECK ("risk_max_score" >= 0),'
                    " ADD COLUMN \"risk_prices\" varchar(60)[] DEFAULT '{}'::varchar(60)[] NOT NULL,"
                    " ADD COLUMN \"risk_sms\" varchar(20)[] DEFAULT '{}'::varchar(20)[] NOT NULL,"
                    ' ADD COLUMN "risk_swap_hours" smallint DEFAULT 72 NOT NULL CHECK ("risk_swap_hours" >= 0),'
                    " ADD COLUMN \"risk_twilio_account\" varchar(200) DEFAULT '' NOT NULL,"
                    ' ADD COLUMN "risk_twilio_secret" bytea NULL,'
                    " ADD COLUMN \"risk_voice\" varchar(20)[] DEFAULT '{}'::varchar(20)[] NOT NULL,"
                    " ADD COLUMN \"risk_vonage_application\" varchar(200) DEFAULT '' NOT NULL,"
                    ' ADD COLUMN "risk_vonage_key" bytea NULL',
                    'ALTER TABLE "verification_project"'
                    ' DROP COLUMN "assurance",'
                    ' DROP COLUMN "risk_callback_url",'
                    ' DROP COLUMN "risk_camara_client",'
                    ' DROP COLUMN "risk_camara_secret",'
                    ' DROP COLUMN "risk_camara_token_url",'
                    ' DROP COLUMN "risk_camara_url",'
                    ' DROP COLUMN "risk_checks_per_day",'
                    ' DROP COLUMN "risk_fails_open",'
                    ' DROP COLUMN "risk_max_score",'
                    ' DROP COLUMN "risk_prices",'
                    ' DROP COLUMN "risk_sms",'
                    ' DROP COLUMN "risk_swap_hours",'
                    ' DROP COLUMN "risk_twilio_account",'
                    ' DROP COLUMN "risk_twilio_secret",'
                    ' DROP COLUMN "risk_voice",'
                    ' DROP COLUMN "risk_vonage_application",'
                    ' DROP COLUMN "risk_vonage_key"',
                )
            ],
            [
                migrations.AddField(
                    model_name="project",
                    name="assurance",
                    field=models.CharField(
                        choices=[("none", "None"), ("nist", "NIST SP 800-63B-4")],
                        db_default="none",
                        default="none",
                        help_text="What the codes have to keep to. NIST's: six characters, a life of ten minutes at most, and none by e-mail.",
                        max_length=4,
                        verbose_name="standard",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_callback_url",
                    field=models.URLField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="An https URL that gets a request, signed like a callback. It must answer within 0.3 seconds.",
                        max_length=2048,
                        verbose_name="your server",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_camara_client",
                    field=models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The client id.",
                        max_length=200,
                        verbose_name="CAMARA client",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_camara_secret",
                    field=models.BinaryField(help_text="The client secret.", null=True, verbose_name="CAMARA secret"),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_camara_token_url",
                    field=models.URLField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The URL that issues access tokens for client credentials.",
                        max_length=2048,
                        verbose_name="CAMARA token URL",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_camara_url",
                    field=models.URLField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The API's URL up to its version, from the mobile operator.",
                        max_length=2048,
                        verbose_name="CAMARA URL",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_checks_per_day",
                    field=models.PositiveIntegerField(
                        db_default=1000,
                        default=1000,
                        help_text="Maximum in 24 hours. Beyond it, codes are sent without a check. 0 = no limit.",
                        verbose_name="checks per day",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_fails_open",
                    field=models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Send the code if a check does not answer in time. When off, the message fails.",
                        verbose_name="send if no check answers",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_max_score",
                    field=models.PositiveSmallIntegerField(
                        db_default=75,
                        default=75,
                        help_text="Numbers with this SMS pumping score from Twilio, or a higher one, get no code. 1 to 100.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="refuse from score",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_prices",
                    field=django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="What one check costs, for the Costs page, such as twilio_lookup 0.025 USD.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(4)],
                        verbose_name="prices",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_sms",
                    field=django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("twilio_lookup", "Twilio Lookup"),
                                ("vonage_identity", "Vonage Identity Insights"),
                                ("camara_sim_swap", "CAMARA SIM Swap"),
                                ("callback", "Your server"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="Services that check an unknown number before an SMS. Tried in this order: twilio_lookup, vonage_identity, camara_sim_swap, callback. Leave empty for none.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(4)],
                        verbose_name="before an SMS",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_swap_hours",
                    field=models.PositiveSmallIntegerField(
                        db_default=72,
                        default=72,
                        help_text="A number whose SIM was changed within this time gets no code. For Vonage and CAMARA.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(2400),
                        ],
                        verbose_name="hours after a SIM swap",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_twilio_account",
                    field=models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Account SID, or the SID of an API key.",
                        max_length=200,
                        verbose_name="Twilio account",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_twilio_secret",
                    field=models.BinaryField(
                        help_text="Auth token, or the secret of the API key.", null=True, verbose_name="Twilio secret"
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_voice",
                    field=django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("twilio_lookup", "Twilio Lookup"),
                                ("vonage_identity", "Vonage Identity Insights"),
                                ("camara_sim_swap", "CAMARA SIM Swap"),
                                ("callback", "Your server"),
                            ],
                            max_length=20,
                        ),
                        blank=True,
                        db_default=[],
                        default=list,
                        help_text="Services that check an unknown number before a call. Tried in this order: twilio_lookup, vonage_identity, camara_sim_swap, callback. Leave empty for none.",
                        size=None,
                        validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(4)],
                        verbose_name="before a call",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_vonage_application",
                    field=models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The id of the application.",
                        max_length=200,
                        verbose_name="Vonage application",
                    ),
                ),
                migrations.AddField(
                    model_name="project",
                    name="risk_vonage_key",
                    field=models.BinaryField(
                        help_text="The application's private key: all of the PEM file.",
                        null=True,
                        verbose_name="Vonage private key",
                    ),
                ),
            ],
        ),
    ]
