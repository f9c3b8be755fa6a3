# The constraint names one rule more: what the previous release writes still fits.

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
        ("verification", "0022_guard_of_small_countries"),
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
    ]
