# The traffic guard reads the sends that one client network asked for. The index is built beside the traffic. A build that
# gave up leaves one that is not valid, so it is dropped before the next try.

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("verification", "0024_networks_of_sends"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    [
                        "DROP INDEX CONCURRENTLY IF EXISTS guarded_send_of_network",
                        "CREATE INDEX CONCURRENTLY guarded_send_of_network ON verification_guardedsend"
                        " (project_id, network, created_at DESC) WHERE NOT (network = '')",
                    ],
                    "DROP INDEX CONCURRENTLY IF EXISTS guarded_send_of_network",
                )
            ],
            [
                migrations.AddIndex(
                    "guardedsend",
                    models.Index(
                        name="guarded_send_of_network",
                        fields=("project", "network", "-created_at"),
                        condition=~Q(network=""),
                    ),
                )
            ],
        ),
    ]
