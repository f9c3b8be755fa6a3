"""Bird, once MessageBird: codes as SMS by its Channels API. The older API at rest.messagebird.com is not served.

A message goes out by a channel of a workspace, which has its sender. Bird reports to the address of a subscription,
which is entered once, and signs the time, our address and the digest of the body with the subscription's key. Without
that key no report is read, and acceptance is the last that is known. Our own number of the message goes along as its
reference, and comes back.

A message cannot be given a time to live.

UNCONFIRMED: the words and numbers of refusals and failures, so the status of HTTP decides, and a failure tells its
number; that Bird sends no report of an opt-out by itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable
from providers.http.client import classify_status
from providers.parsing import answers, hooks

EVENT = "sms.outbound"

_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "rejected": ReceiptStatus.FAILED,
    "sending_failed": ReceiptStatus.FAILED,
    "delivery_failed": ReceiptStatus.FAILED,
    "skipped": ReceiptStatus.FAILED,
}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Adapter(base.Adapter):
    type = "bird"
    label = _("Bird (MessageBird)")
    channels = ("sms",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("access_key", _("Access key"), SettingKind.SECRET, required=True),
        Setting("workspace_id", _("Workspace ID"), required=True),
        Setting(
            "channel_id",
            _("Channel ID"),
            required=True,
            help=_("The ID of an SMS channel; the channel defines the sender."),
        ),
        Setting(
            "signing_key",
            _("Webhook signing key"),
            SettingKind.SECRET,
            help=_(
                "The key you entered at the vendor with the webhook URL. If empty, reports are ignored "
                "and accepted messages count as delivered."
            ),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://api.bird.com"),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[\x21-\x7e]+", str(values["access_key"])):
            errors["access_key"] = gettext("the key contains a space or a non-ASCII character")
        for name in ("workspace_id", "channel_id"):
            if not _UUID.fullmatch(str(values[name])):
                errors[name] = gettext("enter an ID such as 3e2a1c44-6f0b-4a7e-9d3e-1f2b3c4d5e6f")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        is_reported = bool(self.text("signing_key") and hooks.report_url(message, self.http.allowed_networks))
        body = {
            "receiver": {"contacts": [{"identifierKey": "phonenumber", "identifierValue": message.to}]},
            "reference": str(message.id),
            "body": {"type": "text", "text": {"text": message.text}},
        }
        answer = self.http.request("POST", self._url("/messages"), headers=self._headers(), json=body)
        identity = answers.identity(answers.read_object(answer).get("id"))
        if not 200 <= answer.status < 300 or identity is None:
            raise classify_status(answer)
        return base.Result(Outcome.ACCEPTED, identity, provider_status=str(answer.status), is_delivered=not is_reported)

    def check(self) -> base.Health:
        """Ask for the channel. There is no balance."""
        answer = self.http.request("GET", self._url(), headers=self._headers())
        if answer.status != 200:
            raise classify_status(answer)
        if answers.read_object(answer).get("status") != "active":
            return base.Health(False, "Bird accepts the key, but the channel is not active.")
        return base.Health(True, "Bird accepts the key, and the channel is active. It does not show the balance.")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the HMAC-SHA256 of time, address and the body's digest, a line each."""
        key = self.text("signing_key")
        if not key or request.method != "POST":
            raise HookForged("no reports are set up")
        timestamp = request.headers.get("messagebird-request-timestamp", "")
        url = f"{request.url}?{request.query}" if request.query else request.url
        signed = f"{timestamp}\n{url}\n".encode("utf-8", "replace") + hashlib.sha256(request.body).digest()
        expected = base64.b64encode(hmac.digest(key.encode(), signed, "sha256")).decode()
        hooks.require_same(request.headers.get("messagebird-signature", ""), expected)
        hooks.require_fresh(timestamp)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one event. We pass over those about other things, such as messages of users."""
        event = hooks.json_object(request.body)
        if event.get("event") != EVENT:
            return base.HookReply()
        payload = event.get("payload")
        identity = answers.identity(payload.get("id")) if isinstance(payload, dict) else None
        if not isinstance(payload, dict) or identity is None:
            raise HookUnreadable("the report names no message")
        word = str(payload.get("status"))
        if word not in _STATUSES:
            return base.HookReply()
        status, failure = _STATUSES[word], payload.get("failure")
        code = failure.get("code") if isinstance(failure, dict) and status is ReceiptStatus.FAILED else None
        receipt = hooks.receipt(
            status,
            vendor="Bird",
            identity=identity,
            word=word,
            code=answers.number(code),
            reference=payload.get("reference"),
        )
        return base.HookReply((receipt,))

    def _url(self, path: str = "") -> str:
        root = self.text("base_url").rstrip("/")
        return f"{root}/workspaces/{self.text('workspace_id')}/channels/{self.text('channel_id')}{path}"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"AccessKey {self.text('access_key')}"}
