"""``doctor``"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import ERROR, WARNING, CheckMessage
from django.core.management.base import CommandParser

from verification.checks.doctor import examine
from verification.checks.registry import BACKUP_HOURS, SUBJECTS, Aims
from verification.management.base import WatchwordCommand, cell_of, whole

MAX_HOURS = 24 * 366  # of a backup's age: a year
NO_HINT = "See manage.py check --deploy."  # of a check of Django's own
WRONG_USE = 3  # the exit status for an argument that is none, apart from those that findings have


class Command(WatchwordCommand):
    help = (
        "Examine the running installation, and say what is wrong and what to do. Sends and changes nothing.\n"
        "The exit status is 0 for nothing or notes, 1 for warnings, 2 for critical findings."
    )
    epilog = (
        f"subjects: {', '.join(SUBJECTS)}\n\n"
        "examples:\n"
        "  manage.py doctor\n"
        "  manage.py doctor --backups /var/backups/watchword --dkim-selector mail2026\n"
        "  manage.py doctor --skip providers --json"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--only", action="append", choices=tuple(SUBJECTS), metavar="SUBJECT", help="Repeatable.")
        parser.add_argument(
            "--skip", action="append", choices=tuple(SUBJECTS), default=[], metavar="SUBJECT", help="Repeatable."
        )
        parser.add_argument(
            "--url", default="", help="The service's public address, if the doctor should not visit BASE_URL."
        )
        parser.add_argument("--backups", type=Path, metavar="PATH", help="The folder or file of your backups.")
        parser.add_argument(
            "--backup-hours",
            type=whole(least=1, most=MAX_HOURS),
            default=BACKUP_HOURS,
            metavar="N",
            help=f"Maximum age of a backup, in hours. Default: {BACKUP_HOURS}.",
        )
        parser.add_argument(
            "--dkim-selector",
            action="append",
            default=[],
            metavar="NAME",
            help="The selector that your mail server signs with. Repeatable. Default: the doctor tries the usual ones.",
        )
        parser.add_argument(
            "--nameserver",
            default="",
            metavar="ADDRESS",
            help="The name server to ask for SPF, DKIM and DMARC. Default: this machine's.",
        )

    def run_from_argv(self, argv: list[str]) -> None:
        """Tell wrong use by a status of its own: a monitor must not take it for a warning."""
        try:
            super().run_from_argv(argv)
        except SystemExit as end:
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
                raise SystemExit(WRONG_USE) from None
            raise

    def handle(self, *, json: bool, **options: Any) -> None:
        aims = Aims(
            url=(options["url"] or settings.BASE_URL).rstrip("/"),
            backups=options["backups"],
            backup_hours=options["backup_hours"],
            dkim_selectors=tuple(options["dkim_selector"]),
            nameserver=options["nameserver"],
        )
        subjects = [name for name in options["only"] or SUBJECTS if name not in options["skip"]]
        found = examine(aims, subjects)
        worst, _ = severity(found[0]) if found else (None, 0)
        self.show({"worst": worst, "findings": [as_dict(each) for each in found]}, as_text(found), as_json=json)
        if found and (status := severity(found[0])[1]):
            sys.exit(status)


def severity(message: CheckMessage) -> tuple[str, int]:
    """Return a finding's severity, and the exit status if it is the worst."""
    if message.level >= ERROR:
        return "critical", 2
    return ("warning", 1) if message.level >= WARNING else ("note", 0)


def as_dict(message: CheckMessage) -> dict[str, str]:
    return {
        "subject": str(message.obj),
        "severity": severity(message)[0],
        "name": message.id or "system-check",
        "what": str(message.msg),
        "remedy": str(message.hint or NO_HINT),
    }


def as_text(found: list[CheckMessage]) -> str:
    """Lay the findings out for a reader: the worst first, each with its remedy below."""
    rows = map(as_dict, found)
    told = "\n\n".join(
        f"{row['severity'].upper()}  {row['subject']}: {cell_of(row['what'])}\n    {row['remedy']}  ({row['name']})"
        for row in rows
    )
    return told or "No problems found."
