# How long a project's sessions live, and longer ones that could send their code over a slow channel. The bounds of a
# fall-back's wait move with it: the model's field judges them now.

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
        migrations.AddField(
            "channel",
            "session_seconds",
            models.PositiveSmallIntegerField(
                "life of a session, seconds",
                null=True,
                blank=True,
                validators=[MinValueValidator(60), MaxValueValidator(900)],
                help_text="Where codes are slow to arrive over this channel: a session whose code may go out over it"
                " lives at least as long. Empty means as the project.",
            ),
        ),
        migrations.RemoveConstraint("fallbackstep", "fallback_wait"),
        migrations.AlterField(
            "fallbackstep",
            "wait_seconds",
            models.PositiveSmallIntegerField(
                "wait seconds",
                default=30,
                validators=[MinValueValidator(5), MaxValueValidator(870)],
                help_text="How long a receipt is waited for before the code goes out over the next channel.",
            ),
        ),
    ]
