"""WhatsApp by its Cloud API: an approved template of the category ``authentication`` with the code in it.

Set the template's ``message_send_ttl_seconds`` to no more than a session of the project lives, by default 180, when you
create it: its default of 600 would deliver codes that are no longer valid. Acceptance says nothing about the recipient.
If they have no WhatsApp, a failed status with error 131026 comes later. Without an app secret no status calls come, so
acceptance is the last that is known.

The signature of a status call covers its body but no time. A repeated call is harmless: a status that a message already
has changes nothing.

The tables say whose fault a refusal is. Those of the account, its number, token and templates are ours. What the
recipient wants or Meta withholds from them is theirs. A country that the account may not write to is nobody's fault.

A parameter that is wrong may be the recipient's number, so it is nobody's fault.

UNCONFIRMED: the HTTP status of each error, so we read the error's own number first; the numbers 133000 to 133999, which
we take for configuration; ``message_status`` in the answer, which we only keep for the log.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, ReceiptStatus, Setting, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpAnswer, classify_status, retry_after_seconds
from providers.parsing import answers, hooks, languages

MAX_CODE_LENGTH = 15  # characters: Meta's bound of a code in a template
PAIR_PAUSE_SECONDS = 6.0  # Meta allows about one message to a user in this time
NO_ACCOUNT, OPTED_OUT, PAIR_LIMIT = 131026, 131050, 131056
MAX_TITLE_LENGTH = 100  # characters of Meta's words that we keep for the log

_MISCONFIGURED = {
    0: "the access token does not work",
    3: "the access token lacks a permission",
    10: "the access token lacks a permission",
    190: "the access token has expired or was revoked",
    368: "the account is restricted",
    131005: "access is denied",
    131008: "a parameter is missing",
    131031: "the account is locked",
    131037: "the display name is not approved",
    131045: "the phone number is not registered (certificate)",
    131047: "only a template may be sent",
    131048: "the number has reached its spam limit",
    131064: "the number has reached its limit after violations",
    132000: "the template needs other parameters",
    132001: "there is no such template in this language",
    132005: "the template is too long",
    132007: "the template violates a policy",
    132008: "the template does not accept this value",
    132012: "the template needs parameters in another format",
    132015: "the template is paused",
    132016: "the template is disabled",
    133016: "the number was registered too often",
}
_REFUSED = {
    130472: "the recipient is in an experiment without such messages",
    131021: "the recipient is the sender",
    131049: "the message was withheld from this recipient",
    131062: "the recipient is not a phone number",
}
_RATE_LIMITED = {
    4: "the app calls too often",
    80007: "the account calls too often",
    130429: "the number sends too fast",
}
_TEMPORARY = {
    131000: "Meta has a server error",
    131016: "the service is not available",
    131057: "the account is in maintenance",
    135000: "Meta has a server error",
}
_ERRORS: dict[int, tuple[Outcome, str]] = {
    NO_ACCOUNT: (Outcome.NO_ACCOUNT, "the recipient cannot be reached on WhatsApp"),
    OPTED_OUT: (Outcome.OPTED_OUT, "the recipient has opted out"),
    131042: (Outcome.OUT_OF_FUNDS, "there is a problem with the payment"),
    PAIR_LIMIT: (Outcome.RECIPIENT_LIMITED, "this recipient got a message a moment ago"),
    100: (Outcome.DECLINED, "a parameter, the recipient or the phone number id is wrong"),
    130497: (Outcome.DECLINED, "the account is not allowed to send to this country"),
    131009: (Outcome.DECLINED, "a parameter or the recipient is wrong"),
    131030: (Outcome.DECLINED, "a test number can only send to its listed recipients"),
    **{code: (Outcome.MISCONFIGURED, words) for code, words in _MISCONFIGURED.items()},
    **{code: (Outcome.REFUSED, words) for code, words in _REFUSED.items()},
    **{code: (Outcome.RATE_LIMITED, words) for code, words in _RATE_LIMITED.items()},
    **{code: (Outcome.TEMPORARY, words) for code, words in _TEMPORARY.items()},
}
_ERROR_RANGES = (
    (range(200, 300), "the access token lacks a permission"),
    (range(132000, 133000), "the template does not work"),
    (range(133000, 134000), "the number is not registered"),
)

_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "read": ReceiptStatus.SUCCESS,  # may come without delivered
    "played": ReceiptStatus.SUCCESS,
    "failed": ReceiptStatus.FAILED,
}
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class Adapter(base.Adapter):
    type = "whatsapp_cloud"
    label = _("WhatsApp (Cloud API)")
    channels = ("messenger_b",)
    receipt_window_seconds = 240  # the template's usual 180 and a minute for the call
    declared = (
        Setting(
            "access_token",
            _("Access token"),
            SettingKind.SECRET,
            required=True,
            help=_("From a system user; a personal token expires."),
        ),
        Setting("phone_number_id", _("Phone number ID"), required=True, help=_("Digits; not the phone number itself.")),
        Setting(
            "template_name",
            _("Template"),
            required=True,
            help=_(
                "An approved template of the category authentication. Its message_send_ttl_seconds must not"
                " exceed the session lifetime (default 180)."
            ),
        ),
        Setting(
            "template_languages",
            _("Template languages"),
            SettingKind.MULTILINE,
            help=_("Only where they differ from the message's language; one per line, such as en=en_US."),
        ),
        Setting(
            "template_language",
            _("Language for all other messages"),
            help=_("Such as en_US. Leave empty for the message's language."),
        ),
        Setting(
            "app_secret",
            _("App secret"),
            SettingKind.SECRET,
            help=_(
                "Verifies status webhooks. Without it, there are no delivery reports and accepted "
                "messages count as delivered."
            ),
        ),
        Setting(
            "verify_token",
            _("Verify token"),
            SettingKind.SECRET,
            help=_("Any word you choose; enter the same one at Meta next to the webhook URL."),
        ),
        Setting("api_version", _("API version"), default="v23.0"),
        Setting("base_url", _("API URL"), SettingKind.URL, default="https://graph.facebook.com"),
    )
    advanced = ("template_languages", "api_version")

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not re.fullmatch(r"[0-9]{1,32}", str(values["phone_number_id"])):
            errors["phone_number_id"] = gettext("use digits only")
        if not re.fullmatch(r"v[0-9]{1,3}\.[0-9]{1,2}", str(values["api_version"])):
            errors["api_version"] = gettext("enter a version such as v23.0")
        if not languages.is_mapping(str(values["template_languages"])):
            errors["template_languages"] = str(languages.WANTED)
        if bool(values["app_secret"]) != bool(values["verify_token"]):
            errors["verify_token"] = gettext("enter both the app secret and the verify token")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        if len(message.code) > MAX_CODE_LENGTH:
            text = f"a template takes a code of at most {MAX_CODE_LENGTH} characters"
            raise ProviderError(text, Outcome.NOT_APPLICABLE)
        answer = self.http.request("POST", self._url("/messages"), headers=self._headers(), json=self._body(message))
        data = answers.read_object(answer)
        if not 200 <= answer.status < 300:
            raise _explain(answer, data)
        sent = _first(data.get("messages"))
        identity = answers.identity(sent.get("id"))
        if identity is None:
            raise classify_status(answer)
        return base.Result(
            Outcome.ACCEPTED,
            identity,
            provider_status=str(sent.get("message_status", ""))[:MAX_TITLE_LENGTH],
            is_delivered=not self.settings["app_secret"],
        )

    def check(self) -> base.Health:
        """Ask for the number without naming fields, whose names are UNCONFIRMED. We do not ask for the template."""
        answer = self.http.request("GET", self._url(), headers=self._headers())
        data = answers.read_object(answer)
        if answer.status != 200:
            raise _explain(answer, data)
        if str(data.get("id")) != self.settings["phone_number_id"]:
            return base.Health(False, "The API answered, but not about this phone number.")
        quality = str(data.get("quality_rating", ""))
        quality_text = f"; its quality is {quality.lower()}" if re.fullmatch(r"[A-Z_]{1,20}", quality) else ""
        return base.Health(True, f"Token and phone number work{quality_text}. Meta offers no check of the template.")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the call. A GET is the hand-shake and shows the verify token; any other is signed over its raw body."""
        if request.method == "GET":
            self._verify_handshake(hooks.query_fields(request.query))
            return
        secret = self.text("app_secret")
        if not secret:
            raise HookForged("no app secret is set")
        given = request.headers.get("x-hub-signature-256", "").removeprefix("sha256=")
        expected = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
        hooks.require_same(given, expected)

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        if request.method == "GET":
            challenge = hooks.query_fields(request.query).get("hub.challenge", "")
            if not _CHALLENGE.fullmatch(challenge):
                raise HookUnreadable("the handshake has no challenge")
            return base.HookReply(body=challenge.encode())
        data = hooks.json_object(request.body)
        found = (_receipt(status) for status in _statuses(data, self.text("phone_number_id")))
        return base.HookReply(tuple(receipt for receipt in found if receipt is not None))

    def _verify_handshake(self, query: Mapping[str, str]) -> None:
        token = self.text("verify_token")
        is_right = hooks.is_same(query.get("hub.verify_token", ""), token)
        if not token or not is_right or query.get("hub.mode") != "subscribe":
            raise HookForged("the handshake does not show the verify token")

    def _url(self, path: str = "") -> str:
        root = self.text("base_url").rstrip("/")
        return f"{root}/{self.text('api_version')}/{self.text('phone_number_id')}{path}"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text('access_token')}"}

    def _body(self, message: base.OutgoingMessage) -> dict[str, object]:
        """Return the body, with the code twice: in the text and in the button that copies it, which Meta calls url."""
        code = [{"type": "text", "text": message.code}]
        return {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": re.sub(r"[^0-9]", "", message.to),
            "type": "template",
            "biz_opaque_callback_data": str(message.id),
            "template": {
                "name": self.settings["template_name"],
                "language": {"code": self._language(message.language)},
                "components": [
                    {"type": "body", "parameters": code},
                    {"type": "button", "sub_type": "url", "index": "0", "parameters": code},
                ],
            },
        }

    def _language(self, language: str) -> str:
        listed = languages.choose(language, self.text("template_languages"))
        return listed or self.text("template_language") or language.replace("-", "_")


