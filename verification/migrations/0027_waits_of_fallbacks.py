# The bounds of a fall-back's wait move with the life of a session: the model's field judges them now.

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0026_life_of_a_channel"),
    ]

    operations = [
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
