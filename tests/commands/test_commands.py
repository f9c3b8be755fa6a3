"""Promises that all commands keep."""

import errno
import io
import os
import re
import subprocess
import sys
from importlib import import_module
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import InterfaceError, OperationalError

from config import command_line
from providers.errors import SettingsInvalid
from tests.live import ROOT
from verification.core.errors import ApiError, FieldError, FieldsInvalid, UserError
from verification.management.base import WatchwordCommand, explain
from verification.models import ApiKey, IdentityConnection, Project, Recipient, WebhookSecret

AWAY = "Is it running, and is DATABASE_URL right?"
COMMANDS = [
    "addprovider",
    "addtestlogin",
    "checkproviders",
    "createproject",
    "health",
    "issuekey",
    "purge",
    "revokekey",
    "sendtest",
    "setproject",
    "stats",
    "sweep",
    "up",
    "worker",
]


@pytest.mark.parametrize("name", COMMANDS)
def test_its_help_says_what_it_does(name):
    command = import_module(f"verification.management.commands.{name}").Command()
    text = command.create_parser("manage.py", name).format_help()
    assert command.help.split()[0] in text
    assert "--pythonpath" not in text
    assert ("--json" in text) == (name not in ("up", "worker"))


@pytest.mark.parametrize(
    "error, line",
    [
        (UserError("There is no\nproject."), "There is no project."),
        (SettingsInvalid({"url": "this setting is required"}), "url: this setting is required"),
        (ApiError("too_many_sends", "Too many codes.", retry_after=30), "Too many codes. Try again in 30 s."),
        (FieldsInvalid(FieldError("to", "invalid", "It is wrong.")), "to: It is wrong."),
        (OperationalError("connection failed\n\tmore"), f"The database does not answer: connection failed. {AWAY}"),
        (InterfaceError("closed"), f"The database does not answer: closed. {AWAY}"),
    ],
)
def test_an_error_is_one_line(error, line):
    class Failing(WatchwordCommand):
        def handle(self, **_):
            raise error

    with pytest.raises(CommandError, match=f"^{re.escape(line)}$"):
        call_command(Failing())
    assert explain(error) == line


def test_a_programming_error_is_not_hidden():
    class Failing(WatchwordCommand):
        def handle(self, **_):
            raise KeyError("ours")

    with pytest.raises(KeyError):
        call_command(Failing(), stderr=io.StringIO())


@pytest.mark.parametrize(
    "arguments, line",
    [
        (["createproject"], "the following arguments are required: NAME. See: manage.py createproject --help"),
        (["issuekey", "Shop", "--kind", "public"], "argument --kind: invalid choice"),
        (["stats", "--json"], f"The database in {settings.HOME_DIR} is not up to date"),
    ],
    ids=("usage", "choice", "database"),  # two processes of one run have two homes, and must collect the same tests
)
def test_on_the_command_line_it_goes_to_standard_error_with_exit_code_1(arguments, line):
    empty = settings.EMBEDDED.database_url.replace("@/watchword?", "@/postgres?")
    environment = {**os.environ, "DATABASE_URL": empty, "EMBEDDED": "true"}
    done = subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.decode().startswith(f"watchword: {line}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["issuekey", "Shop", "--kind", "api", "--expires-in", "9" * 14],
            "argument --expires-in: a whole number from 1",
        ),
        (
            ["addtestlogin", "Shop", "+15550100001", "123456", "--expires-in", "9" * 30],
            "argument --expires-in: a whole",
        ),
        (["purge", "--days", "99999999999"], "argument --days: a whole number from 1 to 36500 is expected"),
        (["worker", "--threads", "100000"], "argument --threads: a whole number from 1 to 1000 is expected"),
        (["up", "--workers", "0"], "argument --workers: a whole number from 1 to 256 is expected"),
        (["createproject", b"Bad \xff"], "Argument 2 is not UTF-8"),
    ],
)
def test_what_no_column_or_clock_can_hold_is_refused_in_one_line(arguments, line):
    done = subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert done.stderr.decode().startswith(f"watchword: {line}")


