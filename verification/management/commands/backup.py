"""``backup FOLDER``"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand, read_value, whole
from verification.services.maintenance import backups

MAX_KEPT = 10_000  # more than one an hour for a year
KEYS = "The keys are not in it. Keep SECRET_KEY and ENCRYPTION_KEYS elsewhere; without them it is of no use."


@contextlib.contextmanager
def interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Let a signal end the block as Ctrl-C does."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


class Command(WatchwordCommand):
    help = "Write a backup of the database into a folder: a dump in PostgreSQL's custom format, for its owner alone."
    epilog = (
        "It contains recipients' addresses and the panel's password hashes, but not SECRET_KEY and ENCRYPTION_KEYS.\n"
        "Keep these elsewhere; without them a backup is of no use.\n\n"
        "examples:\n"
        "  manage.py backup /var/backups/watchword --keep 14 --recipient age1…\n"
        "  manage.py backup /var/backups/watchword --try-in @/etc/watchword/trial-url"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="A folder for backups of this database alone.")
        parser.add_argument(
            "--keep",
            type=whole(least=1, most=MAX_KEPT),
            metavar="N",
            help="Remove all backups in the folder except the newest N. Default: keep all.",
        )
        parser.add_argument(
            "--recipient",
            default="",
            metavar="KEY",
            help="Encrypt it: a public key of age (age1…, ssh-…), or the fingerprint of a key in gpg's keyring.",
        )
        parser.add_argument(
            "--try-in",
            default="",
            metavar="URL",
            help="Restore it into this empty database, count and check the rows there, and empty that database again."
            " @FILE and - read the URL from a file and from standard input.",
        )

    def handle(self, *, folder: Path, keep: int | None, recipient: str, try_in: str, json: bool, **_: Any) -> None:
        url = read_value("--try-in", try_in).strip()
        with interrupted_by(signal.SIGTERM):  # so that what is half done is undone
            made = backups.make(folder.absolute(), keep=keep, recipient=recipient, try_in=url)
        trial = made.trial and {"tables": made.trial.tables, "rows": made.trial.rows}
        data = {
            "file": str(made.path),
            "bytes": made.size,
            "trial": trial,
            "removed": [str(each) for each in made.removed],
        }
        lines = [f"{made.path}: {made.size:,} bytes."]
        if made.trial:
            lines.append(
                f"It was restored: {made.trial.rows:,} rows in {made.trial.tables} tables, as in the database. "
                "All rows are consistent."
            )
        if made.removed:
            lines.append(f"Older backups removed: {len(made.removed)}.")
        self.show(data, "\n".join([*lines, KEYS]), as_json=json)
