"""SMS Gateway for Android (sms-gate.app): codes as SMS from a phone of one's own, with its SIM card.

The same API answers at the maker's server, at a server of one's own, and at the phone itself in its local mode, where
the list of devices alone has another path. A text goes to the phone, which sends it. What is left of the code's life
goes along, so that a phone that was away sends no code that is void.

The phone, not the server, calls our webhook, which is entered there once for each of its events. It signs the body
with the time behind it, by the signing key of the app's settings. Without that key nothing could be verified: then no
report is read, and acceptance is the last that is known. A text of several parts is reported as delivered once for
each part; the first counts.

Our numbers are valid and international already, so we ask the server to leave its own judgement out, which knows
some countries' mobile numbers for landlines.

The wire is that of the source of its server, its app and its client library.

UNCONFIRMED: that every refusal with 400 but that of an unknown device is about the request.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status
from providers.parsing import answers, hooks

MIN_TTL_SECONDS = 5  # the server's least
PRIORITY = 100  # from here on the app's own limits and pauses are passed over, as its makers advise for codes

_STATUSES = {
    "sms:sent": ReceiptStatus.SENT,
    "sms:delivered": ReceiptStatus.SUCCESS,
    "sms:failed": ReceiptStatus.FAILED,
    "sms:cancelled": ReceiptStatus.FAILED,
}
# Android's words for a failure, and the app's own.
_REASONS = {
    "RESULT_ERROR_GENERIC_FAILURE": "the phone did not send it: check the SIM card's credit and signal",
    "RESULT_ERROR_RADIO_OFF": "the phone's radio is off",
    "RESULT_ERROR_NO_SERVICE": "the phone has no network",
    "RESULT_ERROR_LIMIT_EXCEEDED": "the phone sends too many messages",
    "RESULT_ERROR_FDN_CHECK_FAILURE": "the SIM card allows fixed numbers only",
    "RESULT_NETWORK_REJECT": "the operator rejected it",
    "RESULT_NO_DEFAULT_SMS_APP": "the phone has no default app or SIM card for SMS",
    "RESULT_RIL_NETWORK_REJECT": "the operator rejected it",
    "RESULT_RIL_REQUEST_RATE_LIMITED": "the phone sends too many messages",
    "RESULT_RIL_SIM_ABSENT": "the phone has no SIM card",
}
EXPIRED = "TTL expired"
_RESULT = re.compile(r"\bRESULT_[A-Z_]{1,60}\b")
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2})")


class Adapter(base.Adapter):
    type = "sms_gate"
    label = _("SMS Gateway for Android")
    channels = ("sms",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    advanced = ("device_id", "sim_number")
    declared = (
        Setting("username", _("Username"), required=True),
        Setting("password", _("Password"), SettingKind.SECRET, required=True),
        Setting(
            "signing_key",
            _("Webhook signing key"),
            SettingKind.SECRET,
            help=_("From the app's settings. If empty, reports are ignored and accepted messages count as delivered."),
        ),
        Setting(
            "device_id",
            _("Device ID"),
            help=_("To send from one phone only. Leave empty to use any phone of the account."),
        ),
        Setting(
            "sim_number",
            _("SIM card"),
            SettingKind.CHOICE,
            default="0",
            choices=(("0", _("As set in the app")), ("1", "1"), ("2", "2"), ("3", "3")),
        ),
        Setting(
            "base_url",
            _("API URL"),
            SettingKind.URL,
            default="https://api.sms-gate.app/3rdparty/v1",
            help=_("Your own server's URL also ends in /3rdparty/v1; a phone in local mode has no path."),
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if ":" in str(values["username"]):
            errors["username"] = gettext("a username cannot contain a colon")
        if values["device_id"] and not re.fullmatch(r"[0-9A-Za-z_-]{1,21}", str(values["device_id"])):
            errors["device_id"] = gettext("use only letters and digits")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        is_reported = bool(self.text("signing_key") and hooks.report_url(message, self.http.allowed_networks))
        body: dict[str, Any] = {
            "textMessage": {"text": message.text},
            "phoneNumbers": [message.to],
            "withDeliveryReport": is_reported,
            "ttl": max(message.expires_in, MIN_TTL_SECONDS),
            "priority": PRIORITY,
        }
        if self.text("device_id"):
            body["deviceId"] = self.text("device_id")
        if self.text("sim_number") != "0":
            body["simNumber"] = int(self.text("sim_number"))
        url = self._url("/messages?skipPhoneValidation=true")
        answer = self.http.request("POST", url, json=body, auth=self._auth())
        data = answers.read_object(answer)
        identity = answers.identity(data.get("id"))
        if not 200 <= answer.status < 300:
            raise _explain(answer, data)
        if identity is None:
            raise classify_status(answer)
        return base.Result(Outcome.ACCEPTED, identity, provider_status=str(answer.status), is_delivered=not is_reported)

    def check(self) -> base.Health:
        """Ask for the phones. The one at the address is the only one in local mode."""
        is_local = "/3rdparty/" not in f"{self.text('base_url')}/"
        answer = self.http.request("GET", self._url("/device" if is_local else "/devices"), auth=self._auth())
        if answer.status != 200:
            raise classify_status(answer)
        phones = _phones(answer)
        wanted = self.text("device_id")
        if wanted:
            phones = [phone for phone in phones if phone.get("id") == wanted]
        if not phones:
            return base.Health(False, "SMS Gateway for Android accepts the password, but has no such phone.")
        seen = max((_moment(phone.get("lastSeen")) for phone in phones), default="")
        told = f"; one was last seen on {seen}" if seen else ""
        return base.Health(True, f"SMS Gateway for Android accepts the password; its phones: {len(phones)}{told}.")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the HMAC-SHA256 of the raw body with the time behind it."""
        key = self.text("signing_key")
        if not key or request.method != "POST":
            raise HookForged("delivery reports are not set up")
        timestamp = request.headers.get("x-timestamp", "")
        signed = request.body + timestamp.encode("utf-8", "replace")
        expected = hmac.new(key.encode(), signed, "sha256").hexdigest()
        hooks.require_same(request.headers.get("x-signature", "").lower(), expected)
        hooks.require_fresh(timestamp)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one event. We pass over those about other things, such as messages that the phone received."""
        event = hooks.json_object(request.body)
        word = str(event.get("event"))
        if word not in _STATUSES:
            return base.HookReply()
        payload = event.get("payload")
        identity = answers.identity(payload.get("messageId")) if isinstance(payload, dict) else None
        if not isinstance(payload, dict) or identity is None:
            raise HookUnreadable("the delivery report names no message")
        return base.HookReply((_receipt(word, identity, str(payload.get("reason", ""))),))

    def _url(self, path: str) -> str:
        return self.text("base_url").rstrip("/") + path

    def _auth(self) -> tuple[str, str]:
        return self.text("username"), self.text("password")


def _receipt(word: str, identity: str, reason: str) -> base.Receipt:
    """Return the receipt of an event. Its sentences stay out, because they may quote the recipient."""
    status = _STATUSES[word]
    if status is ReceiptStatus.FAILED and EXPIRED in reason:
        status = ReceiptStatus.EXPIRED
    found = _RESULT.search(reason) if status is ReceiptStatus.FAILED else None
    result = found.group() if found else ""
    error = ""
    if status in hooks.NOT_DELIVERED:
        words = _REASONS.get(result, "it was not sent in time" if EXPIRED in reason else "it was not delivered")
        error = f"SMS Gateway for Android: {words} ({result or word})"
    return base.Receipt(status, provider_message_id=identity, error=error, provider_status=f"{word} {result}".rstrip())


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refused request. The server's sentences stay out, because they may quote the recipient."""
    error = classify_status(answer)
    sentence = str(data.get("message", "")).lower()
    if answer.status == 400 and ("record not found" in sentence or "device" in sentence):
        text = "SMS Gateway for Android: the account has no such phone (HTTP 400)"
        return ProviderError(text, Outcome.MISCONFIGURED, provider_status="400")
    return error


def _phones(answer: HttpAnswer) -> list[dict[str, Any]]:
    try:
        return answers.objects(answer.json())
    except ValueError:
        return []


def _moment(value: object) -> str:
    """Return a moment to the minute, as the server writes it; empty for anything else."""
    found = _MOMENT.match(value) if isinstance(value, str) else None
    return f"{found[1]} {found[2]}" if found else ""
