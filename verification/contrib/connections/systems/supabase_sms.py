"""Supabase Auth's Send SMS hook.

Source: supabase/auth, ``internal/hooks/v0hooks`` and ``hookshttp``. It gives up 5 s after the first of its three tries,
and only a 429 or 503 with ``Retry-After`` is tried again. ``webhook-id`` is new on each try; ``metadata.uuid`` is not.
``sms.phone`` came with version 2.180.0; ``sms.sms_type`` is ``mfa`` for a second factor and nothing else so far.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections import base, proofs
from verification.contrib.connections.bodies import required, text_at
from verification.contrib.connections.calls import Answer, Call, CallUnreadable, Handed
from verification.core.errors import UserError

PREFIX = "v1,whsec_"
KEY_BYTES = range(24, 65)  # of a secret, as Standard Webhooks bounds it


class System(base.System):
    name = "supabase_sms"
    label = _("Supabase, Send SMS hook")
    recipients = ("phone",)
    leaves_plus_out = True
    tells_address = True
    url_name = "HTTPS endpoint"

    @classmethod
    def new_secret(cls) -> str:
        return PREFIX + base64.b64encode(secrets.token_bytes(base.SECRET_BYTES)).decode()

    @classmethod
    def clean_secret(cls, text: str) -> str:
        try:
            length = len(base64.b64decode(text.removeprefix(PREFIX), validate=True))
        except (binascii.Error, ValueError):
            length = 0
        if not text.startswith(PREFIX) or length not in KEY_BYTES:
            raise UserError(
                f"A secret of Supabase's is {PREFIX} and {KEY_BYTES[0]} to {KEY_BYTES[-1]} bytes in base64."
            )
        return text

    def prove(self, call: Call, secret: str, *, now: float) -> None:
        proofs.standard_webhook(call, secret)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        return [
            Handed(
                to=text_at(body, "sms.phone") or _number_of(body),
                code=required(body, "code", "sms.otp"),
                call=text_at(body, "metadata.uuid"),
                client_address=text_at(body, "metadata.ip_address"),
            )
        ]

    def refused(self, status: int) -> Answer:
        return Answer(status, {"error": {"http_code": status, "message": base.NOT_SENT}})


def _number_of(body: Mapping[str, Any]) -> str:
    """Return the number that a version without ``sms.phone`` means. Raises :class:`CallUnreadable` where it is unsure.

    The code of a change must not go to the present number, nor that of a login to a number which is not yet confirmed.
    """
    match text_at(body, "sms.sms_type"):
        case "mfa":
            raise CallUnreadable("there is no number of the second factor at sms.phone")
        case "phone_change":
            return required(body, "new number", "user.new_phone")
    present, new = (text_at(body, path).removeprefix("+") for path in ("user.phone", "user.new_phone"))
    if present and new and present != new:
        raise CallUnreadable("without sms.phone it can be user.phone or user.new_phone")
    return required(body, "number", "user.phone", "user.new_phone")
