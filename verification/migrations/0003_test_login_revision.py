"""A session of a test login names the revision that it is good for."""

import django.contrib.postgres.functions
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0002_platform_row"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="test_login",
            field=models.UUIDField(help_text="The revision of the test login that it is good for.", null=True),
        ),
        migrations.AddField(
            model_name="testlogin",
            name="revision",
            field=models.UUIDField(
                db_default=django.contrib.postgres.functions.RandomUUID(),
                editable=False,
                help_text="New with every change, which ends the sessions of the old one.",
            ),
        ),
    ]
