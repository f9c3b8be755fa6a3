# Known numbers: who was proved by the customer's server, and for how long that counts.

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0015_connections"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="guard_known_days",
            field=models.PositiveIntegerField(
                db_default=90,
                default=90,
                help_text="A number that your server verified within them passes the rules on prefixes and countries. 0: none does.",
                validators=[django.core.validators.MaxValueValidator(3650)],
                verbose_name="days that a number is known",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="reported_at",
            field=models.DateTimeField(
                editable=False, help_text="When its server last reported a verified user, to the hour.", null=True
            ),
        ),
    ]
