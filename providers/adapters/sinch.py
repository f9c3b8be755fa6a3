"""Sinch: codes as SMS by its REST API (XMS), with a service plan and its token.

One message is a batch of one recipient, so the batch's id is the message's. It may take exactly the parts that we
counted. Sinch finds the alphabet of a text by itself. Sinch keeps India's DLT ids; a message cannot give them.

Sinch signs reports if that is switched on for the service plan. Otherwise only the secret in the webhook address
protects them. Reports tell no opt-outs.

The words of refused requests are those of Sinch's help pages; the table says whose fault each is. An invalid number may
be the sender's or the recipient's, so it ends no message.

UNCONFIRMED: that a list of groups is a good question to check the token by; that a repeated report carries a new
timestamp. With the old one we refuse it as too old, and Sinch does not repeat what we refused.
"""

from __future__ import annotations

import base64
import hmac
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, gsm, hooks

REPORT = "recipient_delivery_report_sms"

_ERRORS: dict[str, tuple[Outcome, str]] = {
    "syntax_invalid_json": (Outcome.MISCONFIGURED, "the request was not understood"),
    "syntax_constraint_violation": (Outcome.DECLINED, "a number, the sender or the text is not accepted"),
    "syntax_invalid_parameter_format": (Outcome.DECLINED, "a number, the sender's or the recipient's, is not valid"),
    "illegal_number_type": (Outcome.REFUSED, "this type of number cannot receive messages"),
    "blocked_account": (Outcome.MISCONFIGURED, "the account is blocked"),
    "missing_callback_url": (Outcome.MISCONFIGURED, "the webhook address is missing"),
}

_STATUSES = {
    "dispatched": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "expired": ReceiptStatus.EXPIRED,
    "aborted": ReceiptStatus.FAILED,
    "rejected": ReceiptStatus.FAILED,
    "failed": ReceiptStatus.FAILED,
    "deleted": ReceiptStatus.FAILED,
    "cancelled": ReceiptStatus.FAILED,
}
_REASONS = {
    402: "there is no route to the recipient",
    403: "Sinch had a server error",
    404: "it failed temporarily",
    405: "a parameter of the text has no value",
    406: "it was not sent in time",
    407: "it was cancelled",
    408: "it was rejected",
    410: "there is no default sender for the recipient",
    411: "the message takes too many parts",
    412: "the account is not enabled for this region",
    413: "the account is blocked or its balance used up",
}
_WORD = re.compile(r"[a-z_]{1,60}")


class Adapter(base.Adapter):
    type = "sinch"
    label = _("Sinch")
    channels = ("sms",)
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("service_plan_id", _("Service plan ID"), required=True),
        Setting("api_token", _("API token"), SettingKind.SECRET, required=True),
        Setting(
            "sender",
            _("Sender"),
            help=_("A number such as 14155551234, or a name. Leave empty for the service plan's default."),
        ),
        Setting(
            "hook_secret",
            _("Webhook secret"),
            SettingKind.SECRET,
            help=_(
                "Only if Sinch signs webhooks for this service plan. If empty, only the secret in the "
                "webhook URL protects reports."
            ),
        ),
        Setting(
            "base_url",
            _("API URL"),
            SettingKind.URL,
            default="https://us.sms.api.sinch.com",
            help=_("Begins with the service plan's region: us, eu, au, br or ca."),
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[0-9A-Za-z_-]{1,64}", str(values["service_plan_id"])):
            errors["service_plan_id"] = gettext("use only letters and digits")
        if not re.fullmatch(r"[\x21-\x7e]+", str(values["api_token"])):
            errors["api_token"] = gettext("the token contains a space or a non-ASCII character")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        url = hooks.report_url(message, self.http.allowed_networks)
        answer = self.http.request(
            "POST", self._url("batches"), headers=self._headers(), json=self._batch(message, url)
        )
        data = answers.read_object(answer)
        if not 200 <= answer.status < 300:
            raise _explain(answer, data)
        identity = answers.identity(data.get("id"))
        if identity is None:
            raise classify_status(answer)
        return base.Result(Outcome.ACCEPTED, identity, provider_status=str(answer.status), is_delivered=not url)

    def check(self) -> base.Health:
        """Ask for one group of recipients: unlike a list of batches it holds no messages. There is no balance."""
        answer = self.http.request("GET", self._url("groups?page_size=1"), headers=self._headers())
        data = answers.read_object(answer)
        if answer.status != 200:
            raise _explain(answer, data)
        if not isinstance(data.get("groups"), list):
            return base.Health(False, "Sinch answered, but not for this service plan.")
        return base.Health(True, "Sinch accepts the token. It does not show the balance.")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the HMAC-SHA256 of raw body, nonce and time, joined by dots."""
        secret = self.text("hook_secret")
        if request.method != "POST":
            raise HookForged("reports come by POST")
        if not secret:
            return
        nonce = request.headers.get("x-sinch-webhook-signature-nonce", "")
        timestamp = request.headers.get("x-sinch-webhook-signature-timestamp", "")
        given = request.headers.get("x-sinch-webhook-signature", "")
        signed = request.body + f".{nonce}.{timestamp}".encode("utf-8", "replace")
        expected = base64.b64encode(hmac.digest(secret.encode(), signed, "sha256"))
        hooks.require_same(given, expected.decode())
        hooks.require_fresh(timestamp)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one report. We pass over messages of users and summaries of batches, which come here too."""
        report = hooks.json_object(request.body)
        if report.get("type") != REPORT:
            return base.HookReply()
        identity = answers.identity(report.get("batch_id"))
        if identity is None:
            raise HookUnreadable("the report names no batch")
        word = str(report.get("status")).lower()
        if word not in _STATUSES:
            return base.HookReply()
        status, code = _STATUSES[word], answers.number(report.get("code"))
        receipt = hooks.receipt(
            status,
            vendor="Sinch",
            identity=identity,
            word=word,
            code=code,
            reasons=_REASONS,
            reference=report.get("client_reference"),
        )
        return base.HookReply((receipt,))

    def _batch(self, message: base.OutgoingMessage, report_url: str) -> dict[str, Any]:
        sender = (message.sender or self.text("sender")).removeprefix("+")
        ends_at = datetime.fromtimestamp(time.time() + max(message.expires_in, 1), UTC)
        return {
            **({"from": sender} if sender else {}),
            "to": [message.to.removeprefix("+")],
            "body": message.text,
            "type": "mt_text",
            "delivery_report": "per_recipient" if report_url else "none",
            **({"callback_url": report_url} if report_url else {}),
            "expire_at": ends_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "client_reference": str(message.id),
            "feedback_enabled": False,
            "truncate_concat": False,
            "max_number_of_message_parts": gsm.segments(message.text),
        }

    def _url(self, path: str) -> str:
        root = self.text("base_url").rstrip("/")
        return f"{root}/xms/v1/{self.text('service_plan_id')}/{path}"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text('api_token')}"}


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refusal by the error's word. Sinch's sentences stay out, because they may quote the recipient."""
    error = classify_status(answer)
    code = data.get("code")
    word = code if isinstance(code, str) and _WORD.fullmatch(code) else ""
    outcome, words = _ERRORS.get(word, (error.outcome, str(error)))
    text = f"Sinch: {words} ({word})" if word else str(error)
    return ProviderError(
        text, outcome, provider_status=word or error.provider_status, retry_after=retry_after_seconds(answer)
    )
