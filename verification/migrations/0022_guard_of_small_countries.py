# The guard in small countries: a floor a day, countries that a new project only observes, and networks that ask for many
# countries.

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0021_failures_of_attempts"),
    ]

    operations = [
        migrations.AddField(
            "project",
            "guard_country_day",
            models.PositiveIntegerField(
                db_default=20,
                default=20,
                help_text="Beyond so many, the share that must be verified is asked of the whole day, too. 0: of no day.",
                verbose_name="unverified sends to a country in a day",
            ),
        ),
        migrations.AddField(
            "project",
            "guard_country_observe_days",
            models.PositiveIntegerField(
                db_default=7,
                default=7,
                help_text="Days from the project's creation in which no country is refused for its conversion.",
                validators=[django.core.validators.MaxValueValidator(3650)],
                verbose_name="days that countries are only observed",
            ),
        ),
        migrations.AddField(
            "project",
            "guard_network_countries",
            models.PositiveIntegerField(
                db_default=3,
                default=3,
                help_text="Countries that one client network asks for in a day while hardly anything of it is verified. 0: any number.",
                verbose_name="countries of one network",
            ),
        ),
    ]
