# Projects choose among two more events: the end of any message, and a code that did not arrive. No table changes.

import django.contrib.postgres.fields
import django.contrib.postgres.validators
from django.db import migrations, models

EVENTS = [
    ("message.finished", "Message finished"),
    ("session.opened", "Session opened"),
    ("session.verified", "Session verified"),
    ("session.locked", "Session locked"),
    ("session.expired", "Session expired"),
    ("session.refused", "Session refused"),
    ("session.undelivered", "Code not delivered"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0013_key_of_a_redeemed_token"),
    ]

    operations = [
        migrations.AlterField(
            "project",
            "events",
            django.contrib.postgres.fields.ArrayField(
                models.CharField(choices=EVENTS, max_length=20),
                blank=True,
                db_default=[],
                default=list,
                help_text="What your server is told: message.finished, session.opened, session.verified,"
                " session.locked, session.expired, session.refused, session.undelivered. Empty means nothing.",
                size=None,
                validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(7)],
                verbose_name="events",
            ),
        ),
        migrations.AlterField("webhookevent", "type", models.CharField("type", choices=EVENTS, max_length=20)),
    ]
