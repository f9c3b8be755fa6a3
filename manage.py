#!/usr/bin/env python
"""The operator's entry: ``manage.py up`` runs everything, ``manage.py help`` lists the rest."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    from config.embedded import EmbeddedUnavailable

    try:
        if settings.IS_EMBEDDED and needs_servers(sys.argv[1:]):
            settings.EMBEDDED.start()
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, EmbeddedUnavailable) as error:
        sys.exit(f"watchword: {error}")
    except OperationalError as error:  # from Django's own commands, such as migrate; ours catch it themselves
        first_line = str(error).partition("\n")[0]
        sys.exit(f"watchword: The database is away: {first_line}. Is it running, and DATABASE_URL right?")


def needs_servers(arguments: list[str]) -> bool:
    """Whether the command can want the database. Asking for help does not start one."""
    return bool(arguments) and not {"help", "version", "-h", "--help", "--version"}.intersection(arguments)


if __name__ == "__main__":
    main()
