"""The session of a deep link is found without statistics, and without the others that stand open."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0021_accounts_of_all_projects"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="session", name="session_of_link"),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                condition=models.Q(("link_payload", ""), _negated=True),
                fields=("link_payload",),
                name="session_of_link",
            ),
        ),
    ]
