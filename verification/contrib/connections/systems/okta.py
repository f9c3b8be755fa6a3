"""Okta's telephony inline hook.

Source: okta's SDK documentation and samples of ``com.okta.telephony.provider``. It waits for 3 s, and sends by its own
means where we refuse. ``eventId`` is the same when it tries again. ``messageProfile.phoneNumber`` is the number of the
factor; ``userProfile`` has others. What is delivered otherwise than by SMS is a call, as in the samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import PastedLine
from verification.contrib.connections.bodies import required, text_at
from verification.contrib.connections.calls import Answer, Call, Handed

PROFILE = "data.messageProfile"


class System(base.System):
    name = "okta"
    label = _("Okta, telephony inline hook")
    recipients = ("phone",)
    declared = (base.COUNTRY,)
    proof_name = "Authentication secret"

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.shared_secret(call, secret)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        is_call = text_at(body, f"{PROFILE}.deliveryChannel").upper() not in ("", "SMS")
        return [
            Handed(
                to=required(body, "number", f"{PROFILE}.phoneNumber"),
                code=required(body, "code", f"{PROFILE}.otpCode"),
                call=text_at(body, "eventId"),
                language=text_at(body, f"{PROFILE}.locale").replace("_", "-"),
                channel="voice" if is_call else "",
            )
        ]

    def accepted(self, message_ids: list[int]) -> Answer:
        sent = {"status": "SUCCESSFUL", "provider": "Watchword", "transactionId": str(message_ids[0])}
        return Answer(200, {"commands": [{"type": "com.okta.telephony.action", "value": [sent]}]})

    def refused(self, status: int) -> Answer:
        return Answer(status, {"error": {"errorSummary": base.NOT_SENT, "errorCauses": [{"reason": base.NOT_SENT}]}})

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        return [
            PastedLine(self.url_name, url),
            PastedLine("Authentication field", "Authorization"),
            PastedLine(self.proof_name, secret),
        ]
