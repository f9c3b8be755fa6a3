"""The rows that every verification writes have no foreign keys and no checks: the functions that write them hold them.

``checkintegrity`` shows that they do. Parameters of functions have become terms, so the functions of before go.
"""

import django.db.models.deletion
from django.db import migrations, models

FUNCTIONS = (
    "channel_blocks",
    "choose_channel",
    "drop_unused_recipient",
    "is_test_login_live",
    "judge_stranger",
    "lifted_since",
    "lock_mailbox",
    "lock_recipient",
    "note_session_refusal",
    "open_session",
    "platform_wait",
    "queue_manual_message",
    "queue_message",
    "seconds_until_below",
    "send_code",
    "session_state",
    "spend_attempt",
    "wrong_codes_wait",
)
DROP_FUNCTIONS = f"""
DO $$ DECLARE v_function regprocedure; BEGIN
    FOR v_function IN
        SELECT oid::regprocedure FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND proname = ANY ('{{{",".join(FUNCTIONS)}}}')
    LOOP
        EXECUTE 'DROP FUNCTION ' || v_function;
    END LOOP;
END $$
"""  # noqa: S608  (the names above)
# Nobody asks for the beginning of an id. Django makes such an index for every unique text.
DROP_INDEXES_FOR_LIKE = """
DO $$ DECLARE v_index text; BEGIN
    FOR v_index IN
        SELECT quote_ident(indexname) FROM pg_indexes
        WHERE schemaname = current_schema()
          AND tablename IN ('verification_session', 'verification_verifytoken')
          AND indexname LIKE '%\\_like'
    LOOP
        EXECUTE 'DROP INDEX ' || v_index;
    END LOOP;
END $$
"""
FILL_TOKENS = """
UPDATE verification_verifytoken AS token SET recipient_id = s.recipient_id, test_login = s.test_login
FROM verification_session AS s WHERE s.id = token.session_id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("verification", "0027_help_in_plain_words"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="message",
            name="message_status",
        ),
        migrations.RemoveConstraint(
            model_name="message",
            name="message_finished_when_final",
        ),
        migrations.RemoveConstraint(
            model_name="message",
            name="message_code_wiped_when_sent",
        ),
        migrations.RemoveConstraint(
            model_name="message",
            name="message_expires_later",
        ),
        migrations.RemoveConstraint(
            model_name="recipient",
            name="recipient_address",
        ),
        migrations.RemoveConstraint(
            model_name="session",
            name="session_attempts",
        ),
        migrations.RemoveConstraint(
            model_name="session",
            name="session_expires_later",
        ),
        migrations.RemoveConstraint(
            model_name="session",
            name="session_code_wiped_when_verified",
        ),
        migrations.RemoveConstraint(
            model_name="verifytoken",
            name="verify_token_expires_later",
        ),
        migrations.AddField(
            model_name="verifytoken",
            name="recipient",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                to="verification.recipient",
            ),
        ),
        migrations.AddField(
            model_name="verifytoken",
            name="test_login",
            field=models.UUIDField(null=True),
        ),
        migrations.AlterField(
            model_name="deliveryattempt",
            name="message",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="attempts",
                to="verification.message",
            ),
        ),
        migrations.AlterField(
            model_name="guardedsend",
            name="message",
            field=models.OneToOneField(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                primary_key=True,
                related_name="guarded_send",
                serialize=False,
                to="verification.message",
            ),
        ),
        migrations.AlterField(
            model_name="message",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="verification.project",
            ),
        ),
        migrations.AlterField(
            model_name="message",
            name="provider",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="messages",
                to="verification.provider",
            ),
        ),
        migrations.AlterField(
            model_name="message",
            name="recipient",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="messages",
                to="verification.recipient",
            ),
        ),
        migrations.AlterField(
            model_name="message",
            name="session",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="messages",
                to="verification.session",
            ),
        ),
        migrations.AlterField(
            model_name="recipient",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="recipients",
                to="verification.project",
            ),
        ),
        migrations.AlterField(
            model_name="session",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="verification.project",
            ),
        ),
        migrations.AlterField(
            model_name="session",
            name="recipient",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="sessions",
                to="verification.recipient",
            ),
        ),
        migrations.AlterField(
            model_name="usedchallenge",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="verification.project",
            ),
        ),
        migrations.AlterField(
            model_name="verifytoken",
            name="project",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="verification.project",
            ),
        ),
        migrations.AlterField(
            model_name="verifytoken",
            name="session",
            field=models.OneToOneField(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="verify_token",
                to="verification.session",
            ),
        ),
        migrations.AlterField(
            model_name="wrongcode",
            name="recipient",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                to="verification.recipient",
            ),
        ),
        migrations.AlterField(
            model_name="wrongcode",
            name="session",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="wrong_codes",
                to="verification.session",
            ),
        ),
        migrations.AddIndex(
            model_name="guardedsend",
            index=models.Index(
                condition=models.Q(("verified_at__isnull", True)),
                fields=["recipient"],
                name="guarded_send_of_recipient",
            ),
        ),
        migrations.RunSQL(FILL_TOKENS, migrations.RunSQL.noop),
        migrations.RunSQL(DROP_INDEXES_FOR_LIKE, migrations.RunSQL.noop),
        migrations.RunSQL(DROP_FUNCTIONS, migrations.RunSQL.noop),
    ]
