# The guard knows the sends of identity systems.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0027_waits_of_fallbacks"),
    ]

    operations = [
        migrations.AddField(
            model_name="guardedsend",
            name="is_handed",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Its code was handed over by an identity system."
            ),
        ),
    ]
