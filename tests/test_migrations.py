"""The tables are what the models say."""

import os
import subprocess
import sys

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from tests.conftest import ROOT
from verification.models.audit import WATCHED
from verification.sql import install


def test_no_migration_is_missing(db, capsys):
    call_command("makemigrations", "verification", check=True, dry_run=True, verbosity=1)
    assert "No changes detected" in capsys.readouterr().out


def test_of_migrations_that_start_together_one_runs_at_a_time(tmp_path, django_db_setup):
    """Several containers of a new version may start at once."""
    url = settings.EMBEDDED.database_url
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("CREATE DATABASE together TEMPLATE template0")
        try:
            environment = {**os.environ, "DATABASE_URL": url.replace("/watchword?", "/together?"), "EMBEDDED": "true"}
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            started = [
                subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
                for _ in range(3)
            ]
            assert [(process.communicate()[1], process.returncode) for process in started] == [("", 0)] * 3
        finally:
            server.execute("DROP DATABASE together WITH (FORCE)")


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
