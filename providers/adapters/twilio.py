"""Twilio: a code as SMS (Messages) or spoken in a call (Calls).

Receipts need a webhook address that Twilio can reach: https, or inside the allowed networks. To verify them we need the
auth token, or the secret of a signing key. If either is missing, we ask for no receipt, and acceptance is the last that
is known. Test credentials send no receipts and cannot be checked.

The tables say whose fault a refusal is. Some depend on where a message goes: the country is not enabled, or Twilio has
no route to the number or will not call it. Then another provider may take the message.

UNCONFIRMED: the numbers 21659 and 30004, which we read as the reference lists them; that the voices know all our
languages. Without a voice in ``SPOKEN`` or in the settings, Twilio's default one speaks.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from xml.sax.saxutils import escape, quoteattr

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import UNLISTED, HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, hooks, languages, prices

# Twilio's bounds of a text, of a call's TwiML (both in characters), and of ValidityPeriod.
MAX_BODY_LENGTH, MAX_TWIML_LENGTH, MAX_VALIDITY_SECONDS = 1600, 4000, 36_000

# The names in <Say> of languages with known voices; the settings add to them.
SPOKEN = {
    "ar": "ar-AE",
    "da": "da-DK",
    "de": "de-DE",
    "en": "en-US",
    "es": "es-ES",
    "fi": "fi-FI",
    "fr": "fr-FR",
    "hi": "hi-IN",
    "it": "it-IT",
    "ja": "ja-JP",
    "ko": "ko-KR",
    "nl": "nl-NL",
    "no": "nb-NO",
    "pl": "pl-PL",
    "pt": "pt-PT",
    "pt-br": "pt-BR",
    "ru": "ru-RU",
    "sv": "sv-SE",
    "tr": "tr-TR",
    "zh": "zh-CN",
}

_MISCONFIGURED = {
    10001: "the account is not active",
    20003: "the credentials are not valid",
    20404: "there is no such account or resource",
    21210: "the sender's number is not verified",
    21212: "the sender is not valid",
    21606: "the sender is not a number of this account",
    21609: "the webhook address is not valid",
    21659: "the sender is not a number of this account",
}
_DECLINED = {
    21214: "the recipient cannot be reached from there",
    21215: "calls to this country are not enabled",
    21216: "the account is not allowed to call this number",
    21408: "messages to this country are not enabled",
    21608: "a trial account can only send to verified numbers",
    21612: "there is no route to the recipient from this sender",
    30003: "the handset cannot be reached",
    30007: "the message was filtered",
    30008: "the carrier had an unknown error",
    30034: "the sender is not registered in the United States",
}
_REFUSED = {
    21211: "the recipient's number is not valid",
    21217: "the recipient's number is not valid",
    21614: "the recipient is not a mobile number",
    30004: "the message was blocked",
    30005: "the recipient's number is unknown or no longer in use",
    30006: "the recipient is a landline or its carrier cannot be reached",
}
_TEMPORARY = {
    21611: "the sender's queue is full",
    21730: "Twilio is under maintenance",
    30001: "the queue overflowed",
}
OPTED_OUT = 21610
_ERRORS: dict[int, tuple[Outcome, str]] = {
    20429: (Outcome.RATE_LIMITED, "there are too many requests"),
    **{code: (Outcome.MISCONFIGURED, words) for code, words in _MISCONFIGURED.items()},
    **{code: (Outcome.DECLINED, words) for code, words in _DECLINED.items()},
    OPTED_OUT: (Outcome.OPTED_OUT, "the recipient has opted out"),
    **{code: (Outcome.REFUSED, words) for code, words in _REFUSED.items()},
    **{code: (Outcome.TEMPORARY, words) for code, words in _TEMPORARY.items()},
}

_MESSAGE_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "partially_delivered": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "read": ReceiptStatus.SUCCESS,
    "undelivered": ReceiptStatus.FAILED,
    "failed": ReceiptStatus.FAILED,
    "canceled": ReceiptStatus.FAILED,
}
_CALL_STATUSES = {
    "ringing": ReceiptStatus.SENT,
    "in-progress": ReceiptStatus.SUCCESS,
    "completed": ReceiptStatus.SUCCESS,
    "busy": ReceiptStatus.FAILED,
    "no-answer": ReceiptStatus.FAILED,
    "failed": ReceiptStatus.FAILED,
    "canceled": ReceiptStatus.FAILED,
}
_WORDS = {
    "busy": "the line was busy",
    "no-answer": "nobody answered",
    "canceled": "it was cancelled",
    "undelivered": "it was not delivered",
    "failed": "it could not be sent",
}
_SID = re.compile(r"(SM|MM|CA)[0-9a-fA-F]{32}")
_PHONE = re.compile(r"\+[0-9]{6,15}")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Adapter(base.Adapter):
    type = "twilio"
    label = _("Twilio")
    channels = ("sms", "voice")
    tells_balance = True
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting("account_sid", _("Account SID"), required=True, help=_("AC and 32 characters.")),
        Setting("api_key_sid", _("API key SID"), help=_("SK and 32 characters. If empty, the auth token is used.")),
        Setting("api_key_secret", _("API key secret"), SettingKind.SECRET),
        Setting(
            "auth_token",
            _("Auth token"),
            SettingKind.SECRET,
            help=_("Verifies delivery reports, even if an API key is used to send. Without it there are no reports."),
        ),
        Setting(
            "signing_key_secret",
            _("Webhook signing secret"),
            SettingKind.SECRET,
            help=_("Only if reports are signed with HMAC_SHA256 and a separate key."),
        ),
        Setting("from_number", _("Sender"), help=_("A number such as +14155552345; for SMS, also a registered name.")),
        Setting("messaging_service_sid", _("Messaging service SID"), help=_("Used for SMS instead of a sender.")),
        Setting(
            "privacy",
            _("Don't store text and number"),
            SettingKind.BOOLEAN,
            default=False,
            help=_("Tells Twilio to discard the text and obscure the recipient (SMS)."),
        ),
        Setting("say_voice", _("Voice"), help=_("Such as Polly.Joanna. Leave empty for the language's default.")),
        Setting(
            "say_languages",
            _("Voice languages"),
            SettingKind.MULTILINE,
            help=_("Only where they differ from the message's language; one per line, such as uz=ru-RU."),
        ),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://api.twilio.com"),
    )
    advanced = ("signing_key_secret", "say_languages")

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors: dict[str, str] = {}
        for name, prefix in (("account_sid", "AC"), ("api_key_sid", "SK"), ("messaging_service_sid", "MG")):
            if values[name] and not re.fullmatch(f"{prefix}[0-9A-Za-z]{{32}}", str(values[name])):
                errors[name] = gettext("enter {prefix} and 32 characters").format(prefix=prefix)
        if bool(values["api_key_sid"]) != bool(values["api_key_secret"]):
            errors["api_key_secret"] = gettext("enter both the API key's SID and its secret")
        elif not values["api_key_sid"] and not values["auth_token"]:
            errors["auth_token"] = gettext("enter an auth token or an API key")
        if not values["from_number"] and not values["messaging_service_sid"]:
            errors["from_number"] = gettext("enter a sender or a messaging service SID")
        if not languages.is_mapping(str(values["say_languages"])):
            errors["say_languages"] = str(languages.WANTED)
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        is_call = message.channel == "voice"
        callback = self._callback(message)
        form = self._call(message) if is_call else self._message(message)
        if callback:
            form["StatusCallback"] = callback
        answer = self.http.request(
            "POST", self._url("Calls.json" if is_call else "Messages.json"), form=form, auth=self._auth()
        )
        return _read(answer, is_delivered=not callback)

    def check(self) -> base.Health:
        answer = self.http.request("GET", self._url("Balance.json"), auth=self._auth())
        data = answers.read_object(answer)
        if answer.status != 200:
            raise _explain(answer, data)
        return answers.balance_health("Twilio", data.get("balance"), data.get("currency"))

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the signature over our public URL with its query and every field, unknown ones included."""
        settings = request.headers.get("x-twilio-webhooks-signature-settings", "")
        secret, digest = self._signing(settings)
        if request.method != "POST" or not secret:
            raise HookForged("the call cannot be verified")
        given = request.headers.get("x-twilio-signature", "")
        fields = _signed_fields(request)
        url = f"{request.url}?{request.query}" if request.query else request.url
        signed = (hmac.new(secret, (variant + fields).encode(), digest).digest() for variant in _port_variants(url))
        if not any(hooks.is_same(given, base64.b64encode(expected).decode()) for expected in signed):
            raise HookForged("the signature is not valid")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        fields = hooks.form_fields(request.body)
        sid = fields.get("CallSid") or fields.get("MessageSid") or fields.get("SmsSid") or ""
        if not _SID.fullmatch(sid):
            raise HookUnreadable("the call names no message")
        is_call = "CallSid" in fields
        word = fields.get("CallStatus" if is_call else "MessageStatus") or fields.get("SmsStatus", "")
        status = (_CALL_STATUSES if is_call else _MESSAGE_STATUSES).get(word)
        if status is None:
            return base.HookReply()
        if status is ReceiptStatus.SUCCESS and fields.get("AnsweredBy", "").startswith("machine"):
            status = ReceiptStatus.SENT
        code = answers.number(fields.get("ErrorCode"))
        receipt = base.Receipt(
            status,
            provider_message_id=sid,
            message_id=hooks.our_id(hooks.form_fields(request.query).get("id")),
            error=_failure(word, code) if status is ReceiptStatus.FAILED else "",
            provider_status=word if code is None else f"{word} {code}",
            is_opted_out=code == OPTED_OUT,
        )
        return base.HookReply((receipt,))

    def _message(self, message: base.OutgoingMessage) -> dict[str, object]:
        if not message.text or len(message.text) > MAX_BODY_LENGTH:
            raise ProviderError(f"a text has 1 to {MAX_BODY_LENGTH} characters", Outcome.NOT_APPLICABLE)
        form: dict[str, object] = {"To": message.to, "Body": message.text}
        service = self.text("messaging_service_sid")
        if message.sender or not service:
            form["From"] = message.sender or self.settings["from_number"]
        else:
            form["MessagingServiceSid"] = service
        form["ValidityPeriod"] = min(max(message.expires_in, 1), MAX_VALIDITY_SECONDS)
        if self.settings["privacy"]:
            form |= {"ContentRetention": "discard", "AddressRetention": "obfuscate"}
        return form

    def _call(self, message: base.OutgoingMessage) -> dict[str, object]:
        """Return the form of a call. It needs a number as its sender, though a country's sender may be a name."""
        sender = message.sender if _PHONE.fullmatch(message.sender) else self.text("from_number")
        if not _PHONE.fullmatch(sender):
            raise ProviderError("a call needs a phone number as the sender", Outcome.MISCONFIGURED)
        twiml = self._twiml(message)
        if len(twiml) > MAX_TWIML_LENGTH:
            raise ProviderError("the text is too long to be spoken", Outcome.NOT_APPLICABLE)
        return {"To": message.to, "From": sender, "Twiml": twiml, "StatusCallbackEvent": "completed"}

    def _twiml(self, message: base.OutgoingMessage) -> str:
        language = languages.choose(message.language, self.text("say_languages"), SPOKEN)
        attributes = {"language": language, "voice": self.text("say_voice")}
        tag = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items() if value)
        said = f'<Pause length="1"/><Say{tag}>{escape(_NOT_XML.sub(" ", message.text))}</Say>'
        return f"<Response>{said * 2}</Response>"

    def _callback(self, message: base.OutgoingMessage) -> str:
        """Return our address for reports; empty if a report could not arrive or not be verified."""
        can_verify = self.settings["auth_token"] or self.settings["signing_key_secret"]
        url = hooks.report_url(message, self.http.allowed_networks)
        return f"{url}?id={message.id}" if url and can_verify else ""

    def _url(self, path: str) -> str:
        root = self.text("base_url").rstrip("/")
        return f"{root}/2010-04-01/Accounts/{self.text('account_sid')}/{path}"

    def _auth(self) -> tuple[str, str]:
        if self.settings["api_key_sid"]:
            return self.text("api_key_sid"), self.text("api_key_secret")
        return self.text("account_sid"), self.text("auth_token")

    def _signing(self, header: str) -> tuple[bytes, str]:
        """Return secret and hash: the signing key's if the newer header is there, else the auth token with SHA-1."""
        if not header:
            return self.text("auth_token").encode(), "sha1"
        parts = dict(part.strip().partition("=")[::2] for part in header.split(","))
        if parts.get("algorithm") != "HMAC_SHA256":
            raise HookForged("the signature's algorithm is not known")
        return self.text("signing_key_secret").encode(), "sha256"


