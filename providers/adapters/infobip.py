"""Infobip: codes as SMS by its API of version 3.

Each account has an address of its own. A refusal comes with HTTP 200 as well: the status of the message decides. The
id of the message is ours, and is known before the call. Infobip finds the alphabet of a text by itself.

The tables say whose fault a refusal is. If the account lacks a network or a route, another provider may take the
message.

Reports are not signed: only the secret in the webhook address protects them.

The numbers of statuses and errors are those of Infobip's help pages. UNCONFIRMED: the shape of the balance; that
Infobip drops a message whose id it has seen. If it says so, the first message may have been sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import UNLISTED, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, hooks, prices

MAX_VALIDITY_SECONDS = 48 * 3600  # Infobip's bound of validityPeriod

# The groups of statuses. A status of any other group makes no sense to us.
_TAKEN = frozenset({"ACCEPTED", "PENDING", "DELIVERED"})
_NOT_TAKEN = frozenset({"REJECTED", "UNDELIVERABLE", "EXPIRED"})
_RECEIPTS = {
    "DELIVERED": ReceiptStatus.SUCCESS,
    "UNDELIVERABLE": ReceiptStatus.FAILED,
    "REJECTED": ReceiptStatus.FAILED,
    "EXPIRED": ReceiptStatus.EXPIRED,
}

_REFUSALS: dict[int, tuple[Outcome, str]] = {
    6: (Outcome.DECLINED, "the recipient's network is not enabled for the account"),
    8: (Outcome.REFUSED, "the recipient's number is not valid"),
    10: (Outcome.OPTED_OUT, "the recipient has opted out"),
    11: (Outcome.DECLINED, "the sender is not accepted there"),
    12: (Outcome.OUT_OF_FUNDS, "the balance is used up"),
    13: (Outcome.MISCONFIGURED, "the sender is blocked"),
    14: (Outcome.OPTED_OUT, "the recipient's number is blocked"),
    17: (Outcome.OUT_OF_FUNDS, "the prepaid package has expired"),
    18: (Outcome.DECLINED, "a trial account can only send to its registered number"),
    19: (Outcome.DECLINED, "the account has no route to the recipient"),
    20: (Outcome.RECIPIENT_LIMITED, "the recipient got too many messages"),
    21: (Outcome.TEMPORARY, "Infobip has a server error"),
    23: (Outcome.UNCLEAR, "a message with this id exists already"),
    24: (Outcome.MISCONFIGURED, "the message is malformed"),
    25: (Outcome.MISCONFIGURED, "the message is too long"),
    51: (Outcome.MISCONFIGURED, "the recipient is missing"),
    52: (Outcome.REFUSED, "the recipient's number is not valid"),
}
_OPTED_OUT_STATUSES = frozenset({10, 14})

# The reasons for which a message under way was not delivered. Error numbers are not status numbers.
_ERRORS = {
    1: "the recipient's number is unknown",
    5: "the recipient's number is unknown",
    6: "the handset cannot be reached",
    9: "the recipient's number is not valid",
    11: "the recipient's number cannot receive SMS",
    13: "the recipient's number is barred",
    27: "the handset cannot be reached",
    31: "the handset is busy",
    2049: "the recipient's number is blocked",
    2050: "the recipient has opted out",
    2052: "the recipient's number is blocked",
    2053: "the sender is blocked",
    4103: "the recipient got too many messages",
    4104: "the recipient got too many messages",
}
_OPTED_OUT_ERRORS = frozenset({2049, 2050, 2052})

_REQUEST_ERRORS: dict[str, tuple[Outcome, str]] = {
    "E400": (Outcome.DECLINED, "the request was not understood"),
    "E401": (Outcome.MISCONFIGURED, "the API key is not accepted"),
    "E403": (Outcome.MISCONFIGURED, "the API key lacks permission to send messages"),
    "E429": (Outcome.RATE_LIMITED, "there are too many requests"),
    "E500": (Outcome.TEMPORARY, "Infobip has a server error"),
    "UNAUTHORIZED": (Outcome.MISCONFIGURED, "the API key is not accepted"),
}
_WORD = re.compile(r"[A-Z][A-Z0-9_]{0,59}")


class Adapter(base.Adapter):
    type = "infobip"
    label = _("Infobip")
    channels = ("sms",)
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting(
            "base_url",
            _("API URL"),
            SettingKind.URL,
            required=True,
            help=_("Your account's base URL, such as https://xyz123.api.infobip.com."),
        ),
        Setting("api_key", _("API key"), SettingKind.SECRET, required=True),
        Setting("sender", _("Sender"), required=True, help=_("A number such as 14155552345, or a name.")),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[\x21-\x7e]+", str(values["api_key"])):
            errors["api_key"] = gettext("the key contains a space or a non-ASCII character")
        if "?" in str(values["base_url"]):
            errors["base_url"] = gettext("enter the URL without a query string")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        base.require_text(message)
        url = hooks.report_url(message, self.http.allowed_networks)
        body = {"messages": [self._message(message, url)], "options": {"includeSmsCountInResponse": True}}
        answer = self.http.request("POST", self._url("/sms/3/messages"), headers=self._headers(), json=body)
        return _read(answer, is_delivered=not url)

    def check(self) -> base.Health:
        answer = self.http.request("GET", self._url("/account/1/balance"), headers=self._headers())
        data = answers.read_object(answer)
        if answer.status != 200:
            raise _explain(answer, data)
        return answers.balance_health("Infobip", data.get("balance"), data.get("currency"))

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read the reports of any number of messages. An unreadable one leaves the others alone."""
        results = hooks.json_object(request.body).get("results")
        if not isinstance(results, list):
            raise HookUnreadable("the call has no results")
        found = (_receipt(result) for result in answers.objects(results))
        return base.HookReply(tuple(receipt for receipt in found if receipt is not None))

    def _message(self, message: base.OutgoingMessage, report_url: str) -> dict[str, Any]:
        seconds = min(max(message.expires_in, 1), MAX_VALIDITY_SECONDS)
        options: dict[str, Any] = {"validityPeriod": {"amount": seconds, "timeUnit": "SECONDS"}}
        if message.dlt_entity_id:
            dlt = {"principalEntityId": message.dlt_entity_id, "contentTemplateId": message.dlt_template_id}
            options["regional"] = {"indiaDlt": {name: value for name, value in dlt.items() if value}}
        found: dict[str, Any] = {
            "sender": (message.sender or self.text("sender")).removeprefix("+"),
            "destinations": [{"to": message.to.removeprefix("+"), "messageId": str(message.id)}],
            "content": {"text": message.text},
            "options": options,
        }
        if report_url:
            found["webhooks"] = {
                "delivery": {"url": report_url, "intermediateReport": False, "notify": True},
                "contentType": "application/json",
                "callbackData": str(message.id),
            }
        return found

    def _url(self, path: str) -> str:
        return self.text("base_url").rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"App {self.text('api_key')}", "Accept": "application/json"}


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    data = answers.read_object(answer)
    if not 200 <= answer.status < 300:
        raise _explain(answer, data)
    sent = next(iter(answers.objects(data.get("messages"))), {})
    status = _part(sent, "status")
    group, identity = str(status.get("groupName")), answers.identity(sent.get("messageId"))
    if group in _NOT_TAKEN:
        raise _refusal(answer, status)
    if group not in _TAKEN or identity is None:
        raise classify_status(answer)
    return base.Result(
        Outcome.ACCEPTED, identity, provider_status=_vendor_word(status.get("name")), is_delivered=is_delivered
    )


