"""httpSMS: codes as SMS from an Android phone of one's own, by the makers' server or one of one's own.

A text waits at the server until the phone fetches it. How long it waits is a setting of the phone there, not of a
message.

The server reports to the address that its owner entered. With a signing key each call carries a token, which names
that address and lives for some minutes. It does not cover the body, so the secret in the webhook address has to vouch
for the fields. Without the key no report is read, and acceptance is the last that is known.

A refusal for what the request holds names the fields. That the sender's phone is not there and that it could not be
looked up are the same refusal.

The wire is that of the source of its server and its app, and of its guide to webhooks.

UNCONFIRMED: nothing of the wire; which fields a server of an older release leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status
from providers.parsing import answers, hooks, json_web_tokens

ISSUER = "api.httpsms.com"  # in the tokens of every server, one's own too
MAX_LENGTH = 2_048  # characters of a text

_STATUSES = {
    "message.phone.sent": ReceiptStatus.SENT,
    "message.phone.delivered": ReceiptStatus.SUCCESS,
    "message.send.failed": ReceiptStatus.FAILED,
    "message.send.expired": ReceiptStatus.EXPIRED,
}
# Android's words for a failure, as the app passes them on.
_REASONS = {
    "GENERIC_FAILURE": "the phone did not send it: check the SIM card's credit and signal",
    "NO_SERVICE": "the phone has no network",
    "RADIO_OFF": "the phone's radio is off",
    "LIMIT_EXCEEDED": "the phone sends too many messages",
}
# The fields of a refused request; the first that is there counts.
_FIELDS: dict[str, tuple[Outcome, str]] = {
    "from": (Outcome.MISCONFIGURED, "the sender is not a phone of the account"),
    "to": (Outcome.REFUSED, "the recipient's number is not valid"),
    "content": (Outcome.MISCONFIGURED, "the text is not accepted"),
}


class Adapter(base.Adapter):
    type = "httpsms"
    label = _("httpSMS")
    channels = ("sms",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("api_key", _("API key"), SettingKind.SECRET, required=True),
        Setting("sender", _("Phone number"), required=True, help=_("With country code, such as +4915112345678.")),
        Setting(
            "signing_key",
            _("Webhook signing key"),
            SettingKind.SECRET,
            help=_(
                "The key you entered at the vendor with the webhook URL. If empty, reports are ignored "
                "and accepted messages count as delivered."
            ),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://api.httpsms.com"),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[\x21-\x7e]+", str(values["api_key"])):
            errors["api_key"] = gettext("the key contains a space or a non-ASCII character")
        if not re.fullmatch(r"\+[0-9]{5,15}", str(values["sender"])):
            errors["sender"] = gettext("enter a number such as +4915112345678")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        if len(message.text) > MAX_LENGTH:
            raise ProviderError(f"httpSMS accepts at most {MAX_LENGTH} characters", Outcome.NOT_APPLICABLE)
        is_reported = bool(self.text("signing_key") and hooks.report_url(message, self.http.allowed_networks))
        body = {
            "from": self.text("sender"),
            "to": message.to,
            "content": message.text,
            "request_id": str(message.id),
        }
        answer = self.http.request("POST", self._url("/v1/messages/send"), headers=self._headers(), json=body)
        data = answers.read_object(answer)
        if not 200 <= answer.status < 300:
            raise _explain(answer, data)
        sent = data.get("data")
        identity = answers.identity(sent.get("id")) if isinstance(sent, dict) else None
        if identity is None:
            raise classify_status(answer)
        return base.Result(Outcome.ACCEPTED, identity, provider_status=str(answer.status), is_delivered=not is_reported)

    def check(self) -> base.Health:
        """Ask for the sender's phone among those of the account."""
        number = self.text("sender")
        path = f"/v1/phones?limit=20&query={number.removeprefix('+')}"
        answer = self.http.request("GET", self._url(path), headers=self._headers())
        if answer.status != 200:
            raise classify_status(answer)
        phones = answers.objects(answers.read_object(answer).get("data"))
        if not any(phone.get("phone_number") == number for phone in phones):
            return base.Health(False, "httpSMS accepts the key, but has no phone with the sender's number.")
        return base.Health(True, "httpSMS accepts the key, and has the sender's phone.")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the token of the call, and that it is meant for our address."""
        key = self.text("signing_key")
        if not key or request.method != "POST":
            raise HookForged("delivery reports are not set up")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise HookForged("the call carries no token")
        audience = json_web_tokens.read(token, key, issuer=ISSUER).get("aud")
        url = f"{request.url}?{request.query}" if request.query else request.url
        if url not in (audience if isinstance(audience, list) else [audience]):
            raise HookForged("the token is meant for another address")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one event. We pass over those about other things, and an expiry after which the phone is asked again."""
        event = hooks.json_object(request.body)
        word, data = str(event.get("type")), event.get("data")
        if word not in _STATUSES:
            return base.HookReply()
        if not isinstance(data, dict):
            raise HookUnreadable("the delivery report names no message")
        identity = answers.identity(data.get("message_id" if word == "message.send.expired" else "id"))
        if identity is None:
            raise HookUnreadable("the delivery report names no message")
        if word == "message.send.expired" and data.get("is_final") is False:
            return base.HookReply()
        reason = str(data.get("error_message"))
        status = _STATUSES[word]
        is_known = status is ReceiptStatus.FAILED and reason in _REASONS
        words, told = (_REASONS[reason], reason) if is_known else ("it was not delivered", word)
        receipt = base.Receipt(
            status,
            provider_message_id=identity,
            message_id=hooks.our_id(data.get("request_id")),
            error=f"httpSMS: {words} ({told})" if status in hooks.NOT_DELIVERED else "",
            provider_status=f"{word} {reason}" if is_known else word,
        )
        return base.HookReply((receipt,))

    def _url(self, path: str) -> str:
        return self.text("base_url").rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        return {"x-api-key": self.text("api_key")}


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refused request by the fields that it names. Its sentences stay out: they quote the numbers."""
    error = classify_status(answer)
    named = data.get("data")
    if answer.status != 422 or not isinstance(named, dict):
        return error
    found = next((field for field in _FIELDS if field in named), None)
    if found is None:
        return error
    outcome, words = _FIELDS[found]
    return ProviderError(f"httpSMS: {words} (HTTP 422, {found})", outcome, provider_status=f"422 {found}")
