"""Services that are away: the real clients, pointed to where nobody listens."""

from contextlib import contextmanager
from functools import cache

from django.conf import settings
from django.db import connection
from limits.storage import RedisStorage

from verification.core import caching

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
    url, settings.BROKER_URL = settings.BROKER_URL, NOBODY
    caching.clear_all()
    try:
        yield
    finally:
        settings.BROKER_URL = url
        caching.clear_all()


@cache
def _counts(url):
    return RedisStorage(url)


def lose_counts():
    """Have the cache forget every limit's count, as a restart of it would."""
    _counts(settings.BROKER_URL).reset()
