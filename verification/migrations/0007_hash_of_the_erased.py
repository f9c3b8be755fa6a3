# By what the platform's limit counts sends to a recipient whom one project has erased.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0006_recipient_of_an_event"),
    ]

    operations = [
        migrations.AddField(
            "recipient",
            "erased_hash",
            models.CharField(
                max_length=64,
                null=True,
                help_text="Of the erased, by the platform's limit alone: the keyed hash of the address in all projects.",
            ),
        ),
    ]
