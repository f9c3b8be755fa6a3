# When an alert was last tried.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0030_known_recipients"),
    ]

    operations = [
        migrations.AddField(
            model_name="alertservice",
            name="tried_at",
            field=models.DateTimeField(editable=False, help_text="The last try, whether or not it worked.", null=True),
        ),
    ]
