"""The one door out, as this installation is set up."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from providers.door.http import HttpAnswer, HttpDoor
from verification.bulkhead import bulkhead
from verification.memory import Once


class Door(HttpDoor):
    """The door. Requests of a web process go through it within a bulkhead.

    Who asks on behalf of a project says so by :func:`bulkhead`; this is for what is asked without.
    """

    def request(self, *arguments: Any, **options: Any) -> HttpAnswer:
        with bulkhead(None):
            return super().request(*arguments, **options)

    def touch(self, *arguments: Any, **options: Any) -> None:
        with bulkhead(None):
            super().touch(*arguments, **options)


@Once
def http_door() -> HttpDoor:
    return Door(settings.OUTBOUND_ALLOWED_NETWORKS)
