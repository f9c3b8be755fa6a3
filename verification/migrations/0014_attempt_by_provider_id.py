"""An attempt is found by the id that its provider gave the message."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("verification", "0013_alert_of_outage")]

    operations = [
        migrations.AddIndex(
            model_name="deliveryattempt",
            index=models.Index(
                condition=models.Q(("provider_message_id__isnull", False)),
                fields=["provider_message_id"],
                name="attempt_by_provider_id",
            ),
        ),
    ]
