"""The platform's row. On a machine of one's own, where many a project tries the same number, SMS to it are not limited."""

from django.conf import settings
from django.db import migrations

SMS_PER_RECIPIENT_A_DAY = 15


def make_row(apps, schema_editor):
    limit = 0 if settings.IS_EMBEDDED else SMS_PER_RECIPIENT_A_DAY
    apps.get_model("verification", "Platform").objects.get_or_create(pk=1, defaults={"sms_per_recipient_a_day": limit})


class Migration(migrations.Migration):
    dependencies = [("verification", "0001_initial")]
    operations = [migrations.RunPython(make_row, migrations.RunPython.noop)]
