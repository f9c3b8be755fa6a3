"""What the panel noted of test logins named whole addresses; the audit log has the same, masked."""

from django.db import migrations


def remove(apps, schema_editor):
    apps.get_model("admin", "LogEntry").objects.filter(
        content_type__app_label="verification", content_type__model="testlogin"
    ).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0018_names_of_projects"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(remove, migrations.RunPython.noop)]
