from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0025_message_pinned"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="message",
            name="message_failed_of_project",
        ),
        migrations.RemoveIndex(
            model_name="message",
            name="message_failed",
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("status__in", ("failed", "expired"))),
                fields=["project", "status", "-created_at"],
                include=("id",),
                name="message_lost_of_project",
            ),
        ),
    ]
