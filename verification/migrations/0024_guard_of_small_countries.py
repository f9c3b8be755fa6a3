# The guard in small countries: a floor a day, countries that a new project only observes, and networks that ask for many
# countries. The constraint names one rule more: what the previous release writes still fits.

import django.core.validators
from django.db import migrations, models

RULES = [
    ("prefix", "Many numbers of one prefix"),
    ("manual_prefix", "Many numbers of one prefix, by manual sends"),
    ("conversion", "A country where few codes are verified"),
    ("low_conversion", "A country to watch"),
    ("network_countries", "A client network that asks for many countries"),
    ("wrong_codes", "Many wrong codes in the project"),
    ("same_guess", "One code tried on many sessions"),
    ("network", "A client network that guesses"),
    ("network_refused", "A client network that is kept from checking"),
    ("strangers", "Wrong codes from many client networks"),
]


class Migration(migrations.Migration):
    safe_since = "0.1.0"
    dependencies = [
        ("verification", "0022_failures_of_attempts"),
    ]

    operations = [
        migrations.RemoveConstraint("guardblock", "guard_block_rule"),
        migrations.AlterField("guardblock", "rule", models.CharField("rule", choices=RULES, max_length=20)),
        migrations.AddConstraint(
            "guardblock",
            models.CheckConstraint(
                condition=models.Q(("rule__in", [rule for rule, _ in RULES])), name="guard_block_rule"
            ),
        ),
        migrations.AddField(
            "guardedsend",
            "network",
            models.CharField(
                db_default="",
                default="",
                help_text="The caller's, as of wrong codes; empty where many callers share it or it is not known.",
                max_length=43,
            ),
        ),
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
