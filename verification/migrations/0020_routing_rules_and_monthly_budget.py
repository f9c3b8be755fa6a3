# Routing rules of a country, and a budget in money for the month.

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0019_domains_of_providers"),
    ]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="monthly_cost_budget",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The most that a calendar month's messages (UTC) may cost, in whole units of the currency of account. Costs are summed once a minute. 0 or empty means no limit.",
                null=True,
                verbose_name="monthly cost budget",
            ),
        ),
        migrations.AlterField(
            model_name="deliveryattempt",
            name="choice",
            field=models.CharField(
                blank=True,
                choices=[
                    ("order", "as the first in the order"),
                    ("only", "as the only one that could carry it"),
                    ("share", "by its share among equals"),
                    ("best", "as the best by what it has shown"),
                    ("explored", "to learn how it does now"),
                    ("rule", "by a routing rule"),
                    ("instead", "as one before it was late or set aside"),
                    ("next", "as another one had not taken it"),
                    ("probe", "to see whether it works again"),
                    ("pinned", "as the request named it"),
                ],
                db_default="",
                default="",
                help_text="Why this provider was asked.",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="RoutingRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "country",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Two letters. Empty means every country.",
                        max_length=2,
                        verbose_name="country",
                    ),
                ),
                (
                    "percent",
                    models.PositiveSmallIntegerField(
                        help_text="Of 100 messages, how many go to this provider first. 0 pauses it.",
                        verbose_name="percent",
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False, verbose_name="created at"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routing_rules",
                        to="verification.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routing_rules",
                        to="verification.provider",
                        verbose_name="provider",
                    ),
                ),
            ],
            options={
                "verbose_name": "routing rule",
                "verbose_name_plural": "routing rules",
                "ordering": ("country", "id"),
                "constraints": [
                    models.UniqueConstraint(fields=("project", "provider", "country"), name="routing_rule_once"),
                    models.CheckConstraint(condition=models.Q(("percent__lte", 100)), name="routing_rule_percent"),
                ],
            },
        ),
    ]
