"""The base of every command: a JSON object or aligned text on success, one clear line and exit code 1 on error."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import psycopg
from django.conf import settings
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    DjangoHelpFormatter,
    SystemCheckError,
    handle_default_options,
)
from django.db import DatabaseError, InterfaceError, OperationalError, connections, transaction

from providers.errors import ProviderError, SettingsInvalid
from providers.http import ssrf
from verification.core.addresses import AddressInvalid
from verification.core.errors import ApiError, FieldsInvalid, UserError
from verification.core.numbers import whole_number

EXPLAINED = (UserError, SettingsInvalid, ProviderError, AddressInvalid, ApiError, DatabaseError, InterfaceError)
MAX_SECONDS = 100 * 365 * 24 * 3600  # a hundred years: what is to last longer gets no end
MAX_THREADS = 1_000  # of one process, each with a database connection
DEFAULT_THREADS = 8  # of one worker: its messages wait for providers most of the time
INTERRUPTED = 130  # what shells report for Ctrl-C
OWN_NETWORKS = ". Name a network of your own in OUTBOUND_ALLOWED_NETWORKS"
# Controls, ends of lines among them, and marks that turn the direction of what follows. Tenants name their providers
# and vendors word their answers, and neither writes to the operator's terminal.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
POOLER_REFUSES = "unsupported startup parameter"  # PgBouncer's words for the limits of a session
POOLER_HINT = "Set DATABASE_POOLER=transaction, as docs/engineering/scale.md says."
NOT_MIGRATED = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedFunction)


class HelpFormatter(DjangoHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of descriptions and examples."""


class WatchwordCommand(BaseCommand):
    """``epilog`` follows the options in ``--help``. A command that ``prints_data`` gets ``--json``.

    What a command that ``shows_secret`` makes is kept only if the secret could be written: it is shown this once.
    """

    epilog = ""
    prints_data = True
    shows_secret = False
    requires_system_checks: list[str] | Literal["__all__"] = []
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
    }

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(
            prog_name, subcommand, formatter_class=HelpFormatter, epilog=self.epilog or None, **kwargs
        )
        if self.prints_data:
            parser.add_argument("--json", action="store_true", help="Print one JSON object and nothing else.")
        see = f"See: {parser.prog} --help"

        def fail(message: str) -> None:
            raise CommandError(f"{message}. {see}")

        parser.error = fail  # type: ignore[method-assign]  # argparse prints its usage and exits with 2
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        """Run the command. An error is one line that begins with our name; all else is Django's."""
        try:
            require_text(argv)
            options = vars(self.create_parser(argv[0], argv[1]).parse_args(argv[2:]))
            handle_default_options(argparse.Namespace(**options))
            self.execute(**options)
        except SystemCheckError as error:
            sys.exit(str(error))  # a list of findings, which Django has laid out
        except CommandError as error:
            sys.exit(f"watchword: {error}")
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        finally:
            connections.close_all()

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            if not self.shows_secret:
                return super().execute(*args, **options)
            with transaction.atomic():
                output = super().execute(*args, **options)
                self.stdout.flush()
                return output
        except EXPLAINED as error:
            raise CommandError(explain(error)) from error
        except OSError as error:
            if not self.shows_secret:
                raise
            raise CommandError(f"The output cannot be written, so nothing was changed: {error.strerror}.") from error

    def show(self, data: dict[str, Any], text: str, *, as_json: bool) -> None:
        self.stdout.write(json.dumps(data) if as_json else text)


def print_in_utf8() -> None:
    """For output that is a file of ours, whatever the terminal's encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def require_text(arguments: Sequence[str]) -> None:
    """Raises ``CommandError`` for bytes that are no UTF-8: no column could hold them, and no terminal show them."""
    for position, argument in enumerate(arguments):
        if any("\udc80" <= character <= "\udcff" for character in argument):
            raise CommandError(f"Argument {position} is not UTF-8.")


def add_project(parser: CommandParser, **options: Any) -> None:
    """Add the argument that names a project, which ``find_project`` reads."""
    parser.add_argument("project", metavar="PROJECT", help="The project's id or name.", **options)


def add_threads(parser: CommandParser) -> None:
    """Add the option for the threads of a worker."""
    parser.add_argument(
        "--threads",
        type=whole(least=1, most=MAX_THREADS),
        default=DEFAULT_THREADS,
        metavar="N",
        help=f"Messages delivered at the same time. Default: {DEFAULT_THREADS}.",
    )


def whole(*, least: int, most: int) -> Callable[[str], int]:
    """Reads an argument that is a whole number within these bounds, for ``type=``."""

    def read(text: str) -> int:
        number = whole_number(text, most=most)
        if number is None or number < least:
            raise argparse.ArgumentTypeError(f"a whole number from {least} to {most} is expected")
        return number

    return read


def explain(error: Exception) -> str:
    """Explain an error in one line to the operator who typed the command."""
    if isinstance(error, FieldsInvalid):
        return " ".join(f"{item['field']}: {item['detail']}" for item in error.extra["errors"])
    if isinstance(error, ApiError):
        return error.detail + (f" Try again in {error.retry_after} s." if error.retry_after else "")
    if not isinstance(error, (DatabaseError, InterfaceError)):
        text = " ".join(str(error).split())
        return text + OWN_NETWORKS if str(ssrf.NOT_PUBLIC) in text else text
    first_line = str(error).strip().partition("\n")[0]
    if isinstance(error.__cause__, NOT_MIGRATED):
        where = f" in {settings.HOME_DIR}" if settings.IS_EMBEDDED else ""
        return f"The database{where} is not up to date ({first_line}). Run: manage.py migrate"
    is_away = isinstance(error, (OperationalError, InterfaceError)) and not getattr(error.__cause__, "sqlstate", None)
    if is_away:
        hint = POOLER_HINT if POOLER_REFUSES in first_line else "Is it running, and is DATABASE_URL right?"
        return f"The database does not answer: {first_line}. {hint}"
    return f"The database rejects the connection: {first_line}"


def read_value(name: str, text: str) -> str:
    """Return the text, or for ``@FILE`` and ``-`` what the file or standard input holds.

    So no secret need stand on a command line. Raises :class:`UserError`.
    """
    if text.startswith("@@"):
        return text[1:]
    try:
        if text == "-":
            return sys.stdin.read().removesuffix("\n")
        if text.startswith("@"):
            return Path(text[1:]).read_text().removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{name}: cannot read {text}: {reason}.") from None
    return text


def content_of(file: str, *, max_bytes: int) -> bytes:
    """Read the file, or standard input, and no more than one byte too many. Raises :class:`UserError`."""
    try:
        if file == "-":
            return sys.stdin.buffer.read(max_bytes + 1)
        with Path(file).open("rb") as opened:
            return opened.read(max_bytes + 1)
    except OSError as error:
        raise UserError(f"{file}: it cannot be read: {error.strerror}.") from None


def aligned(pairs: Iterable[tuple[str, object]]) -> str:
    """Names in one column, values in the next, two spaces in."""
    pairs = [(cell_of(name), cell_of(value)) for name, value in pairs]
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"  {name.ljust(width)}  {value}" for name, value in pairs)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; numbers to the right."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(cell_of(cell)) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell_of(cell).rjust(width) if isinstance(cell, int) else cell_of(cell).ljust(width)
            for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def cell_of(value: object) -> str:
    """Write a value into one line, with a question mark for each character that a terminal would act on."""
    return _CONTROLS.sub("?", str(value))