def _refusal(answer: HttpAnswer, status: Mapping[str, Any]) -> ProviderError:
    """Judge a refusal by its status. An unlisted refusal has not been sent either."""
    code = answers.number(status.get("id"))
    outcome, words = _REFUSALS.get(code or 0, UNLISTED)
    is_limited = outcome in (Outcome.RATE_LIMITED, Outcome.RECIPIENT_LIMITED)
    retry_after = retry_after_seconds(answer) if is_limited else None
    text = f"Infobip: {words} ({_vendor_word(status.get('name')) or 'status'} {code})"
    return ProviderError(text, outcome, provider_status=str(code), retry_after=retry_after)


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refused request by the error's word, of this version of the API or an earlier one.

    Only the name of a property tells that the recipient is wrong, because Infobip's sentences may quote the number.
    """
    word = _vendor_word(data.get("errorCode")) or _vendor_word(
        _part(data, "requestError", "serviceException").get("messageId")
    )
    if word not in _REQUEST_ERRORS:
        error = classify_status(answer)
        return ProviderError(
            str(error), error.outcome, provider_status=word or error.provider_status, retry_after=error.retry_after
        )
    outcome, words = _REQUEST_ERRORS[word]
    violated = [str(violation.get("property", "")) for violation in answers.objects(data.get("violations"))]
    if word == "E400" and any("destinations" in name for name in violated):
        outcome, words = Outcome.REFUSED, "the recipient's number is not valid"
    retry_after = retry_after_seconds(answer)
    return ProviderError(f"Infobip: {words} ({word})", outcome, provider_status=word, retry_after=retry_after)


def _receipt(result: Mapping[str, Any]) -> base.Receipt | None:
    status, error = _part(result, "status"), _part(result, "error")
    identity, group = answers.identity(result.get("messageId")), status.get("groupName")
    name = _vendor_word(status.get("name"))
    ours = ReceiptStatus.SENT if name == "PENDING_ENROUTE" else _RECEIPTS.get(str(group))
    if identity is None or ours is None:
        return None
    is_bad = ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED)
    reason, code = answers.number(status.get("id")), answers.number(error.get("id"))
    return base.Receipt(
        ours,
        provider_message_id=identity,
        message_id=hooks.our_id(result.get("callbackData")),
        error=_failure(reason, code, _vendor_word(error.get("name")) or name) if is_bad else "",
        provider_status=" ".join(word for word in (name, _vendor_word(error.get("name")) if is_bad else "") if word),
        is_opted_out=is_bad and (reason in _OPTED_OUT_STATUSES or code in _OPTED_OUT_ERRORS),
        price=_price(result),
    )


def _price(result: Mapping[str, Any]) -> base.MessagePrice | None:
    """Return the price of all SMS of the message."""
    price, number = _part(result, "price"), answers.number(result.get("messageCount"))
    return prices.price(price.get("pricePerMessage"), price.get("currency"), times=number) if number else None


def _failure(status: int | None, code: int | None, name: str) -> str:
    if code in _ERRORS:
        return f"Infobip: {_ERRORS[code]} (error {code})"
    if status in _REFUSALS:
        return f"Infobip: {_REFUSALS[status][1]} (status {status})"
    return f"Infobip: it was not delivered ({name or 'no reason given'})"


def _part(data: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """Return the object at a path of names; empty if there is none."""
    found: Any = data
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _vendor_word(value: object) -> str:
    """Return one of Infobip's words, which hold nothing of a message; empty for anything else."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
