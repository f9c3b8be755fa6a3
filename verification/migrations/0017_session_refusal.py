"""A session says why its code did not go out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0016_refused_requests"),
    ]

    operations = [
        migrations.AddField(
            model_name="session",
            name="refusal",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Why its code did not go out when it was last asked for: an outcome or a rule of the"
                " decision log.",
                max_length=40,
            ),
        ),
    ]
