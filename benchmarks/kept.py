"""The embedded servers for a program that works on the database in its own process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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
