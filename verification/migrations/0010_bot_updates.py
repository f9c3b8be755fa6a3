"""What users do in bots is kept until a worker has acted on it, in place of the mere memory of calls."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0009_message_lost"),
    ]

    operations = [
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
        ),
        migrations.DeleteModel(
            name="SeenHook",
        ),
        migrations.AddIndex(
            model_name="botupdate",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)), fields=["provider", "id"], name="bot_update_due"
            ),
        ),
        migrations.AddIndex(
            model_name="botupdate",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["provider", "account_id", "id"],
                name="bot_update_of_chat",
            ),
        ),
        migrations.AddIndex(
            model_name="botupdate",
            index=models.Index(fields=["received_at"], name="bot_update_age"),
        ),
        migrations.AddConstraint(
            model_name="botupdate",
            constraint=models.UniqueConstraint(fields=("provider", "key"), name="bot_update_once"),
        ),
        migrations.AddConstraint(
            model_name="botupdate",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("due_at__isnull", False), ("event__isnull", False)),
                    models.Q(("account_id", ""), ("due_at", None), ("event__isnull", True)),
                    _connector="OR",
                ),
                name="bot_update_wiped_when_done",
            ),
        ),
    ]
