"""Backups of the database: written whole or not at all, tried by a restore, and so many of them kept.

The work is that of PostgreSQL's own programs, ``pg_dump`` and ``pg_restore``; a backup is encrypted by ``age`` or
``gpg``. No password and no URL is an argument of a program, where every user of the machine could read it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from psycopg import IsolationLevel, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from verification.core.errors import UserError
from verification.models import Upkeep

Connection = psycopg.Connection[tuple[Any, ...]]

RUN = "backup"  # name of its row in Upkeep
OWNER_ONLY = 0o600
NAME = "watchword-%Y-%m-%d-%H%M%S.dump"  # in UTC, so that names sort by age
ENDINGS = {"age": ".age", "gpg": ".gpg"}  # of an encrypted backup, by the program
OURS = re.compile(r"watchword-\d{4}-\d\d-\d\d-\d{6}\.dump(\.age|\.gpg)?")
UNFINISHED = ".watchword-*.part"  # hidden, so that nothing takes it for a backup
LOCK = ".watchword-backup.lock"
# A restore would bring back logins to the panel that were ended since. The row of a write trial comes and goes.
LEFT_OUT = ("django_session", "verification_writetrial")
# What our programs read from our environment, which also has the secrets.
PASSED_ON = ("PATH", "HOME", "GNUPGHOME", "TMPDIR")
_CLIENTS = "Install PostgreSQL's client programs in the server's version or a later one"
NEEDED = {
    "pg_dump": _CLIENTS,
    "pg_restore": _CLIENTS,
    "age": "Install age (https://age-encryption.org)",
    "gpg": "Install GnuPG",
}
OTHER_VERSION = re.compile(r"server version: ([\d.]+).*pg_dump version: ([\d.]+)")
COMPLAINT = re.compile(r"^.*?error: |^\w+: ")  # what stands before a complaint
# An entry of a dump's list of contents that is ours to restore: number, two ids, kind in capitals, schema and
# name. Extensions, and what monitoring keeps in other schemas, are made by whoever rules the server.
OUR_ENTRY = re.compile(r"\d+; \d+ \d+ [A-Z ]+ public .*")
_TABLES = """
    SELECT n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND n.nspname = 'public' AND c.oid <> ALL (ARRAY(
        SELECT objid FROM pg_depend WHERE classid = 'pg_class'::regclass AND deptype = 'e'
    )) ORDER BY 1, 2
"""
_OF_EXTENSIONS = """
    SELECT format('%I.%I', n.nspname, c.relname) FROM pg_depend AS d
    JOIN pg_class AS c ON c.oid = d.objid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND c.relkind IN ('r', 'p')
"""
_IS_EMPTY = """
    SELECT NOT EXISTS (
        SELECT FROM (SELECT relnamespace FROM pg_class UNION ALL SELECT pronamespace FROM pg_proc) AS made (schema)
        JOIN pg_namespace AS n ON n.oid = made.schema
        WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    )
"""
_OWNS_SCHEMA = "SELECT pg_has_role(nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'public'"


@dataclass(frozen=True, slots=True)
class Trial:
    """What a restored backup holds."""

    tables: int
    rows: int


@dataclass(frozen=True, slots=True)
class WrittenBackup:
    """A finished backup. ``size`` is in bytes; ``removed`` are the older ones that are not kept."""

    path: Path
    size: int
    trial: Trial | None = None
    removed: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A database: a connection string without the password, the password, and the URL where one was given."""

    conninfo: str
    password: str
    url: str = ""

    def connect(self) -> Connection:
        return psycopg.connect(self.conninfo, password=self.password or None)

    def environment(self) -> dict[str, str]:
        """Return what PostgreSQL's programs are given. Their errors are in English, which we read."""
        return _environment() | {"LC_ALL": "C"} | ({"PGPASSWORD": self.password} if self.password else {})


