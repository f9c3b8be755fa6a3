"""A provider of e-mail can serve certain domains alone, or leave some to others."""

import django.contrib.postgres.fields
import django.contrib.postgres.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0018_saved_views"),
    ]

    operations = [
        migrations.AddField(
            model_name="provider",
            name="except_domains",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=253),
                blank=True,
                db_default=[],
                default=list,
                help_text="For e-mail: domains such as example.com.",
                size=None,
                validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(200)],
                verbose_name="never addresses at",
            ),
        ),
        migrations.AddField(
            model_name="provider",
            name="only_domains",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=253),
                blank=True,
                db_default=[],
                default=list,
                help_text="For e-mail: domains such as example.com. Leave empty for every address.",
                size=None,
                validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(200)],
                verbose_name="only addresses at",
            ),
        ),
    ]
