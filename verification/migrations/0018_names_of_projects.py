"""Names of projects are told apart among what one person sees, not over all tenants."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0017_session_refusal"),
    ]

    operations = [
        migrations.AlterField(
            model_name="project",
            name="name",
            field=models.CharField(help_text="Messages carry it.", max_length=100),
        ),
    ]
