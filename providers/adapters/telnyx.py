"""Telnyx: codes as SMS by its Messaging API, version 2.

Our address for reports goes along with each message. Telnyx signs every call by Ed25519, over the time and the raw
body; the account's public key verifies it.

A refusal carries numbers of errors; the first that we know counts. What depends on where a message goes (a country that
is not enabled, a sender that the United States want registered) is no fault of the account's, and another provider may
take it. A recipient who answered STOP is on a list of Telnyx's, for this sender.

A message cannot be given a time to live. A status that says that the network never told the end (delivery_unconfirmed)
leaves the message sent.

UNCONFIRMED: the numbers of refusals from 20100 on but 40310; those up to 10016 and those of failures are of Telnyx's
lists. An unknown number is judged by the HTTP status.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, hooks, prices

OPTED_OUT = 40300
KEY_BYTES = 32  # of an Ed25519 public key

_SENDER = (Outcome.MISCONFIGURED, "the sender is not accepted")
_REGISTRATION = (Outcome.DECLINED, "the sender is not registered for messages there")
_ERRORS: dict[int, tuple[Outcome, str]] = {
    10001: (Outcome.DECLINED, "a number, the sender's or the recipient's, is not active"),
    10002: (Outcome.DECLINED, "a number, the sender's or the recipient's, is not valid"),
    10003: (Outcome.MISCONFIGURED, "the address for reports is not accepted"),
    10004: (Outcome.MISCONFIGURED, "the request lacks something"),
    10007: (Outcome.TEMPORARY, "Telnyx has a server error"),
    10009: (Outcome.MISCONFIGURED, "the API key is not accepted"),
    10010: (Outcome.MISCONFIGURED, "the API key lacks permission for this"),
    10011: (Outcome.RATE_LIMITED, "there are too many requests"),
    10015: (Outcome.DECLINED, "the request was not understood"),
    10016: (Outcome.DECLINED, "a number, the sender's or the recipient's, is not valid"),
    20100: (Outcome.OUT_OF_FUNDS, "the balance is used up"),
    OPTED_OUT: (Outcome.OPTED_OUT, "the recipient has opted out"),
    40305: _SENDER,
    40306: _SENDER,
    40309: (Outcome.DECLINED, "messages there are not enabled"),
    40310: (Outcome.REFUSED, "the recipient's number is not valid"),
    40312: (Outcome.MISCONFIGURED, "the messaging profile is disabled"),
    40313: (Outcome.MISCONFIGURED, "the messaging profile is missing"),
    40314: (Outcome.MISCONFIGURED, "messaging is disabled for the account"),
    40315: _SENDER,
    40318: (Outcome.RATE_LIMITED, "the queue is full"),
    40321: (Outcome.MISCONFIGURED, "the messaging profile has no usable number"),
    40329: _REGISTRATION,
    40330: _REGISTRATION,
    40331: _REGISTRATION,
    40333: (Outcome.OUT_OF_FUNDS, "the messaging profile's spend limit is reached"),
}
_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "delivery_unconfirmed": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "read": ReceiptStatus.SUCCESS,
    "sending_failed": ReceiptStatus.FAILED,
    "delivery_failed": ReceiptStatus.FAILED,
    "expired": ReceiptStatus.EXPIRED,
}
_REASONS = {
    40001: "the recipient's number cannot receive SMS",
    40002: "the carrier blocked the message as spam",
    40003: "the sender is blocked for spam",
    40004: "the recipient's carrier rejected it",
    40005: "it was not delivered in time",
    40006: "the recipient's carrier cannot be reached",
    40007: "the message went round in a loop",
    40008: "the recipient's carrier did not accept it",
    40009: "the text was not accepted",
    40011: "too many messages were sent",
    40012: "the recipient's number is not valid",
    40013: "the sender's number is not valid",
    40014: "it was not sent in time",
    40015: "the carrier blocked the message as spam",
    OPTED_OUT: "the recipient has opted out",
}
_EVENTS = ("message.sent", "message.finalized")


class Adapter(base.Adapter):
    type = "telnyx"
    label = _("Telnyx")
    channels = ("sms",)
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("api_key", _("API key"), SettingKind.SECRET, required=True),
        Setting("public_key", _("Public key"), required=True, help=_("From your account. Verifies delivery reports.")),
        Setting("sender", _("Sender"), help=_("A number such as +14155551234, or a name.")),
        Setting(
            "messaging_profile_id",
            _("Messaging profile ID"),
            help=_("Required if the sender is a name, or to send from the profile's numbers without a sender."),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://api.telnyx.com"),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[\x21-\x7e]+", str(values["api_key"])):
            errors["api_key"] = gettext("the key contains a space or a non-ASCII character")
        if _public_key(str(values["public_key"])) is None:
            errors["public_key"] = gettext("enter a key of 32 bytes in Base64")
        if not values["sender"] and not values["messaging_profile_id"]:
            errors["sender"] = gettext("enter a sender or a messaging profile ID")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        url = hooks.report_url(message, self.http.allowed_networks)
        sender = message.sender or self.text("sender")
        body: dict[str, Any] = {"from": _with_plus(sender)} if sender else {}
        if self.text("messaging_profile_id"):
            body["messaging_profile_id"] = self.text("messaging_profile_id")
        body |= {"to": message.to, "text": message.text, "type": "SMS", "use_profile_webhooks": False}
        if url:
            body["webhook_url"] = url
        answer = self.http.request("POST", self._url("/v2/messages"), headers=self._headers(), json=body)
        data = answers.read_object(answer)
        if not 200 <= answer.status < 300:
            raise _explain(answer, data)
        sent = data.get("data")
        identity = answers.identity(sent.get("id")) if isinstance(sent, dict) else None
        if identity is None:
            raise classify_status(answer)
        return base.Result(Outcome.ACCEPTED, identity, provider_status=str(answer.status), is_delivered=not url)

    def check(self) -> base.Health:
        """Ask for the credit: the balance and what the account may owe."""
        answer = self.http.request("GET", self._url("/v2/balance"), headers=self._headers())
        data = answers.read_object(answer)
        if answer.status != 200:
            raise _explain(answer, data)
        told = data.get("data")
        account = told if isinstance(told, dict) else {}
        return answers.balance_health("Telnyx", account.get("available_credit"), account.get("currency"))

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the Ed25519 signature of the time, a bar and the raw body."""
        key = _public_key(self.text("public_key"))
        timestamp = request.headers.get("telnyx-timestamp", "")
        signature = _decoded(request.headers.get("telnyx-signature-ed25519", ""))
        if request.method != "POST" or key is None or signature is None:
            raise HookForged("the call carries no signature")
        try:
            key.verify(signature, timestamp.encode("utf-8", "replace") + b"|" + request.body)
        except InvalidSignature:
            raise HookForged("the signature is not valid") from None
        hooks.require_fresh(timestamp)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one event. We pass over those that are not about a message's way, such as messages of users."""
        event = hooks.json_object(request.body).get("data")
        if not isinstance(event, dict):
            raise HookUnreadable("the call contains no event")
        if event.get("event_type") not in _EVENTS:
            return base.HookReply()
        payload = event.get("payload")
        identity = answers.identity(payload.get("id")) if isinstance(payload, dict) else None
        if not isinstance(payload, dict) or identity is None:
            raise HookUnreadable("the delivery report names no message")
        word = next((str(one.get("status")) for one in answers.objects(payload.get("to"))), "")
        if word not in _STATUSES:
            return base.HookReply()
        status = _STATUSES[word]
        code = next(iter(_codes(payload)), None) if status in hooks.NOT_DELIVERED else None
        cost = payload.get("cost")
        receipt = hooks.receipt(
            status,
            vendor="Telnyx",
            identity=identity,
            word=word,
            code=code,
            reasons=_REASONS,
            is_opted_out=code == OPTED_OUT,
            price=prices.price(cost.get("amount"), cost.get("currency")) if isinstance(cost, dict) else None,
        )
        return base.HookReply((receipt,))

    def _url(self, path: str) -> str:
        return self.text("base_url").rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text('api_key')}"}


def _with_plus(sender: str) -> str:
    """Return a sender as Telnyx wants it: a long number with a plus, a short code and a name as they are."""
    return f"+{sender}" if re.fullmatch(r"[0-9]{9,15}", sender) else sender


def _codes(data: Mapping[str, Any]) -> list[int]:
    found = [answers.number(error.get("code")) for error in answers.objects(data.get("errors"))]
    return [code for code in found if code is not None]


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refused request by its numbers. Telnyx's sentences stay out, because they may quote the recipient."""
    error = classify_status(answer)
    codes = _codes(data)
    code = next((code for code in codes if code in _ERRORS), None)
    if code is None or answer.status < 400:
        return error
    outcome, words = _ERRORS[code]
    return ProviderError(
        f"Telnyx: {words} (error {code})",
        outcome,
        provider_status=str(code),
        retry_after=retry_after_seconds(answer) if outcome is Outcome.RATE_LIMITED else None,
    )


def _public_key(text: str) -> Ed25519PublicKey | None:
    key = _decoded(text)
    return Ed25519PublicKey.from_public_bytes(key) if key is not None and len(key) == KEY_BYTES else None


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
