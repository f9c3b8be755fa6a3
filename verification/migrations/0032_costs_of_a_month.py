# What a channel has cost since the month began.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0031_tries_of_alerts"),
    ]

    operations = [
        migrations.AddField(
            model_name="dailychannelcost",
            name="month_amount",
            field=models.DecimalField(
                db_default=0,
                decimal_places=8,
                default=0,
                help_text="Of the calendar month up to this day.",
                max_digits=28,
            ),
        ),
    ]
