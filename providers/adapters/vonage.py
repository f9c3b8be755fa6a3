"""Vonage: codes as SMS by its SMS API. It answers HTTP 200 to everything; the body tells the fate of each part.

We do not use the newer Messages API.

Receipts go to the address given with the message. Vonage takes at most 100 characters there, and only the shortest host
names fit. Otherwise the owner enters our address in Vonage's dashboard and says so in the settings. Without either,
acceptance is the last that is known.

Vonage returns one id per part. With several parts, we keep none: receipts then match by our own id.

The table of statuses says whose fault a refusal is. Two of them end the message, because they mean the recipient: 7 and
33. With 6 and 22 Vonage does not know the way to the recipient; another provider may.

The numbers of ``err-code`` are those of Vonage's help pages. We do not support the older signature without HMAC ("MD5
hash"). UNCONFIRMED: the shape of the balance, whose currency we take to be EUR; that a repeated receipt carries a new
timestamp. With the old one we refuse it as too old.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import UNLISTED, HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, gsm, hooks, prices

MIN_TTL_SECONDS, MAX_TTL_SECONDS = 20, 604_800  # Vonage's bounds of ttl
ACCOUNT_CURRENCY = "EUR"  # of every account and price at Vonage
MAX_CALLBACK_LENGTH = 100  # characters: Vonage's bound of callback

_ERRORS: dict[int, tuple[Outcome, str]] = {
    1: (Outcome.RATE_LIMITED, "the account sends too fast"),
    2: (Outcome.MISCONFIGURED, "the request was not understood"),
    3: (Outcome.DECLINED, "a number, the sender or the text is not valid"),
    4: (Outcome.MISCONFIGURED, "the key or the secret is not valid"),
    5: (Outcome.TEMPORARY, "Vonage has a server error"),
    6: (Outcome.DECLINED, "the message or its recipient is not valid"),
    7: (Outcome.OPTED_OUT, "the recipient's number is barred"),
    8: (Outcome.MISCONFIGURED, "the account is barred"),
    9: (Outcome.OUT_OF_FUNDS, "the balance is used up"),
    10: (Outcome.RATE_LIMITED, "there are too many connections"),
    11: (Outcome.MISCONFIGURED, "the account is not enabled for this API"),
    12: (Outcome.MISCONFIGURED, "the message is too long"),
    14: (Outcome.MISCONFIGURED, "the signature is not accepted"),
    15: (Outcome.DECLINED, "the sender is not accepted there"),
    22: (Outcome.DECLINED, "the recipient's network is not known there"),
    23: (Outcome.MISCONFIGURED, "the webhook address is not accepted"),
    29: (Outcome.DECLINED, "a trial account can only send to its listed numbers"),
    32: (Outcome.MISCONFIGURED, "the request is signed, though it should not be"),
    33: (Outcome.REFUSED, "the recipient's number is no longer in use"),
}

_STATUSES = {
    "accepted": ReceiptStatus.SENT,
    "buffered": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "expired": ReceiptStatus.EXPIRED,
    "failed": ReceiptStatus.FAILED,
    "rejected": ReceiptStatus.FAILED,
}
_REASONS = {
    1: "the reason is unknown",
    2: "the handset cannot be reached",
    3: "the recipient's number is no longer in use",
    4: "the recipient's number is barred",
    5: "the number's carrier could not be found",
    6: "the carrier blocked the message as spam",
    7: "the handset is busy",
    8: "a network error",
    9: "the recipient has opted out",
    10: "the message is not valid",
    11: "there is no route to the recipient",
    12: "the recipient cannot be reached",
    13: "the recipient is too young for it",
    14: "the recipient's carrier blocks such messages",
    15: "the recipient's prepaid balance is used up",
    50: "the DLT entity id does not fit",
    51: "the DLT header does not fit",
    52: "the text fits no registered template",
    53: "the recipient has not consented",
    54: "a regulation forbids it",
    99: "a general error",
}
OUT_OF_USE = 33
_SUPPRESSED = frozenset({3})  # out of use, at every vendor
_OPTED_OUT = frozenset({4, 9, 14})  # Vonage asks to take these numbers off the list


class Adapter(base.Adapter):
    type = "vonage"
    label = _("Vonage")
    channels = ("sms",)
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("api_key", _("API key"), required=True),
        Setting("api_secret", _("API secret"), SettingKind.SECRET, required=True),
        Setting("sender", _("Sender"), required=True, help=_("A number such as 14155552345, or a name.")),
        Setting(
            "signature_secret",
            _("Signature secret"),
            SettingKind.SECRET,
            help=_(
                "Verifies delivery reports, if signing is on. If empty, only the secret in the webhook URL"
                " protects them."
            ),
        ),
        Setting(
            "signature_method",
            _("Signature method"),
            SettingKind.CHOICE,
            default="sha256",
            choices=(
                ("md5", "MD5 HMAC"),
                ("sha1", "SHA1 HMAC"),
                ("sha256", "SHA-256 HMAC"),
                ("sha512", "SHA-512 HMAC"),
            ),
            help=_("As set in your account."),
        ),
        Setting(
            "has_account_webhook",
            _("Delivery reports are set up in the account"),
            SettingKind.BOOLEAN,
            default=False,
            help=_(
                "Turn on after entering this provider's webhook URL there. If this is off and the webhook"
                " URL is longer than 100 characters, no reports arrive."
            ),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://rest.nexmo.com"),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        return {} if ":" not in str(values["api_key"]) else {"api_key": "a key has no colon"}

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        form = {
            "from": (message.sender or self.text("sender")).removeprefix("+"),
            "to": message.to.removeprefix("+"),
            "text": message.text,
            "type": "text" if gsm.is_gsm7(message.text) else "unicode",
            "ttl": 1000 * min(max(message.expires_in, MIN_TTL_SECONDS), MAX_TTL_SECONDS),
            "client-ref": message.id,
            **self._reports(message),
        }
        dlt = {"entity-id": message.dlt_entity_id, "content-id": message.dlt_template_id}
        form |= {name: value for name, value in dlt.items() if value}
        answer = self.http.request("POST", self._url("/sms/json"), form=form, auth=self._auth())
        return _read(answer, is_delivered=form.get("status-report-req") == "false")

    def check(self) -> base.Health:
        answer = self.http.request("GET", self._url("/account/get-balance"), auth=self._auth())
        if answer.status != 200:
            raise classify_status(answer)
        return answers.balance_health("Vonage", answers.read_object(answer).get("value"), ACCOUNT_CURRENCY)

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the signature over all fields, sorted by name, with ``&`` and ``=`` in their values replaced."""
        secret = self.text("signature_secret")
        if not secret:
            return
        try:
            fields = _fields(request)
        except HookUnreadable as error:
            raise HookForged(str(error)) from None
        given = str(fields.pop("sig", "")).lower()
        signed = "".join(f"&{name}={_signed(fields[name])}" for name in sorted(fields))
        method = self.text("signature_method")
        expected = hmac.new(secret.encode(), signed.encode("utf-8", "replace"), method).hexdigest()
        hooks.require_same(given, expected)
        hooks.require_fresh(str(fields.get("timestamp", "")))

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        fields = _fields(request)
        identity = answers.identity(fields.get("messageId"))
        if identity is None:
            raise HookUnreadable("the delivery report names no message")
        word = str(fields.get("status", ""))
        if word not in _STATUSES:
            return base.HookReply()
        status = _STATUSES[word]
        code, is_bad = answers.number(fields.get("err-code")), status in hooks.NOT_DELIVERED
        receipt = hooks.receipt(
            status,
            vendor="Vonage",
            identity=identity,
            word=word,
            code=code,
            reasons=_REASONS,
            reference=fields.get("client-ref"),
            is_suppressed=is_bad and code in _SUPPRESSED,
            is_opted_out=is_bad and code in _OPTED_OUT,
        )
        return base.HookReply((receipt,))

    def _reports(self, message: base.OutgoingMessage) -> dict[str, str]:
        url = hooks.report_url(message, self.http.allowed_networks)
        if url and len(url) <= MAX_CALLBACK_LENGTH:
            return {"callback": url}
        return {} if url and self.settings["has_account_webhook"] else {"status-report-req": "false"}

    def _url(self, path: str) -> str:
        return self.text("base_url").rstrip("/") + path

    def _auth(self) -> tuple[str, str]:
        return self.text("api_key"), self.text("api_secret")


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    """Judge the answer by the status of each part. If Vonage took only some, the message may have been sent."""
    parts = answers.objects(answers.read_object(answer).get("messages"))
    statuses = [answers.number(part.get("status")) for part in parts]
    refused = [status for status in statuses if status != 0]
    if not parts or None in statuses:
        raise classify_status(answer)
    if refused and len(refused) < len(parts):
        text = f"Vonage accepted only {len(parts) - len(refused)} of the text's {len(parts)} parts"
        raise ProviderError(text, Outcome.UNCLEAR, provider_status=str(refused[0]))
    if refused:
        raise _explain(answer, refused[0])
    identities = [answers.identity(part.get("message-id")) for part in parts]
    if None in identities:
        raise classify_status(answer)
    only = identities[0] if len(identities) == 1 else None
    return base.Result(Outcome.ACCEPTED, only, provider_status="0", is_delivered=is_delivered, price=_price(parts))


