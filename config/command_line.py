"""Runs a command of ``manage.py``: starts the embedded servers before it, and ends what stops it in one line."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from typing import NoReturn

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError

from config.processes.embedded import EmbeddedUnavailable

ABOUT_USERS = ("createsuperuser", "changepassword")  # Django's own
CRITICAL = 2  # the doctor's exit status for its worst findings
REMEDY = "Change the environment that this command, and every process, is started with."
ASKS_NOTHING = {"help", "version", "-h", "--help", "--version", "makemessages", "compilemessages"}
UNWRITABLE = {errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE}
MAKES_DATABASE = ("up", "migrate")  # the commands that a first start is made with


def execute(arguments: list[str]) -> None:
    """Run the command that ``arguments`` name, as ``sys.argv`` has them.

    What cannot be written is told in one line, whatever the command.
    """
    prepare_output()
    when = "All else is done"
    try:
        run(arguments)
    except SystemExit as end:
        fault = last_fault()
        if end.code or not fault:
            raise
    except OSError as error:
        last_fault()
        if error.filename or error.errno not in UNWRITABLE:
            raise
        fault, when = error, "The command ended early, and what it did until then remains"
    else:
        fault = last_fault()
    if isinstance(fault, BrokenPipeError):  # our reader has had enough, as `| head` has
        sys.exit(1)
    if fault:
        sys.exit(f"watchword: The output cannot be written: {fault.strerror}. {when}.")


def prepare_output() -> None:
    """Make standard output take every character, and fail as other files do where the caller closed it."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (for as long as the process lives)
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def last_fault() -> OSError | None:
    """Write what standard output still holds. Return why it cannot be; nobody tries again then, nor does Python."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def run(arguments: list[str]) -> None:
    if arguments[1:2] == ["up"] and "--demo" in arguments:
        os.environ["PUBLIC_DEMO"] = "true"  # for the processes of `up`, too
    try:
        if settings.IS_EMBEDDED and needs_servers(arguments[1:]):
            require_database(arguments[1])
            settings.EMBEDDED.start()
        execute_from_command_line(arguments)
    except (ImproperlyConfigured, EmbeddedUnavailable) as error:
        refuse(arguments, str(error))
    except EOFError:  # a question of Django's, such as changepassword's, met no terminal
        sys.exit("watchword: The command needs input. Run it in a terminal.")
    except OperationalError as error:  # from Django's own commands, such as migrate; ours catch it themselves
        first_line = str(error).partition("\n")[0]
        sys.exit(f"watchword: The database does not answer: {first_line}. Is it running, and DATABASE_URL right?")


def refuse(arguments: list[str], reason: str) -> NoReturn:
    """End before any command could begin. The doctor tells that, too, as a finding and by its exit status."""
    if arguments[1:2] != ["doctor"]:
        sys.exit(f"watchword: {reason}")
    if "--json" in arguments:
        finding = {"subject": "settings", "severity": "critical", "name": "not-started", "what": reason}
        print(json.dumps({"worst": "critical", "findings": [finding | {"remedy": REMEDY}]}))
    else:
        print(f"watchword: {reason}", file=sys.stderr)
    sys.exit(CRITICAL)


def needs_servers(arguments: list[str]) -> bool:
    """Return whether the command can want the database. Asking for help does not start one, and translating neither."""
    return bool(arguments) and not ASKS_NOTHING.intersection(arguments)


def require_database(command: str) -> None:
    """Raises ``EmbeddedUnavailable`` for a command on what a service holds, where there never was one.

    An empty database that is made without a word is most often a second one: the service runs elsewhere.
    """
    is_ours = (settings.BASE_DIR / "verification" / "management" / "commands" / f"{command}.py").exists()
    if (is_ours or command in ABOUT_USERS) and command not in MAKES_DATABASE and not settings.EMBEDDED.has_database():
        raise EmbeddedUnavailable(
            f"There is no database in {settings.HOME_DIR}. Start the service with: manage.py up. Where it runs already,"
            " give this command the same WATCHWORD_HOME, or DATABASE_URL and REDIS_URL."
        )
