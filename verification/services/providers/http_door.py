"""The one door out, as this installation is set up."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from providers.http.client import HttpAnswer, HttpClient
from verification.core.bulkhead import bulkhead
from verification.core.caching import Cached


class Door(HttpClient):
    """The door. Requests of a web process go through it within a bulkhead.

    Who asks on behalf of a project says so by :func:`bulkhead`; this is for what is asked without.
    """

    def request(self, *arguments: Any, **options: Any) -> HttpAnswer:
        with bulkhead(None):
            return super().request(*arguments, **options)

    def touch(self, *arguments: Any, **options: Any) -> None:
        with bulkhead(None):
            super().touch(*arguments, **options)


@Cached
def http_door() -> HttpClient:
    return Door(settings.OUTBOUND_ALLOWED_NETWORKS)
