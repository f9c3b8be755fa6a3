"""Supabase Auth's Send Email hook, of which the code alone is sent: links would need its templates.

Source: supabase/auth, ``internal/hooks/v0hooks`` and ``internal/mailer``. A change of the address may bring two codes:
``token`` for the present address, and ``token_new`` for the new one. A single one is for the new address, whichever it
is, and a user who had none before has no present one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from verification.contrib.connections.bodies import required, text_at
from verification.contrib.connections.calls import Call, CallUnreadable, Handed
from verification.contrib.connections.systems import supabase_sms

# The mails that bring a code which a user can type. Notices, such as of a changed password, bring none.
WITH_CODE = ("signup", "invite", "magiclink", "recovery", "email", "email_change", "reauthentication")


class System(supabase_sms.System):
    name = "supabase_email"
    label = _("Supabase, Send Email hook")
    recipients = ("email",)

    def read(self, body: Mapping[str, Any], call: Call) -> list[Handed]:
        kind = required(body, "type", "email_data.email_action_type")
        if kind not in WITH_CODE:
            raise CallUnreadable("a mail of this type has no code")
        token, token_new = text_at(body, "email_data.token"), text_at(body, "email_data.token_new")
        codes = []
        if kind != "email_change" or (token and token_new):
            codes.append((required(body, "address", "user.email"), token))
        if kind == "email_change":
            codes.append((required(body, "new address", "user.new_email"), token_new or token))
        if not all(code for _, code in codes):
            raise CallUnreadable("there is no code at email_data.token")
        return [
            Handed(
                to=to,
                code=code,
                call=text_at(body, "metadata.uuid"),
                language=text_at(body, "user.user_metadata.locale", "user.user_metadata.language"),
                client_address=text_at(body, "metadata.ip_address"),
            )
            for to, code in codes
        ]
