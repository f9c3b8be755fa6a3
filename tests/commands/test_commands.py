"""What the commands promise in common."""

import io
import os
import re
import subprocess
import sys
from importlib import import_module

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import InterfaceError, OperationalError

from providers.errors import SettingsInvalid
from tests.live import ROOT
from verification.errors import FieldError, FieldsInvalid, Misuse, Refusal
from verification.management.base import WatchwordCommand, explain, table

AWAY = "Is it running, and DATABASE_URL right?"
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
        (Misuse("There is no\nproject."), "There is no project."),
        (SettingsInvalid({"url": "this setting is required"}), "url: this setting is required"),
        (Refusal("too_many_sends", "Too many codes.", retry_after=30), "Too many codes. Try again in 30 s."),
        (FieldsInvalid(FieldError("to", "invalid", "It is wrong.")), "to: It is wrong."),
        (OperationalError("connection failed\n\tmore"), f"The database is away: connection failed. {AWAY}"),
        (InterfaceError("closed"), f"The database is away: closed. {AWAY}"),
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
        (["stats", "--json"], "The database is not up to date"),
    ],
)
def test_on_the_command_line_it_goes_to_standard_error_with_exit_code_1(arguments, line):
    empty = settings.EMBEDDED.database_url.replace("@/watchword?", "@/postgres?")
    environment = {**os.environ, "DATABASE_URL": empty, "EMBEDDED": "true"}
    done = subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.decode().startswith(f"watchword: {line}")
    assert done.stderr.count(b"\n") == 1


def test_a_table_has_columns_as_wide_as_they_need():
    assert table(("id", "name"), [(7, "a"), (12, "bb")]) == "id  name\n 7  a\n12  bb"
