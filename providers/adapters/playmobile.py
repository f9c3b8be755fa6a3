"""Play Mobile (Uzbekistan, smsxabar.uz): codes as SMS by its broker API.

The host comes with the contract. The answer to an accepted message is a sentence without an id: the id is ours. If two
installations share an account, each needs a prefix of its own.

The table of errors says whose fault a refusal is: only 202 is the recipient's.

There are no receipts, so acceptance is the last that is known. There is no balance, so the check only connects to the
host.

UNCONFIRMED: the form of delivery reports; the exact meaning of some error numbers; the time zone of ``timing``. So we
leave ``timing`` out, and Play Mobile does not drop a message whose code has run out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import ProviderError
from providers.http.client import HttpAnswer, classify_status
from providers.parsing import answers

ACCEPTED = "request is received"

_REQUEST = (Outcome.MISCONFIGURED, "the request was not understood")
_TIMING = (Outcome.MISCONFIGURED, "the time to send is not accepted")
_CONTENT = (Outcome.MISCONFIGURED, "the text is not accepted")
_ERRORS: dict[int, tuple[Outcome, str]] = {
    100: (Outcome.TEMPORARY, "Play Mobile has a server error"),
    101: _REQUEST,
    102: (Outcome.MISCONFIGURED, "the account is locked"),
    **dict.fromkeys((103, 104, 105), (Outcome.MISCONFIGURED, "the account is not accepted")),
    202: (Outcome.REFUSED, "the recipient's number is not accepted"),
    **dict.fromkeys((204, 205, 206), _REQUEST),
    **dict.fromkeys(range(301, 307), _TIMING),
    401: (Outcome.MISCONFIGURED, "the sender is missing"),
    **dict.fromkeys((*range(402, 409), 410, 411), _CONTENT),
}


class Adapter(base.Adapter):
    type = "playmobile"
    label = _("Play Mobile")
    channels = ("sms",)
    declared = (
        Setting(
            "base_url",
            _("API URL"),
            SettingKind.URL,
            required=True,
            help=_("From your contract, without a path; usually https://send.smsxabar.uz."),
        ),
        Setting("username", _("Username"), required=True),
        Setting("password", _("Password"), SettingKind.SECRET, required=True),
        Setting("sender", _("Sender"), required=True, help=_("The originator, such as 3700.")),
        Setting("id_prefix", _("Message ID prefix"), help=_("Only needed if two services share an account.")),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if ":" in str(values["username"]):
            errors["username"] = gettext("a username cannot contain a colon")
        if not re.fullmatch(r"[0-9A-Za-z]{0,20}", str(values["id_prefix"])):
            errors["id_prefix"] = gettext("use at most 20 letters and digits")
        if "?" in str(values["base_url"]):
            errors["base_url"] = gettext("enter the URL without a query string")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        identity = f"{self.text('id_prefix')}{message.id}"
        sms = {
            "originator": message.sender or self.text("sender"),
            "content": {"text": message.text},
        }
        body = {"messages": [{"recipient": message.to.removeprefix("+"), "message-id": identity, "sms": sms}]}
        auth = (self.text("username"), self.text("password"))
        answer = self.http.request("POST", self._url(), json=body, auth=auth)
        if answer.status != 200 or answer.text.strip().lower() != ACCEPTED:
            raise _explain(answer)
        return base.Result(Outcome.ACCEPTED, identity, provider_status="200", is_delivered=True)

    def check(self) -> base.Health:
        self.http.touch(self._url())
        return base.Health.reached("Play Mobile's host can be reached")

    def _url(self) -> str:
        return self.text("base_url").rstrip("/") + "/broker-api/send"


def _explain(answer: HttpAnswer) -> ProviderError:
    """Judge a refusal by the number in the body. Play Mobile's sentence may quote the recipient."""
    code = answers.number(answers.read_object(answer).get("error-code"))
    if answer.status != 400 or code not in _ERRORS:
        return classify_status(answer)
    outcome, words = _ERRORS[code]
    return ProviderError(f"Play Mobile: {words} (error {code})", outcome, provider_status=str(code))