def _explain(answer: HttpAnswer, data: Mapping[str, Any]) -> ProviderError:
    """Judge a refusal by the error's number. Meta's sentences stay out, because they may quote the recipient."""
    error = data.get("error")
    code = _code(error)
    if code is None or not isinstance(error, dict):
        return classify_status(answer)
    outcome, words = _find(code) or _default(answer, is_transient=error.get("is_transient") is True)
    retry_after = retry_after_seconds(answer)
    if code == PAIR_LIMIT and retry_after is None:
        retry_after = PAIR_PAUSE_SECONDS
    return ProviderError(
        f"WhatsApp: {words} (error {code})", outcome, provider_status=str(code), retry_after=retry_after
    )


def _find(code: int) -> tuple[Outcome, str] | None:
    ranged = ((Outcome.MISCONFIGURED, words) for numbers, words in _ERROR_RANGES if code in numbers)
    return _ERRORS.get(code) or next(ranged, None)


def _default(answer: HttpAnswer, *, is_transient: bool) -> tuple[Outcome, str]:
    if is_transient and answer.status != 429:
        return Outcome.TEMPORARY, "a temporary error"
    error = classify_status(answer)
    return error.outcome, str(error)


def _code(error: object) -> int | None:
    """Return the error's number, which has been seen as a string too; None if there is none."""
    try:
        return int(error["code"])  # type: ignore[index]
    except (TypeError, ValueError, LookupError, OverflowError):
        return None


