"""Plivo: codes as SMS by its Message API.

Receipts are signed with the auth token. Version 3 signs address and fields, version 2 the address alone. Version 3
counts wherever it is present. With version 2 the secret in the webhook address has to vouch for the fields. Neither
covers a time: a repeated call is harmless, because statuses only go forward. So their order does not matter either.

Errors of a request have no numbers, only sentences. We search a sentence for its subject, which tells whose fault the
refusal is. A sentence that tells nothing is judged by the HTTP status. A country or region that is not served is not
the recipient's fault: another provider may take the message. The numbers of receipts are those of Plivo's help pages.

UNCONFIRMED: which version of the signature a receipt carries; the sentences of errors; the bounds of
``message_expiry``; the currency of the balance, which we call credits. We do not read the signatures for subaccounts
(``-Ma-``).
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, hooks, prices

ACCOUNT_CURRENCY = "USD"  # of every account and price at Plivo
MIN_EXPIRY_SECONDS, MAX_EXPIRY_SECONDS = 5, 10_800  # Plivo's bounds of message_expiry

# The subjects of the sentences that refuse a request; the first match counts.
_SUBJECTS: tuple[tuple[str, Outcome, str], ...] = (
    (r"insufficient credit|insufficient balance", Outcome.OUT_OF_FUNDS, "the balance is used up"),
    (r"countr|region|geo|\broute|carrier", Outcome.DECLINED, "messages there are not served"),
    (r"\bsrc\b|\bsource\b|\bsender\b|powerpack", Outcome.MISCONFIGURED, "the sender is not accepted"),
    (r"\burl\b|\bdlt", Outcome.MISCONFIGURED, "a setting is not accepted"),
    (r"\bdst\b|destination", Outcome.REFUSED, "the recipient's number is not accepted"),
)

_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "read": ReceiptStatus.SUCCESS,
    "failed": ReceiptStatus.FAILED,
    "undelivered": ReceiptStatus.FAILED,
    "rejected": ReceiptStatus.FAILED,
}
_REASONS = {
    10: "the message is not valid",
    20: "a network error",
    30: "the carrier blocked the message as spam",
    40: "the sender's number is not valid",
    50: "the recipient's number is not valid",
    60: "the message went round in a loop",
    70: "the recipient cannot be reached any more",
    80: "the handset cannot be reached",
    90: "there is no route to the recipient",
    100: "the carrier does not allow it",
    110: "the message is too long",
    200: "the recipient has opted out",
    201: "the sender's number cannot send to this country",
    300: "it could not be passed on",
    420: "it was not delivered in time",
    450: "messages to this country are not enabled",
    900: "the balance is used up",
    910: "the account is disabled",
    1000: "the reason is unknown",
}
OPTED_OUT = 200


class Adapter(base.Adapter):
    type = "plivo"
    label = _("Plivo")
    channels = ("sms",)
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("auth_id", _("Auth ID"), required=True, help=_("MA or SA and 18 characters.")),
        Setting(
            "auth_token", _("Auth token"), SettingKind.SECRET, required=True, help=_("Also verifies delivery reports.")
        ),
        Setting("sender", _("Sender"), help=_("A number such as 14155551234, or a registered name.")),
        Setting("powerpack_uuid", _("Powerpack UUID"), help=_("Used instead of a sender.")),
        Setting(
            "hides_text",
            _("Don't store the text"),
            SettingKind.BOOLEAN,
            default=True,
            help=_("Tells Plivo not to log the text."),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://api.plivo.com"),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[0-9A-Za-z]{1,40}", str(values["auth_id"])):
            errors["auth_id"] = gettext("use only letters and digits")
        if not values["sender"] and not values["powerpack_uuid"]:
            errors["sender"] = gettext("enter a sender or a Powerpack UUID")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        url = hooks.report_url(message, self.http.allowed_networks)
        body: dict[str, Any] = {
            **self._sender(message),
            "dst": message.to.removeprefix("+"),
            "text": message.text,
            "type": "sms",
            "message_expiry": min(max(message.expires_in, MIN_EXPIRY_SECONDS), MAX_EXPIRY_SECONDS),
        }
        if url:
            body |= {"url": f"{url}?id={message.id}", "method": "POST"}
        if self.settings["hides_text"]:
            body["log"] = "false"
        dlt = {"dlt_entity_id": message.dlt_entity_id, "dlt_template_id": message.dlt_template_id}
        body |= {name: value for name, value in dlt.items() if value}
        answer = self.http.request("POST", self._url("Message/"), json=body, auth=self._auth())
        return _read(answer, is_delivered=not url)

    def check(self) -> base.Health:
        answer = self.http.request("GET", self._url(), auth=self._auth())
        data = answers.read_object(answer)
        if answer.status != 200:
            raise _explain(answer, data)
        return answers.balance_health("Plivo", data.get("cash_credits"), "credits")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the signature. While the token changes, a header of version 3 holds several: one of them must match."""
        headers = request.headers
        if request.method != "POST":
            raise HookForged("we expect delivery reports by POST")
        if "x-plivo-signature-v3" in headers:
            signed = f"{_signed_text(request)}.{headers.get('x-plivo-signature-v3-nonce', '')}"
            given = headers["x-plivo-signature-v3"].split(",")
        else:
            signed = request.url + headers.get("x-plivo-signature-v2-nonce", "")
            given = [headers.get("x-plivo-signature-v2", "")]
        token = self.text("auth_token").encode()
        expected = base64.b64encode(hmac.digest(token, signed.encode("utf-8", "replace"), "sha256"))
        if not any(hooks.is_same(one.strip(), expected.decode()) for one in given):
            raise HookForged("the signature is not valid")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        fields = hooks.form_fields(request.body)
        identity = answers.identity(fields.get("MessageUUID"))
        if identity is None:
            raise HookUnreadable("the delivery report names no message")
        word = fields.get("Status", "").lower()
        if word not in _STATUSES:
            return base.HookReply()
        status = _STATUSES[word]
        code = answers.number(fields.get("ErrorCode")) if status is ReceiptStatus.FAILED else None
        receipt = hooks.receipt(
            status,
            vendor="Plivo",
            identity=identity,
            word=word,
            code=code,
            reasons=_REASONS,
            reference=hooks.form_fields(request.query).get("id"),
            is_opted_out=code == OPTED_OUT,
            price=prices.price(fields.get("TotalAmount"), ACCOUNT_CURRENCY),
        )
        return base.HookReply((receipt,))

    def _sender(self, message: base.OutgoingMessage) -> dict[str, str]:
        """Return the sender or the powerpack, never both. A country's sender comes first."""
        powerpack = self.text("powerpack_uuid")
        if message.sender or not powerpack:
            return {"src": (message.sender or self.text("sender")).removeprefix("+")}
        return {"powerpack_uuid": powerpack}

    def _url(self, path: str = "") -> str:
        root = self.text("base_url").rstrip("/")
        return f"{root}/v1/Account/{self.text('auth_id')}/{path}"

    def _auth(self) -> tuple[str, str]:
        return self.text("auth_id"), self.text("auth_token")


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    """Read the answer, with one id per recipient. With several, keep none: receipts then match by our own id."""
    data = answers.read_object(answer)
    if not 200 <= answer.status < 300:
        raise _explain(answer, data)
    listed = data.get("message_uuid")
    identities = [answers.identity(one) for one in listed] if isinstance(listed, list) else []
    if not identities or None in identities:
        raise classify_status(answer)
    only = identities[0] if len(identities) == 1 else None
    return base.Result(Outcome.ACCEPTED, only, provider_status=str(answer.status), is_delivered=is_delivered)


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refused request. Plivo's own sentences stay out of ours, because they may quote the recipient."""
    error = classify_status(answer)
    sentence = str(data.get("error", "")).lower()
    found = next((subject for subject in _SUBJECTS if re.search(subject[0], sentence)), None)
    if found is None or answer.status not in (400, 402, 403):
        return error
    _, outcome, words = found
    text = f"Plivo: {words} (HTTP {answer.status})"
    return ProviderError(text, outcome, provider_status=str(answer.status), retry_after=retry_after_seconds(answer))


def _signed_text(request: base.HookRequest) -> str:
    """Return the text that version 3 signs: the address with its query sorted, a dot, and all fields sorted.

    A question mark alone parts an address without a query from the fields, as in Plivo's own library.
    """
    body = hooks.signed_form(request)
    try:
        query = hooks.form_lists(request.query)
    except HookUnreadable as error:
        raise HookForged(str(error)) from None
    sorted_query = "&".join(f"{name}={value}" for name in sorted(query) for value in sorted(query[name]))
    fields = "".join(name + value for name in sorted(body) for value in sorted(body[name]))
    if fields:
        return f"{request.url}?{sorted_query}{'.' if sorted_query else ''}{fields}"
    return f"{request.url}?{sorted_query}" if sorted_query else request.url
