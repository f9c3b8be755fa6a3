"""The tables are what the models say."""

import io
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from tests.conftest import ROOT
from tests.live import wait_until
from verification.models import Message
from verification.models.audit import WATCHED
from verification.sql import install


def test_no_migration_is_missing(db, capsys):
    call_command("makemigrations", "verification", check=True, dry_run=True, verbosity=1)
    assert "No changes detected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("help_text", "Other words.", "No changes detected"),
        ("verbose_name", "other name", "No changes detected"),
        ("choices", [("a", "One more")], "No changes detected"),
        ("max_length", 21, "Alter field channel on message"),
    ],
)
def test_words_are_no_migration(attribute, value, said, db, capsys, monkeypatch):
    monkeypatch.setattr(Message._meta.get_field("channel"), attribute, value)
    call_command("makemigrations", "verification", dry_run=True, verbosity=1)
    assert said in capsys.readouterr().out


def test_no_word_of_the_panel_stands_in_a_migration():
    texts = "".join(path.read_text() for path in (ROOT / "verification" / "migrations").glob("0*.py"))
    assert re.findall(r"(?:help_text|verbose_name\w*|choices)=", texts) == []


@pytest.mark.long
@pytest.mark.timeout(600)  # two processes take turns with all migrations
def test_of_migrations_that_start_together_one_runs_at_a_time(tmp_path, django_db_setup):
    """Several containers of a new version may start at once."""
    url = settings.DATABASE_URL or settings.EMBEDDED.database_url
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("CREATE DATABASE together TEMPLATE template0")
        try:
            together = re.sub(r"/[^/?]+(\?|$)", r"/together\1", url)
            environment = {**os.environ, "DATABASE_URL": together, "EMBEDDED": "true"}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            started = [
                subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
                for _ in range(2)
            ]
            assert [(process.communicate()[1], process.returncode) for process in started] == [("", 0)] * 2
        finally:
            server.execute("DROP DATABASE together WITH (FORCE)")


def functions():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT oid::regprocedure::text, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1"
        )
        return cursor.fetchall()


def test_the_functions_that_the_code_calls_are_installed_with_the_tables(db):
    code = "".join(path.read_text() for path in (ROOT / "verification").rglob("*.py"))
    called = set(re.findall(r'\b(?:call|call_many|value)\(\s*(?:\w+,\s*)?"(\w+)"', code))
    assert {"open_session", "claim_messages", "claim_fallback"} <= called
    assert called - {name.partition("(")[0] for name, _ in functions()} == {"clock_timestamp"}  # PostgreSQL's own


def test_installing_the_statements_again_changes_nothing(db):
    before = functions()
    install._install(WATCHED, using="default")
    assert functions() == before


def test_a_function_of_the_version_before_stays_for_its_processes(db):
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION redeem_verify_token(p_project bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'former' $$"
        )
    install._install(WATCHED, using="default")
    installed = {name for name, _ in functions()}
    assert {"redeem_verify_token(bigint)", "redeem_verify_token(bigint,bytea,bytea,uuid,text)"} <= installed


@pytest.mark.django_db(transaction=True)
def test_a_migration_does_not_wait_for_a_table_in_use_but_tries_again():
    """Every request behind a statement that waits for a table would wait as well."""
    output = io.StringIO()

    def migrate():
        call_command("migrate", verbosity=0, stdout=output)
        connection.close()  # this thread's

    holder = connection.copy()
    with holder.cursor() as cursor, ThreadPoolExecutor() as threads:
        holder.set_autocommit(False)
        cursor.execute("LOCK verification_channel IN ROW EXCLUSIVE MODE")
        migrated = threads.submit(migrate)
        wait_until(lambda: "A table is in use; retrying." in output.getvalue(), "it gives up for now")
        assert not migrated.done()
        holder.rollback()
        migrated.result(timeout=60)
    holder.close()
