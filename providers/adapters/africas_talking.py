"""Africa's Talking: codes as SMS to Africa's networks by its bulk messaging.

A refusal comes with a success of HTTP too: the number beside the recipient decides. Where the whole request is refused,
the list of recipients is empty and a word tells why. "Sent to 0/1" or a recipient without an id is a refusal as well,
even if nothing tells why. A sender is registered for some networks only, so where it is not, another provider may do
better. A number on a list of the operator's (do not disturb) may be
reached by another provider.

Reports are not signed: only the secret in the webhook address protects them. The address is entered once in the
account, so a setting says whether it is. The same address takes the notices of opt-outs.

A message cannot be given a time to live, and the account's sandbox has an address of its own.

UNCONFIRMED: the numbers of refusals, which are from memory of the vendor's list but 100 to 102; the word of a refused
sender; the fields of an opt-out; the statuses Expired and AbsentSubscriber, which its pages do not name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import UNLISTED, HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status
from providers.parsing import answers, hooks, prices

_TAKEN = frozenset({100, 101, 102})  # processed, sent, queued
IN_BLACKLIST = 406

_ERRORS: dict[int, tuple[Outcome, str]] = {
    401: (Outcome.DECLINED, "the message is held as a risk"),
    402: (Outcome.DECLINED, "the sender is not accepted there"),
    403: (Outcome.REFUSED, "the recipient's number is not valid"),
    404: (Outcome.DECLINED, "this type of number is not supported"),
    405: (Outcome.OUT_OF_FUNDS, "the balance is used up"),
    IN_BLACKLIST: (Outcome.OPTED_OUT, "the recipient has opted out"),
    407: (Outcome.DECLINED, "there is no route to the recipient"),
    409: (Outcome.DECLINED, "the recipient is on the operator's do-not-disturb list"),
    500: (Outcome.TEMPORARY, "Africa's Talking has a server error"),
    501: (Outcome.TEMPORARY, "Africa's Talking has a server error"),
    502: (Outcome.DECLINED, "the operator refused it"),
}
# The words with which a whole request is refused.
_WORDS: dict[str, int] = {"InvalidSenderId": 402, "InsufficientBalance": 405, "RiskHold": 401}
_STATUSES = {
    "Sent": ReceiptStatus.SENT,
    "Submitted": ReceiptStatus.SENT,
    "Buffered": ReceiptStatus.SENT,
    "Success": ReceiptStatus.SUCCESS,
    "Rejected": ReceiptStatus.FAILED,
    "Failed": ReceiptStatus.FAILED,
    "AbsentSubscriber": ReceiptStatus.FAILED,
    "Expired": ReceiptStatus.EXPIRED,
}
_REASONS = {
    "InsufficientCredit": "the recipient's credit is used up",
    "UserIsInactive": "the recipient's number is not active",
    "UserInBlackList": "the recipient has opted out",
    "UserAccountSuspended": "the recipient's number is barred",
    "NotNetworkSubscriber": "the recipient's number is of another network",
    "UserDoesNotExist": "the recipient's number does not exist",
    "DeliveryFailure": "the recipient's network did not deliver it",
    "DoNotDisturbRejection": "the recipient is on the operator's do-not-disturb list",
}
_OPTED_OUT = frozenset({"UserInBlackList"})
_SENT_TO_NOBODY = re.compile(r"sent to 0\b", re.IGNORECASE)
_PHONE = re.compile(r"\+[0-9]{5,15}")


class Adapter(base.Adapter):
    type = "africas_talking"
    label = _("Africa's Talking")
    channels = ("sms",)
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("username", _("Username"), required=True, help=_("The app's username; “sandbox” in the sandbox.")),
        Setting("api_key", _("API key"), SettingKind.SECRET, required=True),
        Setting(
            "sender", _("Sender"), help=_("A registered name or short code. Leave empty for the vendor's default.")
        ),
        Setting(
            "has_webhook",
            _("Delivery reports are set up at the vendor"),
            SettingKind.BOOLEAN,
            default=False,
            help=_(
                "Turn on after entering this provider's webhook URL at the vendor. When off, accepted"
                " messages count as delivered."
            ),
        ),
        Setting(
            "base_url",
            _("API URL"),
            SettingKind.URL,
            default="https://api.africastalking.com",
            help=_("For the sandbox, https://api.sandbox.africastalking.com."),
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        if not re.fullmatch(r"[\x21-\x7e]+", str(values["api_key"])):
            return {"api_key": gettext("the key contains a space or a non-ASCII character")}
        return {}

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        sender = message.sender or self.text("sender")
        form = {
            "username": self.text("username"),
            "to": message.to,
            "message": message.text,
            "bulkSMSMode": 1,
            **({"from": sender} if sender else {}),
        }
        is_reported = bool(self.settings["has_webhook"] and hooks.report_url(message, self.http.allowed_networks))
        answer = self.http.request("POST", self._url("messaging"), headers=self._headers(), form=form)
        return _read(answer, is_delivered=not is_reported)

    def check(self) -> base.Health:
        path = f"user?{urlencode({'username': self.text('username')})}"
        answer = self.http.request("GET", self._url(path), headers=self._headers())
        if answer.status != 200:
            raise classify_status(answer)
        account = answers.read_object(answer).get("UserData")
        balance = account.get("balance") if isinstance(account, dict) else None
        currency, amount = _money(balance)
        return answers.balance_health("Africa's Talking", amount, currency)

    def verify_hook(self, request: base.HookRequest) -> None:
        if request.method != "POST" or not self.settings["has_webhook"]:
            raise HookForged("no reports are set up")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one report, or the notice of an opt-out, which names a phone and a sender and no message."""
        fields = hooks.posted_fields(request)
        if "id" not in fields and {"phoneNumber", "senderId"} <= fields.keys():
            phone = hooks.with_plus(str(fields["phoneNumber"]))
            is_phone = bool(_PHONE.fullmatch(phone))
            return base.HookReply((base.Consent(phone, is_given=False),) if is_phone else ())
        identity = answers.identity(fields.get("id"))
        if identity is None:
            raise HookUnreadable("the report names no message")
        word = str(fields.get("status", ""))
        if word not in _STATUSES:
            return base.HookReply()
        return base.HookReply((_receipt(word, identity, str(fields.get("failureReason", ""))),))

    def _url(self, path: str) -> str:
        return f"{self.text('base_url').rstrip('/')}/version1/{path}"

    def _headers(self) -> dict[str, str]:
        return {"apiKey": self.text("api_key"), "Accept": "application/json"}


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    if not 200 <= answer.status < 300:
        raise classify_status(answer)
    data = answers.read_object(answer).get("SMSMessageData")
    if not isinstance(data, dict):
        raise classify_status(answer)
    words = str(data.get("Message"))
    told = next(iter(answers.objects(data.get("Recipients"))), {})
    code = answers.number(told.get("statusCode")) or _WORDS.get(words)
    identity = answers.identity(told.get("messageId"))
    is_sent = identity not in (None, "None") and not _SENT_TO_NOBODY.search(words)
    if code not in _TAKEN and (code or not is_sent):
        raise _explain(code)
    if code is None or not is_sent:
        raise classify_status(answer)
    currency, amount = _money(told.get("cost"))
    return base.Result(
        Outcome.ACCEPTED,
        identity,
        provider_status=str(code),
        is_delivered=is_delivered,
        price=prices.price(amount, currency),
    )


def _explain(code: int | None) -> ProviderError:
    outcome, words = _ERRORS.get(code or 0, UNLISTED)
    text = f"Africa's Talking: {words} (status {code or 'missing'})"
    return ProviderError(text, outcome, provider_status=str(code or ""))


def _receipt(word: str, identity: str, reason: str) -> base.Receipt:
    status = _STATUSES[word]
    is_bad = status in hooks.NOT_DELIVERED
    known = reason if is_bad and reason in _REASONS else ""
    words = _REASONS.get(known, "it was not delivered")
    return base.Receipt(
        status,
        provider_message_id=identity,
        error=f"Africa's Talking: {words} ({known or word})" if is_bad else "",
        provider_status=f"{word} {known}".rstrip(),
        is_opted_out=known in _OPTED_OUT,
    )


def _money(value: Any) -> tuple[str | None, str | None]:
    """Return currency and amount of a text such as ``KES 0.8000``; None for both of anything else."""
    found = re.fullmatch(r"([A-Z]{3}) (-?[0-9.]{1,20})", value) if isinstance(value, str) else None
    return (found[1], found[2]) if found else (None, None)
