"""What is stored of a key or token is no longer its plain SHA-256, which for a secret key opens what is sealed under it.

The new digests are made from the old ones, so keys go on. Answers kept for a repetition were readable; they go. There is
no way back to the old digests: after a reversal keys have to be issued anew.
"""

import django.db.models.deletion
from django.db import migrations, models

KINDS = {
    "verification_apikey": "key",
    "verification_recoverycode": "recovery code",
    "verification_verifytoken": "verify token",
    "verification_usedchallenge": "challenge answer",
}


def relabel(table, kind):
    label = f"convert_to('watchword {kind}', 'UTF8') || '\\x00'::bytea"
    statement = f"UPDATE {table} SET digest = sha256({label} || digest)"  # noqa: S608  the names stand above
    return migrations.RunSQL(statement, migrations.RunSQL.noop)


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0004_session_of_link"),
    ]

    operations = [
        *(relabel(table, kind) for table, kind in KINDS.items()),
        migrations.RunSQL("DELETE FROM verification_idempotentrequest", "DELETE FROM verification_idempotentrequest"),
        migrations.RemoveField(
            model_name="idempotentrequest",
            name="answer",
        ),
        migrations.AddField(
            model_name="idempotentrequest",
            name="answer_encrypted",
            field=models.BinaryField(null=True),
        ),
        migrations.AddField(
            model_name="idempotentrequest",
            name="message",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="idempotent_requests",
                to="verification.message",
            ),
        ),
    ]
