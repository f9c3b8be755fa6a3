# Whether an event tells the whole recipient, as the project had it when the event was written.

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0005_requests_in_stories"),
    ]

    operations = [
        migrations.AddField("webhookevent", "tells_recipient", models.BooleanField(default=False, db_default=False)),
    ]
