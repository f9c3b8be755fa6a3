# The client network that asked for a send.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0023_rules_of_the_guard"),
    ]

    operations = [
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
    ]
