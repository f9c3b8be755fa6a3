"""The tables are what the models say."""

import pytest
from django.core.management import call_command
from django.db import connection

from verification.models.audit import WATCHED
from verification.sql import install


def test_no_migration_is_missing(db, capsys):
    call_command("makemigrations", "verification", check=True, dry_run=True, verbosity=1)
    assert "No changes detected" in capsys.readouterr().out


def functions():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regprocedure::text, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1"
        )
        return cursor.fetchall()


@pytest.mark.parametrize("statement", ["open_session", "send_code", "spend_attempt", "redeem_token", "claim_messages"])
def test_the_statements_are_installed_with_the_tables(db, statement):
    assert any(name.startswith(f"{statement}(") for name, _ in functions())


def test_installing_the_statements_again_changes_nothing(db):
    before = functions()
    install._install(WATCHED, using="default")
    assert functions() == before