def _price(parts: list[dict[str, Any]]) -> base.MessagePrice | None:
    """Return the sum of what Vonage takes for each part, in the euros of its accounts; None if one tells nothing."""
    found = [prices.price(part.get("message-price"), ACCOUNT_CURRENCY) for part in parts]
    amounts = [price.amount for price in found if price]
    return base.MessagePrice(sum(amounts, Decimal()), ACCOUNT_CURRENCY) if len(amounts) == len(parts) else None


def _explain(answer: HttpAnswer, status: int | None) -> ProviderError:
    """Judge a status in our words: Vonage's sentences may quote the recipient. An unlisted one is a refusal too."""
    outcome, words = _ERRORS.get(status or 0, UNLISTED)
    retry_after = retry_after_seconds(answer) if outcome is Outcome.RATE_LIMITED else None
    text = f"Vonage: {words} (status {status})"
    is_suppressed = status == OUT_OF_USE
    return ProviderError(
        text, outcome, provider_status=str(status), retry_after=retry_after, is_suppressed=is_suppressed
    )


def _fields(request: base.HookRequest) -> dict[str, Any]:
    """Read the query, the form or the JSON object that the account sends. A repeated name is unreadable."""
    if request.method == "POST" and hooks.is_json(request):
        return hooks.json_object(request.body)
    lists = hooks.form_lists(request.query) if request.method == "GET" else hooks.posted_lists(request)
    if any(len(values) > 1 for values in lists.values()):
        raise HookUnreadable("a field appears twice")
    return {name: values[0] for name, values in lists.items()}


def _signed(value: object) -> str:
    return re.sub("[&=]", "_", value) if isinstance(value, str) else str(value)