def _read(answer: HttpAnswer, *, is_delivered: bool) -> base.Result:
    data = answers.read_object(answer)
    if not 200 <= answer.status < 300:
        raise _explain(answer, data)
    sid, word = data.get("sid"), data.get("status")
    if not isinstance(sid, str) or not _SID.fullmatch(sid):
        raise classify_status(answer)
    if word in ("failed", "undelivered", "canceled"):
        code = answers.number(data.get("error_code"))
        outcome, _words = _ERRORS.get(code or 0, UNLISTED)
        raise ProviderError(_failure(str(word), code), outcome, provider_status=str(code or word))
    status = word if isinstance(word, str) else ""
    # Twilio writes what it takes with a minus, and mostly knows it only later.
    price = prices.price(data.get("price"), data.get("price_unit"))
    return base.Result(Outcome.ACCEPTED, sid, provider_status=status[:50], is_delivered=is_delivered, price=price)


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refusal by the error's number. Twilio's sentences stay out, because they quote the recipient."""
    code = answers.number(data.get("code"))
    if code is None:
        return classify_status(answer)
    if code in _ERRORS:
        outcome, words = _ERRORS[code]
    else:
        error = classify_status(answer)
        outcome, words = error.outcome, str(error)
    return ProviderError(
        f"Twilio: {words} (error {code})",
        outcome,
        provider_status=str(code),
        retry_after=retry_after_seconds(answer),
    )


def _failure(word: str, code: int | None) -> str:
    words = _ERRORS[code][1] if code in _ERRORS else _WORDS[word]
    return f"Twilio: {words}" if code is None else f"Twilio: {words} (error {code})"


def _signed_fields(request: base.HookRequest) -> str:
    """Join name and value of every field, sorted by name. A repeated name has each different value, sorted."""
    fields = hooks.signed_form(request)
    return "".join(name + value for name in sorted(fields) for value in sorted(set(fields[name])))


def _port_variants(url: str) -> list[str]:
    """Return the URL without and with a port: Twilio has signed either over time."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    bare = re.sub(r":[0-9]+$", "", host)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return [urlunsplit(parts._replace(netloc=netloc)) for netloc in (bare, f"{bare}:{port}")]
