"""The one door out, as this installation is set up."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from providers.door.http import HttpAnswer, HttpDoor
from verification.memory import Once
from verification.outside import outside


class Door(HttpDoor):
    """The door, which no request of a web process goes through without leaving its place to others.

    Who asks on behalf of a project says so by :func:`outside`; this is for what is asked without.
    """

    def request(self, *arguments: Any, **options: Any) -> HttpAnswer:
        with outside(None):
            return super().request(*arguments, **options)

    def touch(self, *arguments: Any, **options: Any) -> None:
        with outside(None):
            super().touch(*arguments, **options)


@Once
def http_door() -> HttpDoor:
    return Door(settings.OUTBOUND_ALLOWED_NETWORKS)
