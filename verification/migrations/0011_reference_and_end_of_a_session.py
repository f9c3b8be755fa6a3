# A session has a reference of its caller's, and tells when it was cancelled.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0010_life_of_a_session"),
    ]

    operations = [
        migrations.AddField(
            "session",
            "reference",
            models.CharField(
                db_default="", default="", help_text="The caller's own word for it, as given.", max_length=255
            ),
        ),
        migrations.AddField(
            "session",
            "cancelled_at",
            models.DateTimeField(help_text="When the customer's server ended it before its time.", null=True),
        ),
    ]
