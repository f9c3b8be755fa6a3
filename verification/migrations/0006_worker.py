"""A table of the workers that run."""

import uuid

import django.contrib.postgres.fields
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0005_stored_digests"),
    ]

    operations = [
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
    ]
