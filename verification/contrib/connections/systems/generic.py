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
        Option("to", _("Recipient field"), _("For a field inside an object, enter a path such as user.phone."), "to"),
        Option("code", _("Code field"), "", "code"),
        Option("id", _("Request ID field"), _("Must be the same when the system retries. Optional.")),
        Option("language", _("Language field"), _("Such as de or pt-BR. Optional.")),
        Option(
            "client_address",
            _("User IP address field"),
            _("The end user's IP address, used for limits. Optional."),
        ),
        Option("header", _("Secret header"), _("Leave empty for Authorization (Basic or Bearer).")),
        base.COUNTRY,
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
                to=required(body, "recipient", self.options["to"]),
                code=required(body, "code", self.options["code"]),
                call=self._optional(body, "id"),
                language=self._optional(body, "language"),
                client_address=self._optional(body, "client_address"),
            )
        ]

    def _optional(self, body: Mapping[str, Any], option: str) -> str:
        return text_at(body, self.options[option]) if self.options[option] else ""
