"""``deploy/backup``: dumps of a real PostgreSQL by its own programs, which are restored into another database."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from urllib.parse import quote

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests import factories
from tests.commands.running import run_json
from tests.faults.test_metrics_disk import ON_A_SMALL_DISK, is_allowed
from tests.live import ROOT, wait_until
from tests.servers.postgres import PostgresServer
from verification.core import caching
from verification.models import Recipient

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]

TRIAL = "trial_of_backups"
OLD = "watchword-2026-01-0{}-033000.dump"
LOCK = ".watchword-backup.lock"


@pytest.fixture
def own():
    """One row more than an empty installation, so that a count of rows says something."""
    return Recipient.objects.create(project=factories.project("Shop").row, address="+4915112345678")


def url_of(database):
    connection.ensure_connection()
    return f"postgres://watchword:pass%20word@/{database}?host={quote(connection.connection.info.host, safe='')}"


@pytest.fixture
def trial():
    """The URL of an empty database beside our own."""
    with statements_of("postgres") as server:
        server.execute(f"DROP DATABASE IF EXISTS {TRIAL}")
        server.execute(f"CREATE DATABASE {TRIAL}")
    yield url_of(TRIAL)
    with statements_of("postgres") as server:
        server.execute(f"DROP DATABASE {TRIAL} WITH (FORCE)")


@contextlib.contextmanager
def statements_of(database):
    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, dbname=database, autocommit=True) as opened:
        yield opened


def tables_in(database):
    with statements_of(database) as opened:
        return opened.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchall()


def environment(**variables):
    return {
        **os.environ,
        "DATABASE_URL": url_of(connection.settings_dict["NAME"]),
        "EMBEDDED": "true",
        "PATH": f"{settings.EMBEDDED.programs()}:{os.environ['PATH']}",
        "WATCHWORD": f"{sys.executable} {ROOT / 'manage.py'}",
        **variables,
    }


def backup(*arguments, **variables):
    command = [ROOT / "deploy" / "backup", *arguments]
    return subprocess.run(command, env=environment(**variables), capture_output=True, text=True)


def written(*arguments):
    done = backup(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def refused(*arguments, **variables):
    """Run one that fails, and return the one line that it says."""
    done = backup(*arguments, **variables)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    return done.stderr


def files(folder):
    return sorted(each.name for each in folder.iterdir() if each.name != LOCK)


def restored(path):
    """Restore a backup as the page on backups says, and ask for its recipients."""
    command = (
        'pg_restore --list "$0" | grep -E "^[0-9; ]+[A-Z ]+ public " > "$0.list"; '
        'pg_restore --no-owner --no-privileges --exit-on-error --use-list="$0.list" --dbname="$1" "$0"'
    )
    done = subprocess.run(["sh", "-c", command, path, url_of(TRIAL)], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    with statements_of(TRIAL) as opened:
        return opened.execute("SELECT address FROM verification_recipient").fetchall()


def test_it_holds_the_rows_for_its_owner_alone_and_no_session_of_the_panel(own, admin_client, tmp_path, trial):
    (tmp_path / ".watchword-2026-01-01-033000.dump.part").write_text("half of one that was killed")
    told = written(tmp_path)
    (name,) = files(tmp_path)
    made = tmp_path / name
    assert told == f"{made}: {made.stat().st_size} bytes.\n"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert restored(made) == [("+4915112345678",)]
    with statements_of(TRIAL) as opened:
        assert opened.execute("SELECT count(*) FROM django_session").fetchall() == [(0,)]
    caching.clear_all()
    assert run_json("status")["last_backup"]


def test_the_newest_are_kept_and_what_is_not_ours_stays(tmp_path):
    for name in (OLD.format(1), OLD.format(2), OLD.format(3) + ".age", "watchword-notes.dump", "other.dump"):
        (tmp_path / name).write_text("x")
    written(tmp_path, "--keep", "2")
    (_, kept, new, _) = files(tmp_path)
    assert kept == OLD.format(3) + ".age" and files(tmp_path) == ["other.dump", kept, new, "watchword-notes.dump"]


def test_it_is_restored_and_counted_whatever_others_made_in_the_database(own, tmp_path, trial):
    """An extension, as monitoring asks for, with a table of its own, a role, and a grant."""
    name = connection.settings_dict["NAME"]
    (tmp_path / "url").write_text(trial)
    with statements_of("postgres") as server:
        server.execute("CREATE ROLE agent")
        server.execute("CREATE ROLE tenant")
        server.execute(f"ALTER DATABASE {TRIAL} OWNER TO tenant")
        server.execute(f"ALTER DATABASE {TRIAL} SET role = tenant")  # who may make no extension
    with statements_of(name) as opened:
        opened.execute("CREATE SCHEMA agents")
        opened.execute("CREATE EXTENSION vector SCHEMA agents")
        opened.execute("CREATE TABLE public.of_extension AS SELECT 1 AS kept")
        opened.execute("ALTER EXTENSION vector ADD TABLE public.of_extension")
        opened.execute("GRANT SELECT ON verification_recipient TO agent")
    try:
        for _ in range(2):  # it is empty again
            assert ", restored: " in written(tmp_path, "--try-in", f"@{tmp_path / 'url'}", "--keep", "1")
        assert tables_in(TRIAL) == []
        (made, _) = reversed(files(tmp_path))
        assert restored(tmp_path / made) == [("+4915112345678",)]
    finally:
        with statements_of(name) as opened:
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


@pytest.mark.parametrize("fault", ["a broken rule", "a database that takes no writes"])
def test_a_trial_that_fails_is_told_and_every_backup_stays(own, tmp_path, trial, fault):
    (tmp_path / OLD.format(1)).write_text("x")
    if fault == "a broken rule":
        Recipient.objects.update(address="")
        said = "recipient_address 1 rows"
    else:
        with statements_of("postgres") as server:
            server.execute(f"ALTER DATABASE {TRIAL} SET default_transaction_read_only = on")
        said = "read-only transaction"
    told = refused(tmp_path, "--keep", "1", "--try-in", trial)
    assert ".dump was written, but its trial failed: " in told and said in told, told
    assert (len(files(tmp_path)), tables_in(TRIAL)) == (2, [])


def test_rows_that_were_not_restored_are_told(own, tmp_path, trial):
    """By a pg_restore that leaves a table's rows out: the real one restores all that is in the dump."""
    (tmp_path / "bin").mkdir()
    real = settings.EMBEDDED.programs() / "pg_restore"
    (tmp_path / "bin" / "pg_restore").write_text(
        f'#!/bin/sh\n"{real}" "$@" | sed "/TABLE DATA public verification_recipient /d"\n'
    )
    (tmp_path / "bin" / "pg_restore").chmod(0o755)
    folder = tmp_path / "backups"
    folder.mkdir()
    path = f"{tmp_path / 'bin'}:{settings.EMBEDDED.programs()}:{os.environ['PATH']}"
    assert "rows was restored in verification_recipient." in refused(folder, "--try-in", trial, PATH=path)


