"""Microsoft Entra External ID: the custom e-mail provider for one-time passcodes (event ``OnOtpSend``).

Source: https://learn.microsoft.com/entra/identity-platform/custom-extension-email-otp-send-data (November 2026). A
passcode has 8 digits; samples write ``oneTimeCode`` and ``onetimecode``, and both are taken. Microsoft signs no body:
its proof is an access token of the tenant for the application that stands for our address. Not confirmed: that the
token is always that of the application 99045fe1-7639-4a75-9d4a-577b6ca3810f, Microsoft's own for these events. It is
asked for all the same, as any application of the tenant could else get a token for ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import Option, PastedLine
from verification.contrib.connections.bodies import required, text_at
from verification.contrib.connections.calls import Answer, Call, CallUnreadable, Handed, ProofInvalid
from verification.core.errors import UserError

EVENT = "microsoft.graph.authenticationEvent.emailOtpSend"
CALLER = "99045fe1-7639-4a75-9d4a-577b6ca3810f"
KEYS_URL = "https://login.microsoftonline.com/{tenant}/discovery/v2.0/keys"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CONTINUE = "microsoft.graph.OtpSend.continueWithDefaultBehavior"


class System(base.System):
    name = "entra_email"
    label = _("Microsoft Entra External ID, e-mail")
    recipients = ("email",)
    tells_address = True
    url_name = "Target Url"
    declared = (
        Option("tenant", _("Directory (tenant) ID"), _("The external tenant's ID.")),
        Option(
            "application",
            _("Application (client) ID"),
            _("The application that the extension's wizard registered for this URL."),
        ),
        Option(
            "keys_url", _("URL of the keys"), _("Where the tenant publishes its keys. Leave empty for Microsoft's.")
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, str]) -> None:
        if not (values.get("tenant") or values.get("application")):
            return
        for name in ("tenant", "application"):
            if not _UUID.fullmatch(values.get(name, "")):
                raise UserError(f"{name}: {values.get(name, '')!r} is not an ID such as {CALLER}.")

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        """Check Entra's token; without the IDs the connection's secret, which a gateway in between may send."""
        if not self.options["tenant"]:
            return proofs.shared_secret(call, secret)
        tenant, application = self.options["tenant"].lower(), self.options["application"].lower()
        claims = proofs.access_token(call, self.options["keys_url"] or KEYS_URL.format(tenant=tenant), now=now)
        audience = str(claims.get("aud", "")).lower()
        if audience != application and not audience.endswith(f"/{application}"):  # api://host/id in tokens of version 1
            raise ProofInvalid("the token is for another application")
        if str(claims.get("tid", "")).lower() != tenant or f"/{tenant}/" not in f"{claims.get('iss', '')}/".lower():
            raise ProofInvalid("the token is of another tenant")
        if claims.get("azp", claims.get("appid")) != CALLER:
            raise ProofInvalid("the token was not given to Microsoft's authentication events")
        return None

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        if text_at(body, "type") != EVENT:
            raise CallUnreadable("it is not an event of a passcode by e-mail")
        return [
            Handed(
                to=required(body, "address", "data.otpContext.identifier"),
                code=required(body, "code", "data.otpContext.oneTimeCode", "data.otpContext.onetimecode"),
                language=text_at(body, "data.authenticationContext.client.locale"),
                client_address=text_at(body, "data.authenticationContext.client.ip"),
            )
        ]

    def accepted(self, message_ids: list[int]) -> Answer:
        return Answer(
            200,
            {
                "data": {
                    "@odata.type": "microsoft.graph.OnOtpSendResponseData",
                    "actions": [{"@odata.type": _CONTINUE}],
                }
            },
        )

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        if self.options["tenant"]:
            return [PastedLine(self.url_name, url)]
        return [PastedLine(self.url_name, url), PastedLine("Bearer token", secret)]
