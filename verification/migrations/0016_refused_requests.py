"""A decision tells refused requests from what was only observed, and whither they would have gone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0015_bounded_lists"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="decision",
            name="decision_once_an_hour",
        ),
        migrations.AddField(
            model_name="decision",
            name="country",
            field=models.CharField(
                blank=True, default="", help_text="Whither, where the traffic guard refused.", max_length=3
            ),
        ),
        migrations.AddField(
            model_name="decision",
            name="refused",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.UniqueConstraint(
                fields=("project", "rule", "hour", "subject", "country"), name="decision_once_an_hour"
            ),
        ),
    ]
