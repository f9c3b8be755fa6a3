"""Telegram's Gateway: codes of digits to phone numbers, at a price for each delivered message.

Telegram writes the text; we choose the digits. The answer's ``ok`` decides, whatever the HTTP status. The table of
errors says whose fault each is: only those of the phone number are the recipient's. The limit of FLOOD_WAIT is that of
one number: Telegram's list of errors counts calls "with the given input parameters", and names texts to one phone.

UNCONFIRMED: the HTTP status that goes with ``"ok": false``; all error words but ACCESS_TOKEN_INVALID, the only one that
the vendor names. The others are known from clients, so we match whole families by their beginnings. That costs are in
US dollars is UNCONFIRMED too.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import UNLISTED, HookUnreadable, ProviderError
from providers.http.client import MAX_RETRY_AFTER_SECONDS, HttpAnswer, classify_status
from providers.parsing import answers, hooks, prices

MIN_TTL_SECONDS, MAX_TTL_SECONDS = 30, 3600  # Telegram's bounds of ttl
ACCOUNT_CURRENCY = "USD"  # of the balance that codes are paid from
MAX_CALLBACK_BYTES = 256  # Telegram's bound of a callback URL

_CODE = re.compile(r"[0-9]{4,8}")
_TOKEN = re.compile(r"[\x21-\x7e]+")
_USERNAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,31}")
_FLOOD = re.compile(r"[A-Z_]*FLOOD(?:_[A-Z]+)*(?:_([0-9]{1,9}))?")
_ERROR = re.compile(r"[A-Z_]{1,64}")  # no digits: what is quoted must not hold a code

# The meaning of an error by its beginning; the first match counts.
_ERRORS = (
    ("ACCESS_TOKEN_", Outcome.MISCONFIGURED, "rejects the token"),
    ("BALANCE_NOT_ENOUGH", Outcome.OUT_OF_FUNDS, "reports that the balance is used up"),
    ("PHONE_NUMBER_NOT_FOUND", Outcome.NO_ACCOUNT, "finds no account with this number"),
    ("PHONE_NUMBER_", Outcome.REFUSED, "rejects this number"),
    ("SENDER_", Outcome.MISCONFIGURED, "rejects the sender's channel"),
    ("CODE_", Outcome.MISCONFIGURED, "rejects the form of the code"),
    ("TTL_", Outcome.MISCONFIGURED, "rejects the time to live"),
    ("PAYLOAD_", Outcome.MISCONFIGURED, "rejects the payload"),
    ("CALLBACK_URL_", Outcome.MISCONFIGURED, "rejects the callback URL"),
    ("REQUEST_ID_", Outcome.MISCONFIGURED, "rejects the request id"),
    ("MESSAGE_ALREADY_", Outcome.UNCLEAR, "says that it has a message for this number already"),
    ("UNKNOWN_METHOD", Outcome.MISCONFIGURED, "does not know the method; is the base URL right?"),
)

_STATUSES = {
    "sent": (ReceiptStatus.SENT, ""),
    "delivered": (ReceiptStatus.SUCCESS, ""),
    "read": (ReceiptStatus.SUCCESS, ""),
    "expired": (ReceiptStatus.EXPIRED, "Telegram could not deliver it in time"),
    "revoked": (ReceiptStatus.FAILED, "the message was revoked"),
}


class Adapter(base.Adapter):
    type = "telegram_gateway"
    label = _("Telegram Gateway")
    channels = ("messenger_a",)
    declared = (
        Setting("token", _("Access token"), SettingKind.SECRET, required=True),
        Setting(
            "sender_username",
            _("Sender's channel"),
            help=_(
                "The username of a verified channel of the token's account, without @. Leave empty for"
                " Telegram's default."
            ),
        ),
        Setting("base_url", _("Base URL"), SettingKind.URL, default="https://gatewayapi.telegram.org/"),
    )
    # Telegram gives up when the ttl is over, and reports that. Most codes live at most ten minutes. Five more are for
    # the report, which Telegram repeats with growing pauses until we take it.
    receipt_window_seconds = 900

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not _TOKEN.fullmatch(str(values["token"])):
            errors["token"] = gettext("the token contains a space or a non-ASCII character")
        if values["sender_username"] and not _USERNAME.fullmatch(str(values["sender_username"])):
            errors["sender_username"] = gettext("enter a username without @; only letters, digits and _")
        if "?" in str(values["base_url"]):
            errors["base_url"] = gettext("the base URL cannot have a query string")
        return errors

    @classmethod
    def carries(cls, code: str) -> bool:
        return _CODE.fullmatch(code) is not None

    def send(self, message: base.OutgoingMessage) -> base.Result:
        if not self.carries(message.code):
            raise ProviderError("only codes of 4 to 8 digits can be sent", Outcome.NOT_APPLICABLE)
        if message.expires_in < MIN_TTL_SECONDS:
            # With Telegram's smallest ttl the code could arrive after its end.
            raise ProviderError("the code expires in less than 30 seconds", Outcome.NOT_APPLICABLE)
        fields: dict[str, object] = {
            "phone_number": message.to,
            "code": message.code,
            "ttl": min(message.expires_in, MAX_TTL_SECONDS),
            "payload": str(message.id),
        }
        if self.settings["sender_username"]:
            fields["sender_username"] = self.settings["sender_username"]
        reports_back = _is_callback(message.hook_url)
        if reports_back:
            fields["callback_url"] = message.hook_url
        answer, found = self._ask("sendVerificationMessage", fields)
        if found["ok"] is not True:
            raise _refusal(found.get("error"))
        return _accepted(answer, found.get("result"), reports_back=reports_back)

    def check(self) -> base.Health:
        """Ask for the status of a request that does not exist.

        No method tells the balance, and ``checkSendAbility`` charges. ``checkVerificationStatus`` sends nothing, and no
        page says that it charges. A client's tests against the real service show that it answers REQUEST_ID_INVALID to
        a good token. It is UNCONFIRMED that it judges the token before the id.
        """
        _, found = self._ask("checkVerificationStatus", {"request_id": "0"})
        error = found.get("error")
        if found["ok"] is not True and error not in ("REQUEST_ID_INVALID", "REQUEST_ID_REQUIRED"):
            raise _refusal(error)
        return base.Health(True, "Telegram accepts the token. Reading the balance would cost money.")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the HMAC-SHA256 of time and body. Its key is the SHA-256 of the token.

        It is UNCONFIRMED that a repeated report carries a new time. With the old time we refuse it after 300 seconds.
        """
        timestamp = request.headers.get("x-request-timestamp", "")
        given = request.headers.get("x-request-signature", "")
        key = hashlib.sha256(self.text("token").encode()).digest()
        signed = timestamp.encode("utf-8", "replace") + b"\n" + request.body
        expected = hmac.new(key, signed, hashlib.sha256).hexdigest()
        hooks.require_same(given, expected)
        hooks.require_fresh(timestamp)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one RequestStatus. We answer exactly 200: Telegram takes any other 2xx for a failure."""
        report = hooks.json_object(request.body)
        request_id = _request_id(report)
        if request_id is None:
            raise HookUnreadable("the report has no request_id")
        word = _delivery_status(report)
        if word not in _STATUSES:
            return base.HookReply()
        status, error = _STATUSES[word]
        receipt = base.Receipt(
            status, request_id, hooks.our_id(report.get("payload")), error, word, price=_price(report)
        )
        return base.HookReply((receipt,), dedup_key=f"{request_id}:{word}")

    def _ask(self, method: str, fields: Mapping[str, object]) -> tuple[HttpAnswer, dict[str, Any]]:
        """Return an answer and its JSON, whose ``ok`` is a boolean. Any other answer is judged by its HTTP status."""
        answer = self.http.request(
            "POST",
            f"{self.text('base_url').rstrip('/')}/{method}",
            headers={"Authorization": f"Bearer {self.text('token')}"},
            json=fields,
        )
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("ok"), bool):
            raise classify_status(answer)
        return answer, found


def _accepted(answer: HttpAnswer, result: object, *, reports_back: bool) -> base.Result:
    request_id = _request_id(result)
    if request_id is None:
        raise ProviderError("the answer lacks the request id", Outcome.UNCLEAR, provider_status=str(answer.status))
    word = _delivery_status(result)
    return base.Result(
        Outcome.ACCEPTED,
        request_id,
        provider_status=word if word in _STATUSES else "",
        is_delivered=not reports_back,
        price=_price(result),
    )


def _refusal(error: object) -> ProviderError:
    """Judge an error by its word."""
    text = error if isinstance(error, str) else ""
    flood = _FLOOD.fullmatch(text)
    if flood:
        seconds = min(float(flood[1]), MAX_RETRY_AFTER_SECONDS) if flood[1] else None
        return ProviderError(
            "Telegram wants a pause before the next code to this number",
            Outcome.RECIPIENT_LIMITED,
            provider_status="FLOOD_WAIT",
            retry_after=seconds,
        )
    word = text if _ERROR.fullmatch(text) else ""
    for start, outcome, sentence in _ERRORS:
        if text.startswith(start):
            return ProviderError(f"Telegram {sentence}", outcome, provider_status=word or start.rstrip("_"))
    outcome, words = UNLISTED
    return ProviderError(f"Telegram rejects it for {words}", outcome, provider_status=word)


def _is_callback(url: str | None) -> bool:
    return url is not None and url.startswith("https://") and len(url.encode()) <= MAX_CALLBACK_BYTES


def _request_id(status: object) -> str | None:
    return answers.identity(status.get("request_id")) if isinstance(status, dict) else None


def _price(status: object) -> base.MessagePrice | None:
    """Return what the request costs; nothing of it where Telegram has paid it back."""
    if not isinstance(status, dict):
        return None
    return prices.price(0 if status.get("is_refunded") is True else status.get("request_cost"), ACCOUNT_CURRENCY)


def _delivery_status(status: object) -> str:
    """Return Telegram's word for the status of delivery; empty if there is none."""
    delivery = status.get("delivery_status") if isinstance(status, dict) else None
    word = delivery.get("status") if isinstance(delivery, dict) else None
    return word if isinstance(word, str) else ""