def make(folder: Path, *, keep: int | None = None, recipient: str = "", try_in: str = "") -> WrittenBackup:
    """Write a backup into the folder and return it. Of the backups there the newest ``keep`` stay, or all with None.

    ``recipient`` is a public key of age, or names a key of gpg. ``try_in`` is the URL of an empty database, into which
    the backup is restored; there its rows are counted and looked over, and it is emptied again.

    Raises :class:`UserError`. Then there is no new file, unless the message names it: a backup that is whole stays even
    where its trial has failed. No older one is removed in either case; how many there are then, the message tells.
    """
    if settings.DATABASE_POOLER != "none":
        raise UserError(
            "pg_dump changes the session that it uses, and a pooler would give that session to others. Run this with "
            "DATABASE_POOLER=none and a DATABASE_URL that connects to PostgreSQL directly."
        )
    dump = _program("pg_dump")
    encrypt = _encryption(recipient)
    target = _target(try_in) if try_in else None
    if target:
        _program("pg_restore")
        _require_empty(target)
    began = timezone.now()
    with _claimed(folder):
        path = folder / f"{datetime.now(UTC).strftime(NAME)}{ENDINGS[Path(encrypt[0]).name] if encrypt else ''}"
        part, plain = folder / f".{path.name}.part", folder / f".{path.name}.plain.part"
        if path.exists():
            raise UserError(f"{path} already exists.")
        trial, failure = None, ""
        try:
            if target is None:
                _dump([dump], part, through=encrypt)
            else:
                with _snapshot() as (snapshot, rows):
                    _dump([dump, f"--snapshot={snapshot}"], plain)
                try:
                    trial = _try(plain, target, rows)
                except UserError as error:
                    failure = str(error)
                if encrypt:
                    with plain.open("rb") as readable:
                        _write(encrypt, part, stdin=readable)
                else:
                    plain.rename(part)
            part.rename(path)
            _sync(folder)
        except OSError as error:
            raise UserError(f"{folder}: {_reason(error)}.") from None
        finally:
            for each in (part, plain):
                each.unlink(missing_ok=True)
        if failure:
            count = len(_ours(folder))
            raise UserError(
                f"{path} was written, but the trial failed: {failure} No older backup was removed; the folder has "
                f"{count} now."
            )
        with contextlib.suppress(DatabaseError, InterfaceError):  # a standby takes no write; the backup is whole
            Upkeep.objects.update_or_create(name=RUN, defaults={"started_at": began, "finished_at": timezone.now()})
        return WrittenBackup(path, path.stat().st_size, trial, _remove_old(folder, keep))


def _remove_old(folder: Path, keep: int | None) -> tuple[Path, ...]:
    """Remove all but the newest ones, by the time in their names. Other files stay."""
    old = tuple(_ours(folder)[keep:]) if keep else ()
    for each in old:
        each.unlink()
    return old


