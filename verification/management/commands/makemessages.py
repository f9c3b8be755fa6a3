"""Django's command with this project's habits, for translators: see docs/engineering/translating.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.commands import makemessages

# No words of the panel: code that it does not run, and pages in languages of their own.
ELSEWHERE = (
    "var",
    ".venv",
    "tests",
    "benchmarks",
    "packages",
    "docs",
    "examples",
    "templates/docs",
    "verification/contrib/hosted/templates/hosted",
)


class Command(makemessages.Command):
    # A sentence that was changed is untranslated again, and no guess is made.
    msgmerge_options = [*makemessages.Command.msgmerge_options, "--no-fuzzy-matching"]

    def handle(self, *args: Any, **options: Any) -> None:
        options["ignore_patterns"] += [f"{folder}/*" for folder in ELSEWHERE]
        super().handle(*args, **options | {"no_obsolete": True, "no_wrap": True, "add_location": "file"})

    def write_po_file(self, potfile: str, locale: str) -> None:
        """Leave out the time of the run, by which catalogues would differ when nothing else does."""
        super().write_po_file(potfile, locale)
        for catalogue in Path(potfile).parent.glob(f"{locale}/LC_MESSAGES/*.po"):
            lines = catalogue.read_text().splitlines(keepends=True)
            catalogue.write_text("".join(line for line in lines if not line.startswith('"POT-Creation-Date')))
