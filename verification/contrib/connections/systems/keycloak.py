"""Keycloak with the extension ``keycloak-2fa-sms-authenticator``, which hands over the text alone.

Source: netzbegruenung/keycloak-mfa-plugins, ``sms-authenticator``. It posts JSON or a form; the names of the fields are
set on its page. The code is found in the text: by the words around it that the owner gives, else as the one word of 4
to 10 letters and digits that holds a digit. The words are compared as they stand, so nobody's pattern takes long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import Option, PastedLine
from verification.contrib.connections.bodies import read_json_or_form, required
from verification.contrib.connections.calls import Call, CallUnreadable, Handed
from verification.core.errors import UserError

PLACE = "{code}"
_CODE = r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,9}[0-9])([A-Za-z0-9]{4,10})(?![A-Za-z0-9])"


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
        number = required(body, "number", self.options["to"])
        return [Handed(to=number, code=self._code(required(body, "text", self.options["text"])))]

    def _code(self, text: str) -> str:
        before, _, after = (self.options["pattern"] or PLACE).partition(PLACE)
        found = re.findall(re.escape(before) + _CODE + re.escape(after), text)
        if len(set(found)) != 1:
            raise CallUnreadable(f"the text contains {'several codes' if found else 'no code'}")
        return str(found[0])

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        return [
            PastedLine(self.url_name, url),
            PastedLine("Authorization header", f"Bearer {secret}"),
            PastedLine("Receiver attribute", self.options["to"]),
            PastedLine("Message attribute", self.options["text"]),
        ]
