# A routing rule keeps the rules that it ended, so that they can be restored.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0036_countries_in_two_letters"),
    ]

    operations = [
        migrations.AddField(
            model_name="routingrule",
            name="replaced",
            field=models.JSONField(
                editable=False, help_text="The percent, by provider, of each rule that this one ended.", null=True
            ),
        ),
    ]
