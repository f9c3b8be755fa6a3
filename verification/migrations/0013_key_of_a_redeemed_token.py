# A verify that is repeated with the Idempotency-Key that used its token up reads the same answer.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0012_index_of_references"),
    ]

    operations = [
        migrations.AddField(
            "verifytoken",
            "used_key",
            models.BinaryField(help_text="Digest of the Idempotency-Key that used it.", max_length=32, null=True),
        ),
    ]
