from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0045_security_keys"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="twilio_endpoints",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Serve the paths of Twilio Verify v2 to the project's secret keys, for servers that were"
                " written for Twilio.",
                verbose_name="Twilio Verify endpoints",
            ),
        ),
    ]
