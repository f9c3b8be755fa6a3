# Sessions are listed by their reference. The index is built beside the traffic. A build that gave up leaves one that is
# not valid, so it is dropped before the next try.

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("verification", "0011_reference_and_end_of_a_session"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    [
                        "DROP INDEX CONCURRENTLY IF EXISTS session_of_reference",
                        "CREATE INDEX CONCURRENTLY session_of_reference ON verification_session"
                        " (project_id, reference, created_at DESC) WHERE NOT (reference = '')",
                    ],
                    "DROP INDEX CONCURRENTLY IF EXISTS session_of_reference",
                )
            ],
            [
                migrations.AddIndex(
                    "session",
                    models.Index(
                        name="session_of_reference",
                        fields=("project", "reference", "-created_at"),
                        condition=~Q(reference=""),
                    ),
                )
            ],
        ),
    ]
