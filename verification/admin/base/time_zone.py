"""The reader's time zone, in which the panel writes and reads times: the browser's, or UTC where they chose it.

``time_zone.js`` keeps it in a cookie, so that the pages before the login have it too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-/]{0,63}")
UTC = ZoneInfo("UTC")


def reader_zone(request: HttpRequest) -> ZoneInfo:
    """Return the zone that the reader's cookie names; UTC without one, or for a name that is none."""
    return _zone(request.COOKIES.get(settings.TIME_ZONE_COOKIE_NAME, ""))


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    if not _NAME.fullmatch(name):
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        return UTC