def _ours(folder: Path) -> list[Path]:
    """Return the backups in a folder, the newest first."""
    return sorted((each for each in folder.iterdir() if OURS.fullmatch(each.name)), reverse=True)


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Let one backup at a time be written in a folder, and remove what one that was killed has left."""
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}.")
    try:
        lock = _open_private(folder / LOCK, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise UserError(f"Cannot write to {folder}: {_reason(error)}.") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(f"Another backup is being written to {folder}.") from None
        for leftover in folder.glob(UNFINISHED):
            leftover.unlink()
        yield
    finally:
        os.close(lock)


def _dump(command: list[str], path: Path, *, through: list[str] | None = None) -> None:
    source = _source()
    command = [*command, "--format=custom", "--no-password", f"--dbname={source.conninfo}"]
    with source.connect() as reader:
        of_extensions = [str(name) for (name,) in reader.execute(_OF_EXTENSIONS).fetchall()]
    command += [f"--exclude-table-data={table}" for table in (*LEFT_OUT, *of_extensions)]
    if not through:
        # By its name, and not as standard output: to a file there pg_dump 18 writes the list of contents twice, and who
        # restores that from a pipe leaves a rest.
        os.close(_open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        done = subprocess.run([*command, f"--file={path}"], capture_output=True, env=source.environment())
        _require_success(command[0], done.returncode, done.stderr, path.parent)
        return
    with tempfile.TemporaryFile() as told:
        dump = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told, env=source.environment()
        )
        with dump:
            _write(through, path, stdin=dump.stdout)
        told.seek(0)
        _require_success(command[0], dump.returncode, told.read(), path.parent)


def _write(command: list[str], path: Path, *, stdin: IO[bytes] | None) -> None:
    """Write what a program makes of its input to a new file for its owner alone, down to the disk."""
    with open(path, "xb", opener=_open_private) as file:
        done = subprocess.run(command, stdin=stdin, stdout=file, stderr=subprocess.PIPE, env=_environment())
        _require_success(command[0], done.returncode, done.stderr, path.parent)
        os.fsync(file.fileno())


def _open_private(path: str | Path, flags: int) -> int:
    return os.open(path, flags, OWNER_ONLY)


def _sync(folder: Path) -> None:
    """Have the name of a new file on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_success(program: str, code: int, told: bytes, folder: Path | None = None) -> None:
    """Raise :class:`UserError` with the first complaint of a program that has failed. Details hold rows: they stay."""
    if code == 0:
        return
    text, name = told.decode(errors="replace"), Path(program).name
    if os.strerror(errno.ENOSPC) in text and folder:
        raise UserError(f"There is no space left on the disk of {folder}.")
    if versions := OTHER_VERSION.search(text):
        server, client = versions.groups()
        raise UserError(f"{name} {client} is older than the server, {server}. {NEEDED['pg_dump']}.")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    complaint = next((line for line in lines if "error: " in line), lines[0] if lines else f"exit code {code}")
    raise UserError(f"{name} failed: {COMPLAINT.sub('', complaint).rstrip('.')}.")


@contextlib.contextmanager
def _snapshot() -> Iterator[tuple[str, dict[str, int]]]:
    """Count the rows of each table in a snapshot that ``pg_dump`` can share, which lives as long as this does."""
    with _source().connect() as reader:
        reader.isolation_level, reader.read_only = IsolationLevel.REPEATABLE_READ, True
        reader.execute("SET idle_in_transaction_session_timeout = 0")  # nothing happens here while the dump is written
        found = reader.execute("SELECT pg_export_snapshot()").fetchone()
        yield str(found[0] if found else ""), _rows(reader)


def _rows(reader: Connection) -> dict[str, int]:
    """Return the number of rows of each table that a dump takes along with its rows."""
    counts = {}
    for schema, table in reader.execute(_TABLES).fetchall():
        if table not in LEFT_OUT:
            counted = reader.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table)))
            counts[f"{schema}.{table}"] = counted.fetchall()[0][0]
    return counts


def _require_empty(target: Target) -> None:
    with _asked(target) as asked:
        [(is_empty,)] = asked.execute(_IS_EMPTY).fetchall()
        if not is_empty:
            raise UserError("The database of --try-in is not empty. Name one that is, as everything in it is removed.")
        if asked.execute(_OWNS_SCHEMA).fetchall() != [(True,)]:
            raise UserError("The user of --try-in does not own that database, and could not empty it again.")


def _try(dump: Path, target: Target, rows: dict[str, int]) -> Trial:
    """Restore a dump into an empty database, and empty it again however that ends."""
    failure = ""
    try:
        return _restore(dump, target, rows)
    except UserError as error:
        failure = str(error)
        raise
    finally:
        try:
            with _asked(target) as asked:
                asked.execute("DROP SCHEMA public CASCADE")
                asked.execute("CREATE SCHEMA public")
        except UserError as error:
            raise UserError(f"{failure} It could not be emptied again: {error}".strip()) from None


