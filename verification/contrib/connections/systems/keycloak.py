"""Keycloak with the extension ``keycloak-2fa-sms-authenticator``, which hands over the text alone.

Source: netzbegruenung/keycloak-mfa-plugins, ``sms-authenticator``. It posts JSON or a form; the names of the fields are
set on its page. The code is found in the text, by the words around it if the owner gives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import Option, PastedLine
from verification.contrib.connections.bodies import PLACE, code_in, read_json_or_form, required
from verification.contrib.connections.calls import Call, Handed
from verification.core.errors import UserError


class System(base.System):
    name = "keycloak"
    label = _("Keycloak, SMS authenticator")
    recipients = ("phone",)
    declared = (
        Option("to", _("Receiver attribute"), _("As shown on the extension's page."), "phone_number"),
        Option("text", _("Message attribute"), _("As shown on the extension's page."), "message"),
        Option(
            "pattern",
            _("Text around the code"),
            _("Such as: Your code is {code}. If empty, the text may contain only one word made of digits."),
        ),
        base.COUNTRY,
    )
    url_name = "SMS API URL"
    proof_name = "SMS API token"

    @classmethod
    def clean(cls, values: Mapping[str, str]) -> None:
        if values["pattern"] and values["pattern"].count(PLACE) != 1:
            raise UserError(f"pattern: write {PLACE} once, where the code belongs.")

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.shared_secret(call, secret)

    def parse(self, call: Call) -> Mapping[str, Any]:
        return read_json_or_form(call)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        text = required(body, "text", self.options["text"])
        code = code_in(text, self.options["pattern"] or PLACE)
        return [Handed(to=required(body, "number", self.options["to"]), code=code)]

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        return [
            PastedLine(self.url_name, url),
            PastedLine("Authorization header", f"Bearer {secret}"),
            PastedLine("Receiver attribute", self.options["to"]),
            PastedLine("Message attribute", self.options["text"]),
        ]
