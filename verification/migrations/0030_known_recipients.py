# When the customer's server proved a recipient.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0029_requests_of_connections"),
    ]

    operations = [
        migrations.AddField(
            model_name="recipient",
            name="known_at",
            field=models.DateTimeField(
                help_text="When the customer's server last proved them: by a redeemed token, or by its report.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="recipient",
            name="known_since",
            field=models.DateTimeField(help_text="Since when it has done so without a gap.", null=True),
        ),
    ]