def test_a_database_that_is_not_empty_is_left_alone(own, tmp_path, trial):
    with statements_of(TRIAL) as opened:
        opened.execute("CREATE TABLE precious ()")
    for url in (trial, url_of(connection.settings_dict["NAME"])):
        assert "is not empty" in refused(tmp_path, "--try-in", url)
    assert (files(tmp_path), tables_in(TRIAL), Recipient.objects.count()) == ([], [("precious",)], 1)


@pytest.mark.parametrize("is_tried", [False, True])
def test_age_encrypts_for_a_public_key(own, tmp_path, trial, is_tried):
    folder, identity, plain = tmp_path / "backups", tmp_path / "key.txt", tmp_path / "plain.dump"
    folder.mkdir()
    subprocess.run(["age-keygen", "-o", identity], check=True, capture_output=True)
    key = subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True).stdout.strip()
    written(folder, "--recipient", key, *(("--try-in", trial) if is_tried else ()))
    (name,) = files(folder)
    assert name.endswith(".dump.age") and stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    subprocess.run(["age", "--decrypt", "-i", identity, "-o", plain, folder / name], check=True)
    assert restored(plain) == [("+4915112345678",)]


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (("--recipient", "nobody"), {}, "unknown recipient type"),
        (("--keep", "0"), {}, "--keep is not a number"),
        (("--try-in", "host=x password=secret"), {}, "--try-in is not a URL"),
        (("--try-in", "postgres://me:secret@127.0.0.1:1/name"), {}, "Connection refused"),
        (("--what",), {}, "there is no option --what"),
        ((), {"DATABASE_POOLER": "transaction"}, "DATABASE_POOLER=none"),
        ((), {"DATABASE_URL": "postgres://me:secret@127.0.0.1:1/name"}, "Connection refused"),
        ((), {"PATH": "/usr/sbin:/bin"}, "is not installed"),
    ],
)
def test_an_error_is_one_line_and_leaves_no_file(tmp_path, arguments, variables, said):
    if "PATH" in variables and shutil.which("pg_dump", path=variables["PATH"]):
        (tmp_path / "bin").mkdir()
        for name in ("bash", "dirname", "env"):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name))
        variables = {"PATH": str(tmp_path / "bin")}
    folder = tmp_path / "backups"
    folder.mkdir()
    told = refused(folder, *arguments, **variables)
    assert said in told and "secret" not in told and files(folder) == []


def test_a_folder_that_is_missing_or_in_use_is_told(tmp_path):
    assert "there is no folder" in refused(tmp_path / "none")
    assert "cannot write to /proc" in refused("/proc")
    with (tmp_path / LOCK).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert "another backup is being written" in refused(tmp_path)


def test_a_full_disk_is_told_and_no_half_file_is_left(tmp_path):
    if not is_allowed(tmp_path):
        pytest.skip("This machine lets nobody mount a disk of their own.")
    program = 'mount -t tmpfs -o size=64k tmpfs "$FOLDER" && "$BACKUP" "$FOLDER"; ls "$FOLDER"'
    with PostgresServer() as server:
        with psycopg.connect(server.url) as opened:
            opened.execute("CREATE TABLE large AS SELECT md5(number::text) FROM generate_series(1, 10000) AS number")
        own = {"FOLDER": str(tmp_path), "BACKUP": str(ROOT / "deploy" / "backup"), "DATABASE_URL": server.url}
        done = subprocess.run([*ON_A_SMALL_DISK, program], env=environment(**own), capture_output=True, text=True)
    assert "No space left on device" in done.stderr, done.stderr
    assert (done.stderr.count("\n"), done.stdout) == (1, "")


def test_sigterm_leaves_no_half_file(tmp_path):
    """As systemd stops it, with all its processes. The program is one that takes its time."""
    programs, folder = tmp_path / "bin", tmp_path / "backups"
    programs.mkdir()
    folder.mkdir()
    (programs / "pg_dump").write_text('#!/bin/sh\nfor last; do :; done\ntouch "${last#--file=}"\nexec sleep 600\n')
    (programs / "pg_dump").chmod(0o755)
    path = f"{programs}:{settings.EMBEDDED.programs()}:{os.environ['PATH']}"
    command = [ROOT / "deploy" / "backup", folder]
    running = subprocess.Popen(command, env=environment(PATH=path), start_new_session=True)
    wait_until(lambda: files(folder), "it has begun")
    os.killpg(running.pid, signal.SIGTERM)
    assert (running.wait(60), files(folder)) == (130, [])
