"""Providers of e-mail serve domains, which are longer than prefixes of numbers."""

import django.contrib.postgres.fields
import django.contrib.postgres.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0009_names"),
    ]

    operations = [
        migrations.AlterField(
            model_name="provider",
            name="except_prefixes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=254),
                blank=True,
                default=list,
                help_text="Such as +1900.",
                size=None,
                validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(200)],
                verbose_name="never numbers that begin with",
            ),
        ),
        migrations.AlterField(
            model_name="provider",
            name="only_prefixes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=254),
                blank=True,
                default=list,
                help_text="Such as +49, +43. Empty means every number.",
                size=None,
                validators=[django.contrib.postgres.validators.ArrayMaxLengthValidator(200)],
                verbose_name="only numbers that begin with",
            ),
        ),
    ]
