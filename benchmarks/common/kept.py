"""The embedded servers for a program that works on the database in its own process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def migrated() -> Iterator[None]:
    """Run the servers of ``WATCHWORD_HOME``, with the tables up to date, for the time of a block.

    Django is set up, and the environment says where the data is.
    """
    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections

    settings.EMBEDDED.start()
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        connections.close_all()
        settings.EMBEDDED.release()


@contextmanager
def throwaway(name: str) -> Iterator[None]:
    """Set Django up on servers of this process alone, in a folder named by ``name``, and remove them at the end.

    They keep nothing through a crash, which spares time.
    """
    import django

    home = Path("var/benchmarks") / f"{name}-{os.getpid()}"
    os.environ |= {"WATCHWORD_HOME": str(home.resolve()), "EMBEDDED_DURABLE": "false"}
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    try:
        with migrated():
            yield
    finally:
        shutil.rmtree(home, ignore_errors=True)