def _restore(dump: Path, target: Target, rows: dict[str, int]) -> Trial:
    """Restore a dump, compare the numbers of its rows with those of the snapshot, and look the rows over."""
    program = _program("pg_restore")
    listed = subprocess.run([program, "--list", str(dump)], capture_output=True, text=True, env=target.environment())
    _require_success(program, listed.returncode, listed.stderr.encode())
    with tempfile.NamedTemporaryFile("w", suffix=".list") as wanted:
        wanted.writelines(f"{line}\n" for line in listed.stdout.splitlines() if OUR_ENTRY.fullmatch(line))
        wanted.flush()
        command = [program, "--no-owner", "--no-privileges", "--exit-on-error", "--no-password"]
        command += [f"--dbname={target.conninfo}", f"--use-list={wanted.name}", str(dump)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=target.environment())
    _require_success(program, done.returncode, done.stderr)
    with _asked(target) as asked:
        restored = _rows(asked)
    differing = sorted(name for name in rows | restored if rows.get(name) != restored.get(name))
    if differing:
        raise UserError(f"Another number of rows was restored in {', '.join(differing)}.")
    _require_integrity(target)
    return Trial(len(restored), sum(restored.values()))


def _require_integrity(target: Target) -> None:
    """Run ``checkintegrity`` in a process of its own, whose database is the restored one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
    environment |= {"DATABASE_URL": target.url, "EMBEDDED": str(settings.IS_EMBEDDED)}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "checkintegrity", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode and done.stdout:
        found = json.loads(done.stdout)["violations"]
        raise UserError("Rows break a rule: " + ", ".join(f"{count} {name}" for name, count in found.items()) + ".")
    if done.returncode:
        raise UserError(f"checkintegrity failed: {done.stderr.strip().removeprefix('watchword: ')}")


@contextlib.contextmanager
def _asked(target: Target) -> Iterator[Connection]:
    """Connect to the database of the trial. Its errors become a :class:`UserError` of one line."""
    try:
        with target.connect() as opened:
            yield opened
    except psycopg.Error as error:
        first_line = str(error).strip().partition("\n")[0]
        raise UserError(f"The database of --try-in: {first_line.rstrip('.')}.") from None


def _source() -> Target:
    """Return our own database as the settings have it. Raises Django's ``DatabaseError`` while it does not answer.

    What the driver adds is left out: its library may be newer than that of ``pg_dump``, and know other options.
    """
    connection.ensure_connection()
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    given = {name: value for name, value in connection.get_connection_params().items() if name in known}
    password = str(given.pop("password", ""))
    return Target(make_conninfo(**given), password)


def _target(url: str) -> Target:
    unreadable = UserError("--try-in cannot be read. Write it as postgres://user:password@host/name.")
    if not url.startswith(("postgres://", "postgresql://")):
        raise unreadable
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # which repeats the URL with its password
        raise unreadable from None
    password = str(given.pop("password", ""))
    return Target(make_conninfo(**given), password, url)


def _encryption(recipient: str) -> list[str]:
    """Return the command that encrypts for a recipient, or nothing without one."""
    if not recipient:
        return []
    if recipient.startswith(("age1", "ssh-")):
        return [_program("age"), "--recipient", recipient]
    # Whom the key belongs to is the operator's to know: nobody is there to be asked. No key is looked for elsewhere.
    options = ["--batch", "--no-auto-key-locate", "--trust-model", "always"]
    return [_program("gpg"), *options, "--encrypt", "--recipient", recipient]


def _program(name: str) -> str:
    """Return the path of a program: of PostgreSQL's the one beside the embedded server, where that is the database."""
    own = None if settings.DATABASE_URL else settings.EMBEDDED.programs()
    found = (shutil.which(name, path=own) if own else None) or shutil.which(name)
    if found is None:
        raise UserError(f"{name} was not found. {NEEDED[name]}.")
    return found


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in PASSED_ON if name in os.environ}


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
