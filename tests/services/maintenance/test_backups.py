"""Backups: dumps of a real PostgreSQL by its own programs, which are restored into another database."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.conf import settings as configured
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone

from tests import factories
from tests.commands.running import run, run_json
from tests.live import ROOT, wait_until
from verification.core import caching
from verification.core.errors import UserError
from verification.management.base import INTERRUPTED
from verification.models import Recipient, Upkeep
from verification.services.maintenance import backups, exposition

pytestmark = pytest.mark.django_db(transaction=True)

TRIAL = "trial_of_backups"
OLD = "watchword-2026-01-0{}-033000.dump"


@pytest.fixture
def own():
    """One row more than an empty installation, so that a count of rows says something, and one of a backup before."""
    Upkeep.objects.create(name=backups.RUN, started_at=timezone.now())
    project = factories.project("Shop").row
    return Recipient.objects.create(project=project, address="+4915112345678")


@pytest.fixture
def trial():
    """The URL of an empty database beside our own."""
    with statements_of("postgres") as server:
        server.execute(f"DROP DATABASE IF EXISTS {TRIAL}")
        server.execute(f"CREATE DATABASE {TRIAL}")
        host = quote(server.info.host, safe="")
    yield f"postgres://watchword@/{TRIAL}?host={host}"
    with statements_of("postgres") as server:
        server.execute(f"DROP DATABASE {TRIAL} WITH (FORCE)")


@contextlib.contextmanager
def statements_of(database):
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, dbname=database, autocommit=True) as opened:
        yield opened


def everything_in(database):
    with statements_of(database) as opened:
        return opened.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchall()


def restored(path, database):
    """Restore a backup as the page on backups says, and ask for its recipients."""
    programs = configured.EMBEDDED.programs()
    with statements_of(database) as opened:
        dsn = opened.info.dsn
        command = (
            'pg_restore --list "$0" | grep -E "^[0-9; ]+[A-Z ]+ public " > "$0.list"; '
            'pg_restore --no-owner --no-privileges --exit-on-error --use-list="$0.list" --dbname="$1" "$0"'
        )
        environment = {"PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(["sh", "-c", command, path, dsn], capture_output=True, text=True, env=environment)
        Path(f"{path}.list").unlink()
        assert done.returncode == 0, done.stderr
        return opened.execute("SELECT address FROM verification_recipient").fetchall()


def files(folder):
    return sorted(each.name for each in folder.iterdir() if each.name != backups.LOCK)


class TestABackup:
    def test_it_holds_the_rows_and_is_for_its_owner_alone(self, own, tmp_path, trial):
        made = backups.make(tmp_path)
        assert restored(made.path, TRIAL) == [("+4915112345678",)]
        assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
        assert (files(tmp_path), made.size) == ([made.path.name], made.path.stat().st_size)
        assert made.trial is None

    def test_when_the_last_one_ended_is_told(self, tmp_path):
        series = b'watchword_last_run_timestamp_seconds{work="backup"}'
        caching.clear_all()
        assert (run_json("status")["last_backup"], series in exposition.text()) == (None, False)
        backups.make(tmp_path)
        caching.clear_all()
        assert run_json("status")["last_backup"] and series in exposition.text()

    def test_it_can_be_restored_from_a_pipe_to_its_last_byte(self, tmp_path):
        made = backups.make(tmp_path)
        command = 'cat "$1" | "$2" --file=/dev/null'
        programs = configured.EMBEDDED.programs()
        piped = ["bash", "-o", "pipefail", "-c", command, "bash", made.path, programs / "pg_restore"]
        assert subprocess.run(piped).returncode == 0

    def test_it_holds_no_session_of_the_panel(self, admin_client, tmp_path):
        made = backups.make(tmp_path)
        programs = configured.EMBEDDED.programs()
        listed = subprocess.run([programs / "pg_restore", "--list", made.path], capture_output=True, text=True).stdout
        assert "TABLE DATA public auth_user" in listed and "TABLE public django_session" in listed
        assert "TABLE DATA public django_session" not in listed

    def test_the_newest_are_kept_and_what_is_not_ours_stays(self, tmp_path):
        for name in (OLD.format(1), OLD.format(2), OLD.format(3) + ".age", "watchword-notes.dump", "other.dump"):
            (tmp_path / name).write_text("x")
        made = backups.make(tmp_path, keep=2)
        assert [path.name for path in made.removed] == [OLD.format(2), OLD.format(1)]
        assert files(tmp_path) == ["other.dump", OLD.format(3) + ".age", made.path.name, "watchword-notes.dump"]

    def test_what_a_killed_one_left_is_removed(self, tmp_path):
        (tmp_path / ".watchword-2026-01-01-033000.dump.part").write_text("half")
        made = backups.make(tmp_path)
        assert files(tmp_path) == [made.path.name]


class TestATrial:
    def test_a_backup_is_restored_counted_and_the_database_is_empty_again(self, own, tmp_path, trial):
        made = backups.make(tmp_path, try_in=trial)
        assert made.trial.tables > 30 and made.trial.rows > Recipient.objects.count()
        assert everything_in(TRIAL) == []
        again = tmp_path / "again"
        again.mkdir()
        assert backups.make(again, try_in=trial).trial == made.trial

    def test_what_others_made_in_the_database_keeps_nobody_from_restoring(self, own, tmp_path, trial):
        """An extension, as monitoring asks for, with a table of its own whose rows it has dumped, and a grant."""
        with statements_of("postgres") as server:
            server.execute("CREATE ROLE agent")
            server.execute("CREATE ROLE tenant")
            server.execute(f"ALTER DATABASE {TRIAL} OWNER TO tenant")
            server.execute(f"ALTER DATABASE {TRIAL} SET role = tenant")  # who may make no extension
        with statements_of(connection.settings_dict["NAME"]) as opened:
            opened.execute("CREATE SCHEMA agents")
            opened.execute("CREATE EXTENSION vector SCHEMA agents")
            opened.execute("CREATE TABLE public.of_extension AS SELECT 1 AS kept")
            opened.execute("ALTER EXTENSION vector ADD TABLE public.of_extension")
            opened.execute("GRANT SELECT ON verification_recipient TO agent")
        try:
            made = backups.make(tmp_path, try_in=trial)
            again = tmp_path / "again"
            again.mkdir()
            assert backups.make(again, try_in=trial).trial == made.trial
            assert restored(made.path, TRIAL) == [("+4915112345678",)]
        finally:
            with statements_of(connection.settings_dict["NAME"]) as opened:
                opened.execute("DROP SCHEMA agents CASCADE")
                opened.execute("DROP OWNED BY agent")
            with statements_of("postgres") as server:
                server.execute(f"ALTER DATABASE {TRIAL} RESET role")
                server.execute(f"ALTER DATABASE {TRIAL} OWNER TO watchword")
            with statements_of(TRIAL) as opened:
                opened.execute("DROP OWNED BY tenant CASCADE")
            with statements_of("postgres") as server:
                server.execute("DROP ROLE agent")
                server.execute("DROP ROLE tenant")

    def test_a_row_that_breaks_a_rule_is_told_and_the_backup_stays(self, own, tmp_path, trial):
        Recipient.objects.update(address="")
        (tmp_path / OLD.format(1)).write_text("x")
        with pytest.raises(
            UserError,
            match=r"\.dump was written, but the trial failed: Rows break a rule: 1 recipient.* has 2 now\.$",
        ):
            backups.make(tmp_path, keep=1, try_in=trial)
        assert len(files(tmp_path)) == 2  # the older one as well, and the message says so
        assert everything_in(TRIAL) == []

    def test_a_restore_that_fails_is_told_and_the_backup_stays(self, own, tmp_path, trial):
        with statements_of("postgres") as server:
            server.execute(f"ALTER DATABASE {TRIAL} SET default_transaction_read_only = on")
        (tmp_path / OLD.format(1)).write_text("x")
        with pytest.raises(
            UserError, match=r"trial failed: pg_restore failed: .*read-only transaction\. It could not "
        ):
            backups.make(tmp_path, keep=1, try_in=trial)
        (_, made) = files(tmp_path)
        with statements_of("postgres") as server:
            server.execute(f"ALTER DATABASE {TRIAL} RESET default_transaction_read_only")
        assert restored(tmp_path / made, TRIAL) == [("+4915112345678",)]

    def test_rows_that_were_not_restored_are_told(self, own, tmp_path, trial):
        """Those of another dump: what is dumped is restored, so nothing else leaves one out."""
        made = backups.make(tmp_path)
        Recipient.objects.all().delete()
        target = backups._target(trial)
        with (
            backups._snapshot() as (_, rows),
            pytest.raises(UserError, match=r"restored in public\.verification_recipi"),
        ):
            backups._try(made.path, target, rows)
        assert everything_in(TRIAL) == []

    def test_a_database_that_is_not_empty_is_left_alone(self, tmp_path, trial):
        with statements_of(TRIAL) as opened:
            opened.execute("CREATE TABLE precious ()")
        with pytest.raises(UserError, match=r"^The database of --try-in is not empty\."):
            backups.make(tmp_path, try_in=trial)
        assert (files(tmp_path), everything_in(TRIAL)) == ([], [("precious",)])

    def test_our_own_database_is_not_emptied(self, own, tmp_path, trial):
        name = connection.settings_dict["NAME"]
        with pytest.raises(UserError, match="not empty"):
            backups.make(tmp_path, try_in=trial.replace(TRIAL, name))
        assert Recipient.objects.count() == 1

    def test_a_database_that_is_missing_is_told_in_one_line(self, tmp_path, trial):
        url = trial.replace(TRIAL, "missing").replace("watchword@", "watchword:secret@")
        with pytest.raises(UserError, match=r'^The database of --try-in: .*"missing" does not exist\.$') as told:
            backups.make(tmp_path, try_in=url)
        assert "secret" not in str(told.value) and files(tmp_path) == []

    def test_an_address_that_cannot_be_read_is_not_repeated(self, tmp_path):
        for url in ("postgres://me:secret@host/name?sslmood=x", "host=x password=secret"):
            with pytest.raises(UserError, match=r"^--try-in cannot be read\.") as told:
                backups.make(tmp_path, try_in=url)
            assert "secret" not in str(told.value)


class TestEncryption:
    @pytest.fixture
    def gpg(self, tmp_path, monkeypatch):
        if not shutil.which("gpg"):
            pytest.skip("gpg is not installed.")
        home = Path(tempfile.mkdtemp())  # near the root: the path of gpg's socket is short
        monkeypatch.setenv("GNUPGHOME", str(home))
        key = [
            "gpg",
            "--batch",
            "--passphrase",
            "",
            "--quick-generate-key",
            "backups@example.com",
            "default",
            "default",
        ]
        subprocess.run([*key, "never"], check=True, capture_output=True)
        yield "backups@example.com"
        subprocess.run(["gpgconf", "--kill", "all"], check=True)
        shutil.rmtree(home)

    @pytest.mark.parametrize("is_tried", [False, True])
    def test_gpg_encrypts_for_a_key_of_its_ring(self, own, gpg, tmp_path, trial, is_tried):
        folder = tmp_path / "backups"
        folder.mkdir()
        made = backups.make(folder, recipient=gpg, try_in=trial if is_tried else "")
        assert (files(folder), made.path.suffix) == ([made.path.name], ".gpg")
        assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
        plain = tmp_path / "plain.dump"
        subprocess.run(["gpg", "--batch", "--decrypt", "--output", plain, made.path], check=True, capture_output=True)
        assert plain.read_bytes()[:5] == b"PGDMP" and not made.path.read_bytes().startswith(b"PGDMP")
        assert restored(plain, TRIAL) == [("+4915112345678",)]

    def test_a_key_that_gpg_does_not_know_is_told(self, gpg, tmp_path):
        folder = tmp_path / "backups"
        folder.mkdir()
        with pytest.raises(UserError, match=r"^gpg failed: .*nobody.*No public key\.$"):
            backups.make(folder, recipient="nobody@example.com")
        assert files(folder) == []

    @pytest.mark.skipif(not shutil.which("age-keygen"), reason="age is not installed.")
    def test_age_encrypts_for_a_public_key(self, own, tmp_path, trial):
        folder, identity, plain = tmp_path / "backups", tmp_path / "key.txt", tmp_path / "plain.dump"
        folder.mkdir()
        subprocess.run(["age-keygen", "-o", identity], check=True, capture_output=True)
        key = subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True).stdout.strip()
        made = backups.make(folder, recipient=key)
        assert (files(folder), made.path.suffix) == ([made.path.name], ".age")
        subprocess.run(["age", "--decrypt", "-i", identity, "-o", plain, made.path], check=True)
        assert restored(plain, TRIAL) == [("+4915112345678",)]


class TestFailures:
    def test_a_missing_program_is_told_with_what_to_install(self, tmp_path, settings, monkeypatch):
        settings.DATABASE_URL = "postgres://elsewhere"
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(UserError, match=r"^pg_dump was not found\. Install PostgreSQL's client programs"):
            backups.make(tmp_path)
        settings.DATABASE_URL = ""
        with pytest.raises(UserError, match=r"^age was not found\. Install age"):
            backups.make(tmp_path, recipient="age1abc")
        assert files(tmp_path) == []

    def test_a_program_older_than_the_server_is_told(self, tmp_path, settings):
        found = shutil.which("pg_dump")
        if not found or " 18" in subprocess.run([found, "--version"], capture_output=True, text=True).stdout:
            pytest.skip("There is no pg_dump of before PostgreSQL 18.")
        settings.DATABASE_URL = "postgres://elsewhere"  # so that the one of the machine is used
        with pytest.raises(UserError, match=r"^pg_dump [\d.]+ is older than the server, 18[\d.]+\. Install "):
            backups.make(tmp_path)
        assert files(tmp_path) == []

    def test_a_folder_that_is_missing_or_cannot_be_written_is_told(self, tmp_path):
        with pytest.raises(UserError, match=r"^There is no folder /.*/none\.$"):
            backups.make(tmp_path / "none")
        with pytest.raises(UserError, match=r"^Cannot write to /proc: [A-Z][a-z ]+\.$"):
            backups.make(Path("/proc"))

    def test_two_do_not_write_to_one_folder_at_a_time(self, tmp_path):
        with (tmp_path / backups.LOCK).open("w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            with pytest.raises(UserError, match=r"^Another backup is being written to /"):
                backups.make(tmp_path)
        assert files(tmp_path) == []

    def test_a_pooler_is_not_dumped_through(self, tmp_path, settings):
        settings.DATABASE_POOLER = "transaction"
        with pytest.raises(UserError, match="Run this with DATABASE_POOLER=none"):
            backups.make(tmp_path)


class TestTheCommand:
    def test_it_tells_the_file_and_that_the_keys_are_not_in_it(self, tmp_path, trial):
        (tmp_path / OLD.format(1)).write_text("x")
        (tmp_path / "url").write_text(f"{trial}\n")
        told = run("backup", str(tmp_path), "--keep", "1", "--try-in", f"@{tmp_path / 'url'}")
        assert f"{tmp_path}/watchword-2" in told and "Keep SECRET_KEY and ENCRYPTION_KEYS elsewhere" in told
        assert "All rows are consistent." in told and "Older backups removed: 1." in told

    def test_json(self, tmp_path):
        told = run_json("backup", str(tmp_path))
        assert Path(told["file"]).stat().st_size == told["bytes"]
        assert (told["trial"], told["removed"]) == (None, [])

    def test_sigterm_leaves_no_half_file(self, tmp_path):
        """As systemd and a node that goes down stop it. The program is one that takes its time."""
        programs, folder = tmp_path / "bin", tmp_path / "backups"
        programs.mkdir()
        folder.mkdir()
        (programs / "pg_dump").write_text("#!/bin/sh\nexec sleep 600\n")
        (programs / "pg_dump").chmod(0o755)
        connection.ensure_connection()
        host, name = quote(connection.connection.info.host, safe=""), connection.settings_dict["NAME"]
        environment = {
            **os.environ,
            "DATABASE_URL": f"postgres://watchword@/{name}?host={host}",
            "EMBEDDED": "true",
            "PATH": f"{programs}:{os.environ['PATH']}",
        }
        command = [sys.executable, "manage.py", "backup", folder]
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: files(folder), "it has begun")
        running.send_signal(signal.SIGTERM)
        told, complaints = running.communicate(timeout=60)
        assert (running.returncode, told, complaints, files(folder)) == (INTERRUPTED, b"", b"", [])

    def test_an_error_is_one_line(self, tmp_path):
        with pytest.raises(CommandError, match=r"^There is no folder .*\.$"):
            run("backup", str(tmp_path / "none"))
