# A connection's requests have no key.

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0028_handed_sends"),
    ]

    operations = [
        migrations.AlterField(
            model_name="idempotentrequest",
            name="api_key",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to="verification.apikey"),
        ),
    ]
