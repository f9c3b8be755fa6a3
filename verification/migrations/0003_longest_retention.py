# The longest time for which a project keeps its rows.

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0002_trace_of_a_message"),
    ]

    operations = [
        migrations.RunSQL(
            "UPDATE verification_project SET retention_days = 3650 WHERE retention_days > 3650",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField(
            model_name="project",
            name="retention_days",
            field=models.PositiveIntegerField(
                default=30,
                help_text="Days after which old sessions and messages are removed, and recipients with none left.",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(3650),
                ],
            ),
        ),
        migrations.RemoveConstraint(model_name="project", name="project_retention_days"),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("retention_days__range", (1, 3650))), name="project_retention_days"
            ),
        ),
    ]
