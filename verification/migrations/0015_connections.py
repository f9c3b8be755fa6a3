# Connections of identity systems: their rows, and what a message keeps of the one that handed its code over.

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0014_two_more_events"),
    ]

    operations = [
        migrations.AlterField(
            model_name="message",
            name="code_encrypted",
            field=models.BinaryField(
                help_text="The code of a manual send, until it is sent and nothing falls back from it.", null=True
            ),
        ),
        migrations.CreateModel(
            name="IdentityConnection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.UUIDField(default=uuid.uuid4, editable=False, unique=True, verbose_name="public id"),
                ),
                ("system", models.CharField(max_length=20, verbose_name="system")),
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
                        verbose_name="channel",
                    ),
                ),
                ("name", models.CharField(max_length=80, verbose_name="name")),
                ("secret", models.BinaryField(verbose_name="secret")),
                ("options", models.JSONField(blank=True, default=dict, verbose_name="options")),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name="created at"
                    ),
                ),
                (
                    "last_used_at",
                    models.DateTimeField(
                        editable=False, help_text="To the minute.", null=True, verbose_name="last used at"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="connections",
                        to="verification.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "verbose_name": "connection",
                "verbose_name_plural": "connections",
                "ordering": ("name", "id"),
            },
        ),
        migrations.AddConstraint(
            model_name="identityconnection",
            constraint=models.CheckConstraint(
                condition=models.Q(("channel__in", ["", "sms", "email", "messenger_a", "messenger_b", "voice"])),
                name="connection_channel",
            ),
        ),
        # The table that requests write comes last and in one statement, so that it is locked for as short as can be.
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    'ALTER TABLE "verification_message"'
                    ' ADD COLUMN "connection_id" bigint NULL,'
                    ' ADD COLUMN "fallback_of_id" bigint NULL,'
                    ' ADD COLUMN "verified_at" timestamp with time zone NULL',
                    'ALTER TABLE "verification_message"'
                    ' DROP COLUMN "connection_id",'
                    ' DROP COLUMN "fallback_of_id",'
                    ' DROP COLUMN "verified_at"',
                )
            ],
            [
                migrations.AddField(
                    model_name="message",
                    name="connection",
                    field=models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="verification.identityconnection",
                        verbose_name="connection",
                    ),
                ),
                migrations.AddField(
                    model_name="message",
                    name="fallback_of",
                    field=models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        help_text="The first message with this code, where an identity system handed the code over.",
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="verification.message",
                    ),
                ),
                migrations.AddField(
                    model_name="message",
                    name="verified_at",
                    field=models.DateTimeField(
                        help_text="When the customer's server reported that the user got in. Of a session its token tells.",
                        null=True,
                    ),
                ),
            ],
        ),
    ]
