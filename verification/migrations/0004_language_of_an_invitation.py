# The language in which an invitation is mailed.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0003_longest_retention"),
    ]

    operations = [
        migrations.AddField(
            model_name="invitation",
            name="language",
            field=models.CharField(
                db_default="en",
                default="en",
                help_text="Of the mail: the one in which the inviter reads the panel.",
                max_length=10,
            ),
        ),
    ]
