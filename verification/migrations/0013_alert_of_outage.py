"""An alert of an outage lasts until it is over."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0012_deleted_projects"),
    ]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="ended_at",
            field=models.DateTimeField(help_text="Of an outage, when it was over.", null=True),
        ),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", True), ("kind", "channel_down")),
                fields=["kind"],
                name="alert_of_outage",
            ),
        ),
    ]
