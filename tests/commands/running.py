"""Runs a command in this process, as its scripts and its operators do."""

import io
import json
from typing import Any

from django.core.management import call_command


def run(*arguments: str) -> str:
    """Run a command and return what it prints on standard output."""
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def run_json(*arguments: str) -> Any:
    """The one object it prints."""
    return json.loads(run(*arguments, "--json"))
