"""Any other system that can send a code to an address as JSON or as a form. The owner names its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import Option
from verification.contrib.connections.bodies import read_json_or_form, required, text_at
from verification.contrib.connections.calls import Call, Handed
from verification.core.errors import UserError

_PATH = re.compile(r"[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+){0,5}")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")


class System(base.System):
    name = "generic"
    label = _("Another system")
    tells_address = True
    declared = (
        Option("to", _("Field of the recipient"), _("Within an object write user.phone."), "to"),
        Option("code", _("Field of the code"), "", "code"),
        Option("id", _("Field of the call's id"), _("The same when the system tries again. It may be left empty.")),
        Option("language", _("Field of the language"), _("Such as de or pt-BR. It may be left empty.")),
        Option(
            "client_address",
            _("Field of the user's address"),
            _("The end user's IP address, by which limits count. It may be left empty."),
        ),
        Option("header", _("Header of the secret"), _("Empty: Authorization, as Basic or Bearer.")),
    )

    @classmethod
    def clean(cls, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            if value and not (_HEADER if name == "header" else _PATH).fullmatch(value):
                raise UserError(f"{name}: {value!r} is not the name of a {'header' if name == 'header' else 'field'}.")

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.shared_secret(call, secret, header=self.options["header"])

    def parse(self, call: Call) -> Mapping[str, Any]:
        return read_json_or_form(call)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        return [
            Handed(
                to=base.as_phone(required(body, "recipient", self.options["to"])),
                code=required(body, "code", self.options["code"]),
                call=self._optional(body, "id"),
                language=self._optional(body, "language"),
                client_address=self._optional(body, "client_address"),
            )
        ]

    def _optional(self, body: Mapping[str, Any], option: str) -> str:
        return text_at(body, self.options[option]) if self.options[option] else ""
