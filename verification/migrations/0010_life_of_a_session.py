# How long a project's sessions live.

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0009_names"),
    ]

    operations = [
        migrations.AddField(
            "project",
            "session_seconds",
            models.PositiveSmallIntegerField(
                "life of a session, seconds",
                default=180,
                db_default=180,
                validators=[MinValueValidator(60), MaxValueValidator(900)],
                help_text="How long a session and its code are good for, from the session's creation. A channel may ask"
                " for longer.",
            ),
        ),
    ]
