# Sessions that could send their code over a slow channel live longer.

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0025_index_of_networks"),
    ]

    operations = [
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
    ]
