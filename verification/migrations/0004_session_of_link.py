"""The session of a deep link is found by its payload."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0003_test_login_revision"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="session",
            index=models.Index(condition=models.Q(("is_open", True)), fields=["link_payload"], name="session_of_link"),
        ),
    ]
