"""Logto's HTTP connectors for SMS and e-mail.

Source: logto-io/logto, ``connector-kit/src/types/passwordless.ts`` and the connectors ``http-sms`` and ``http-email``.
``Authorization`` is sent as it was entered. A message with a link and no code, such as an invitation, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import PastedLine
from verification.contrib.connections.bodies import required, text_at
from verification.contrib.connections.calls import Call, Handed


class System(base.System):
    name = "logto"
    label = _("Logto, HTTP SMS or e-mail connector")
    leaves_plus_out = True
    tells_address = True
    url_name = "Endpoint"
    proof_name = "Authorization token"

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.shared_secret(call, secret)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        return [
            Handed(
                to=required(body, "recipient", "to"),
                code=required(body, "code", "payload.code"),
                language=text_at(body, "payload.locale") or ", ".join(text_at(body, "payload.uiLocales").split()),
                client_address=text_at(body, "ip"),
            )
        ]

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        return [PastedLine(self.url_name, url), PastedLine(self.proof_name, f"Bearer {secret}")]
