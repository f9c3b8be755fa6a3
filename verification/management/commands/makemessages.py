"""Django's command with this project's habits, for translators: see docs/translating.md."""

from __future__ import annotations

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
    "templates/hosted",
)


class Command(makemessages.Command):
    # A sentence that was changed is untranslated again, and no guess is made.
    msgmerge_options = [*makemessages.Command.msgmerge_options, "--no-fuzzy-matching"]

    def handle(self, *args: Any, **options: Any) -> None:
        options["ignore_patterns"] += [f"{folder}/*" for folder in ELSEWHERE]
        super().handle(*args, **options | {"no_obsolete": True, "no_wrap": True, "add_location": "file"})
