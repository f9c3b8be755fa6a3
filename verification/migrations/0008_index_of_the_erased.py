# The platform's limit finds the erased by their hash. The index is built beside the traffic. A build that gave up leaves
# one that is not valid, so it is dropped before the next try.

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("verification", "0007_hash_of_the_erased"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    [
                        "DROP INDEX CONCURRENTLY IF EXISTS recipient_erased",
                        "CREATE INDEX CONCURRENTLY recipient_erased ON verification_recipient (erased_hash)"
                        " WHERE erased_hash IS NOT NULL",
                    ],
                    "DROP INDEX CONCURRENTLY IF EXISTS recipient_erased",
                )
            ],
            [
                migrations.AddIndex(
                    "recipient",
                    models.Index(
                        name="recipient_erased", fields=("erased_hash",), condition=Q(erased_hash__isnull=False)
                    ),
                )
            ],
        ),
    ]
