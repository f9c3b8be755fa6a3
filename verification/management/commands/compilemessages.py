"""``compilemessages``: the panel's translations, without GNU gettext."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from verification.core.catalogues import compile_catalogues


class Command(BaseCommand):
    help = "Compile the translations of the panel that have changed. `up` and the build of a wheel do so by themselves."
    requires_system_checks = ()

    def handle(self, **_: Any) -> None:
        for catalogue in compile_catalogues():
            self.stdout.write(f"Compiled {catalogue}")
