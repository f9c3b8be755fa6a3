#!/usr/bin/env python
"""The operator's entry: ``manage.py up`` runs everything, ``manage.py help`` lists the rest.

The wheel's command ``watchword`` is the same.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    home = str(Path(__file__).resolve().parent)
    if home not in sys.path:  # the wheel's command was started from another folder
        sys.path.insert(0, home)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from config.command_line import execute
    except ModuleNotFoundError as error:
        if error.name != "django":
            raise
        sys.exit(
            f"watchword: {sys.executable} has no Django. In a checkout: .venv/bin/python manage.py …, as README says."
        )
    execute(sys.argv)


if __name__ == "__main__":
    main()
