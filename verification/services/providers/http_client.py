"""The HTTP client of the service, as this installation is set up."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from providers.http.client import HttpAnswer, HttpClient
from verification.core.bulkhead import bulkhead
from verification.core.caching import Cached


class BoundedHttpClient(HttpClient):
    """The client whose requests count in the bulkhead of web processes.

    Callers acting for a project enter :func:`bulkhead` themselves; all other requests are counted here, for no project.
    """

    def request(self, *arguments: Any, **options: Any) -> HttpAnswer:
        with bulkhead(None):
            return super().request(*arguments, **options)

    def touch(self, *arguments: Any, **options: Any) -> None:
        with bulkhead(None):
            super().touch(*arguments, **options)


@Cached
def http_client() -> HttpClient:
    return BoundedHttpClient(settings.OUTBOUND_ALLOWED_NETWORKS)