def on_command_line(words, **options):
    shell = f"{sys.executable} manage.py {words}"
    return subprocess.run(shell, shell=True, cwd=ROOT, stderr=subprocess.PIPE, **{"text": True} | options)


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize(("to", "why"), [("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_told_in_one_line(to, why, buffered):
    done = on_command_line(f"help {to}", env={**os.environ, "PYTHONUNBUFFERED": buffered})
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"watchword: The output cannot be written: {why}. ")


def test_a_reader_that_has_gone_is_no_fault_to_tell():
    done = on_command_line("help | true", executable="/bin/bash")
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "koi8-r"])
def test_a_terminal_of_another_encoding_shows_what_it_can(encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = on_command_line("addprovider --help", env=environment, stdout=subprocess.PIPE, encoding=encoding)
    assert (done.returncode, done.stderr) == (0, "")


class FullDisk(io.StringIO):
    def flush(self):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "words",
    [
        ["createproject", "Other", "--owner", "ann@example.com"],
        ["issuekey", "{project}", "--kind", "secret"],
        ["issuekey", "{project}", "--kind", "webhook"],
        ["addconnection", "{project}", "--system", "logto"],
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_what_a_secret_is_for_is_not_made_where_the_secret_cannot_be_shown(project, words, more):
    tables = (Project, ApiKey, WebhookSecret, IdentityConnection, User)
    before = [list(table.objects.order_by("pk").values()) for table in tables]
    with pytest.raises(CommandError, match="so nothing was changed: No space left on device"):
        call_command(*(word.format(project=project.id) for word in words), *more, stdout=FullDisk())
    assert [list(table.objects.order_by("pk").values()) for table in tables] == before


@pytest.mark.django_db
def test_nothing_is_erased_whose_export_could_not_be_written(project):
    recipient = Recipient.objects.create(project=project.row, address="ann@example.com")
    with pytest.raises(OSError, match="No space"):
        call_command("forget", str(project.id), "ann@example.com", "--export", "-", stdout=FullDisk())
    assert Recipient.objects.filter(pk=recipient.pk).exists()


def test_beside_a_service_that_runs_elsewhere_no_second_database_is_made(tmp_path):
    environment = {**os.environ, "WATCHWORD_HOME": str(tmp_path / "var")}
    for command in (["stats"], ["createproject", "Shop"], ["createsuperuser"], ["worker"]):
        done = subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, capture_output=True)
        said = f"watchword: There is no database in {tmp_path / 'var'}. Start the service with: manage.py up. "
        assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
        assert done.stderr.decode().startswith(said) and "WATCHWORD_HOME" in done.stderr.decode()
    assert not (tmp_path / "var" / "postgres").exists()


def test_a_python_without_django_says_which_one_to_take():
    bare = [sys.executable, "-I", "-S", str(ROOT / "manage.py"), "up"]
    done = subprocess.run(bare, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "has no Django" in done.stderr and ".venv/bin/python manage.py" in done.stderr


def test_a_question_without_a_terminal_is_one_line(monkeypatch):
    """As `changepassword` asks by `docker compose exec -T`, or from cron."""
    monkeypatch.setattr(command_line, "needs_servers", lambda _: False)
    monkeypatch.setattr(command_line, "execute_from_command_line", Mock(side_effect=EOFError))
    with pytest.raises(SystemExit, match=r"^watchword: The command needs input\. "):
        command_line.execute(["manage.py", "changepassword"])


@pytest.mark.parametrize(
    ("arguments", "needs"),
    [(["makemessages", "--all"], False), (["compilemessages"], False), (["stats", "--help"], False), (["stats"], True)],
)
def test_translating_and_asking_for_help_start_no_database(arguments, needs):
    assert command_line.needs_servers(arguments) is needs
