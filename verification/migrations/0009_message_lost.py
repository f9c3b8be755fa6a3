"""Messages that nobody took are found by when they ended."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0008_message_is_budgeted"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("sent_at__isnull", True), ("status__in", ("failed", "expired"))),
                fields=["finished_at"],
                name="message_lost",
            ),
        ),
    ]
