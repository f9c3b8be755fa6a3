# The trace that a message belongs to.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0001_first_release"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="traceparent",
            field=models.CharField(
                help_text="The span of the request, as W3C Trace Context writes it.", max_length=55, null=True
            ),
        ),
    ]
