"""Guessing that is spread over client networks is counted by subnet, and its rule has figures of each project."""

import django.core.validators
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0010_bot_updates"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="guardblock",
            name="guard_block_rule",
        ),
        migrations.RemoveIndex(
            model_name="guardblock",
            name="guard_block_of_guessing",
        ),
        migrations.AddField(
            model_name="project",
            name="guess_assumed",
            field=models.PositiveIntegerField(
                default=30,
                help_text="Wrong codes of all client networks in 5 minutes, unsettled and unexplained, that are taken for an attack. 0 switches the limit off.",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="guess_heavy",
            field=models.PositiveIntegerField(
                default=500,
                help_text="So many of them are a heavy attack.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000000),
                ],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="guess_subnet_day",
            field=models.PositiveIntegerField(
                default=50,
                help_text="Unsettled wrong codes that a subnet may enter in a day.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000000),
                ],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="guess_subnet_tries",
            field=models.PositiveIntegerField(
                default=3,
                help_text="The same under attack; under a heavy one it is a single one.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(1000),
                ],
            ),
        ),
        migrations.AddField(
            model_name="verifytoken",
            name="subnet",
            field=models.CharField(db_default="", default="", max_length=43),
        ),
        migrations.AddField(
            model_name="wrongcode",
            name="is_settled",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Whether the recipient's right code came from the same subnet since.",
            ),
        ),
        migrations.AddField(
            model_name="wrongcode",
            name="subnet",
            field=models.CharField(db_default="", default="", max_length=43),
        ),
        migrations.AlterField(
            model_name="guardblock",
            name="rule",
            field=models.CharField(
                choices=[
                    ("prefix", "Many numbers of one prefix"),
                    ("manual_prefix", "Many numbers of one prefix, by manual sends"),
                    ("conversion", "A country where few codes are verified"),
                    ("low_conversion", "A country to watch"),
                    ("wrong_codes", "Many wrong codes in the project"),
                    ("same_guess", "One code tried on many sessions"),
                    ("network", "A client network that guesses"),
                    ("network_refused", "A client network that is kept from checking"),
                    ("strangers", "Wrong codes from many client networks"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddIndex(
            model_name="guardblock",
            index=models.Index(
                condition=models.Q(
                    ("rule__in", ("wrong_codes", "same_guess", "network", "network_refused", "strangers"))
                ),
                fields=["project", "until"],
                name="guard_block_of_guessing",
            ),
        ),
        migrations.AddIndex(
            model_name="verifytoken",
            index=models.Index(
                condition=models.Q(("subnet", ""), _negated=True),
                fields=["project", "subnet", "created_at"],
                name="verify_token_of_subnet",
            ),
        ),
        migrations.AddIndex(
            model_name="verifytoken",
            index=models.Index(
                condition=models.Q(("subnet", ""), _negated=True),
                fields=["project", "created_at"],
                name="verify_token_of_strangers",
            ),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(
                condition=models.Q(("is_settled", False), models.Q(("subnet", ""), _negated=True)),
                fields=["project", "subnet", "created_at"],
                name="wrong_code_of_subnet",
            ),
        ),
        migrations.AddIndex(
            model_name="wrongcode",
            index=models.Index(
                condition=models.Q(("is_settled", False), models.Q(("subnet", ""), _negated=True)),
                fields=["project", "created_at"],
                name="wrong_code_of_strangers",
            ),
        ),
        migrations.AddConstraint(
            model_name="guardblock",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "rule__in",
                        [
                            "prefix",
                            "manual_prefix",
                            "conversion",
                            "low_conversion",
                            "wrong_codes",
                            "same_guess",
                            "network",
                            "network_refused",
                            "strangers",
                        ],
                    )
                ),
                name="guard_block_rule",
            ),
        ),
    ]