def _statuses(data: Mapping[str, Any], phone_number_id: str) -> Iterator[dict[str, Any]]:
    """Return every status of our number. One call may carry many, of several numbers, and other things beside."""
    for entry in answers.objects(data.get("entry")):
        for change in answers.objects(entry.get("changes")):
            value = change.get("value")
            if change.get("field") != "messages" or not isinstance(value, dict):
                continue
            metadata = value.get("metadata")
            if isinstance(metadata, dict) and str(metadata.get("phone_number_id")) == phone_number_id:
                yield from answers.objects(value.get("statuses"))


def _receipt(status: Mapping[str, Any]) -> base.Receipt | None:
    """Read a status by its id, never by phone, which may be missing. None if it is unknown or has no id."""
    word, identity, ours = status.get("status"), status.get("id"), status.get("biz_opaque_callback_data")
    if not isinstance(word, str) or word not in _STATUSES or not isinstance(identity, str) or not identity:
        return None
    error = _first(status.get("errors")) if word == "failed" else {}
    code = _code(error)
    return base.Receipt(
        _STATUSES[word],
        provider_message_id=identity,
        message_id=hooks.our_id(ours),
        error=_failure(code, error) if word == "failed" else "",
        provider_status=word if code is None else str(code),
        is_no_account=code == NO_ACCOUNT,
        is_opted_out=code == OPTED_OUT,
    )


def _failure(code: int | None, error: Mapping[str, Any]) -> str:
    """Tell a failure in our words, or else by Meta's title, which is short and names nobody."""
    if code is None:
        return "WhatsApp could not deliver it."
    found = _find(code)
    title = re.sub(r"[^ -~]", " ", str(error.get("title", "")))[:MAX_TITLE_LENGTH].strip()
    return f"WhatsApp: {found[1] if found else title or 'not delivered'} (error {code})"


def _first(value: object) -> dict[str, Any]:
    return next(iter(answers.objects(value)), {})
