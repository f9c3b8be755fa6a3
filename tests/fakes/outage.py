"""Services that are away: the real clients, pointed to where nobody listens."""

from contextlib import contextmanager

from django.db import connection

NOBODY = "redis://127.0.0.1:1/0"


@contextmanager
def database_away():
    """Take the database away from tests with real transactions; inside of one the connection is held."""
    host = connection.settings_dict["HOST"]
    connection.close()
    connection.settings_dict["HOST"] = "/nowhere"
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["HOST"] = host


@contextmanager
def cache_away(settings):
    """Take away the cache that the limits count in. ``settings`` is pytest-django's."""
    from verification.services.protection import limits

    shared, own, url = limits._shared, limits._own, settings.BROKER_URL
    limits._shared, limits._own, settings.BROKER_URL = None, limits._Counter(limits.MemoryStorage()), NOBODY
    try:
        yield
    finally:
        limits._shared, limits._own, settings.BROKER_URL = shared, own, url
