"""The sandbox's bot: reaches only users who have started it, and one of them starts it some seconds later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.adapters import sandbox
from providers.sandbox import DOMAIN


class Adapter(sandbox.Adapter):
    type = "sandbox_bot"
    label = _("Sandbox bot (sends nothing; for test projects)")
    channels: ClassVar[tuple[str, ...]] = ("messenger_a",)
    needs_start = True

    def prompt(self, account_id: str, text: str, *, contact_button: str = "") -> None:
        """Say nothing: there is no chat."""

    @classmethod
    def link(cls, settings: Mapping[str, base.Value], payload: str) -> str:
        return f"https://bot.{DOMAIN}/?start={payload}"
