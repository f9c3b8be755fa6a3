"""Zitadel's HTTP providers for SMS and e-mail.

Source: zitadel/zitadel, ``internal/notification/channels/webhook`` and ``pkg/actions/signing.go``. It waits for 5 s.
The signing key is Zitadel's own: the answer of ``POST /admin/v1/sms/http`` shows it. Codes may hold letters. Where the
writing of a member is unsure (``OTP`` or ``otp``), all are read. ``args`` has the user's last and verified numbers and
addresses, which may be others than the recipient; the code of an added number is for the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import PastedLine
from verification.contrib.connections.bodies import required, text_at
from verification.contrib.connections.calls import Call, Handed

RECIPIENTS = ("contextInfo.recipientPhoneNumber", "contextInfo.recipientEmailAddress")
PHONE_ADDED = "user.human.phone.code.added"


class System(base.System):
    name = "zitadel"
    label = _("Zitadel, HTTP SMS or e-mail provider")
    declared = (base.COUNTRY,)
    url_name = "Endpoint"
    proof_name = "Signing key"

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.zitadel(call, secret, now=now)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        added = ("args.lastPhone",) if text_at(body, "contextInfo.eventType") == PHONE_ADDED else ()
        return [
            Handed(
                to=required(body, "recipient", *RECIPIENTS, *added),
                code=required(body, "code", "args.code", "args.Code", "args.OTP", "args.otp", "args.oTP"),
                language=text_at(body, "args.preferredLanguage", "args.PreferredLanguage"),
            )
        ]

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        note = _("Zitadel generates the key when you create the provider. Enter that key here; see the guide.")
        return [PastedLine(self.url_name, url), PastedLine(self.proof_name, secret, note)]
