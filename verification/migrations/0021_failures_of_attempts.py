# What a provider reported of its own attempt, while others have the message or are about to be asked.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0020_routing_rules_and_monthly_budget"),
    ]

    operations = [
        migrations.AddField(
            model_name="deliveryattempt",
            name="failed_at",
            field=models.DateTimeField(
                help_text="When the provider reported that what it took could not be delivered.", null=True
            ),
        ),
    ]
