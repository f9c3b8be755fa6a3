"""FusionAuth's generic messenger.

Source: FusionAuth/fusionauth-site, ``messengers/generic-messenger.mdx``. From version 1.67 on a template that shows a
code brings it as ``code`` beside ``phoneNumber``; older ones bring it in the text alone. Basic and headers of one's own
are set on its security tab.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.base import PastedLine
from verification.contrib.connections.bodies import code_in, required, text_at
from verification.contrib.connections.calls import Call, Handed


class System(base.System):
    name = "fusionauth"
    label = _("FusionAuth, generic messenger")
    recipients = ("phone",)
    declared = (base.COUNTRY,)
    proof_name = "Basic authentication password"

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.shared_secret(call, secret)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        # A voice message has `message` in place of `textMessage`, since its version 1.65.
        channel = "voice" if text_at(body, "message") and not text_at(body, "textMessage") else ""
        code = text_at(body, "code") or code_in(required(body, "code", "textMessage", "message"))
        return [Handed(to=required(body, "number", "phoneNumber"), code=code, channel=channel)]

    def lines(self, url: str, secret: str) -> list[PastedLine]:
        return [
            PastedLine(self.url_name, url),
            PastedLine("Basic authentication username", "watchword", _("Choose any name.")),
            PastedLine(self.proof_name, secret),
        ]
