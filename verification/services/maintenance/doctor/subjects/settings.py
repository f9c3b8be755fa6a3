"""The settings, as Django's own system checks and ours judge them before a start."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.core import checks
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError

from verification.services.maintenance.doctor.findings import Aims, Finding, Severity, warning

NO_HINT = "See manage.py check --deploy."


def system_checks(aims: Aims) -> Iterator[Finding]:
    """Run ``check --deploy --database default``; in the embedded mode, which is for trying, without ``--deploy``."""
    databases = [DEFAULT_DB_ALIAS]
    try:
        messages = checks.run_checks(include_deployment_checks=not settings.IS_EMBEDDED, databases=databases)
    except (DatabaseError, InterfaceError):  # another subject says so
        messages = checks.run_checks(include_deployment_checks=not settings.IS_EMBEDDED)
    for message in messages:
        if message.is_silenced():
            continue
        severity = Severity.CRITICAL if message.level >= checks.ERROR else Severity.WARNING
        name = str(message.id or "system-check")
        yield Finding(severity, name, str(message.msg), str(message.hint or NO_HINT))


def debug_is_off(aims: Aims) -> Iterator[Finding]:
    """Look at the embedded mode too: pages of errors would show settings to whoever provokes one."""
    if settings.DEBUG and settings.IS_EMBEDDED:
        yield warning("debug", "DEBUG is on: error pages show code and settings.", "Remove DEBUG from the environment.")


CHECKS = (system_checks, debug_is_off)
