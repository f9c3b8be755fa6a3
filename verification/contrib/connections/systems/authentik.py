"""authentik's SMS authenticator with the generic provider.

Source: goauthentik/authentik, ``stages/authenticator_sms/models.py``. ``Body`` is the code and ``Message`` the text.
Any status below 400 is success. **The text of a refusal is shown to the user**, so it says no more than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import PastedLine
from verification.contrib.connections.bodies import required
from verification.contrib.connections.calls import Answer, Call, Handed


class System(base.System):
    name = "authentik"
    label = _("authentik, SMS authenticator")
    recipients = ("phone",)
    declared = (base.COUNTRY,)
    url_name = "External API URL"
    proof_name = "API Auth password"

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.shared_secret(call, secret)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        return [Handed(to=required(body, "number", "To"), code=required(body, "code", "Body"))]

    def refused(self, status: int) -> Answer:
        return Answer(status, base.NOT_SENT)

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        return [
            PastedLine(self.url_name, url),
            PastedLine("API Auth username", "watchword", _("Choose any name, and Basic as the authentication type.")),
            PastedLine(self.proof_name, secret),
        ]
