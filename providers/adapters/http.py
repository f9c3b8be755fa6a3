"""Any gateway that takes a message by one HTTP request, as its owner describes it.

We put values into the owner's templates in one pass over a fixed list of placeholders. Each value is written so that
it cannot end the place it stands in: a JSON string, a form field, a part of the URL, a header.

A URL and a body are stored in the clear and shown, so credentials have placeholders too. A credential that is written
out in a template is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from urllib.parse import quote

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import HookForged, ProviderError
from providers.http.client import HttpAnswer, classify_status, header_error
from providers.parsing import answers, hooks, http_receipts

_PLACEHOLDER = re.compile(
    r"\{(to|to_digits|code|text|message_id|channel|language|subject|project|hook_url|username|password|secret)\}"
)
# A name that ends like a credential's, and a value that is no placeholder: `api_key=abc`, `"token": "abc"`.
_CREDENTIAL = re.compile(
    r"(?:pass(?:word|wd|phrase)?|pwd|key|token|secret)[\"']?\s*[=:]\s*[\"']?(?![\"'{&\s]|$)", re.IGNORECASE
)
_STATUSES = re.compile(r"([1-5](xx|[0-9]{2}))( *, *[1-5](xx|[0-9]{2}))*")
_CONTENT_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}
CREDENTIALS = ("username", "password", "secret")  # settings that are placeholders too

Escape = Callable[[str], str]


def _as_is(value: str) -> str:
    return value


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _in_url(value: str) -> str:
    return quote(value, safe="")


_ESCAPES: dict[str, Escape] = {"json": _in_json, "form": _in_url, "text": _as_is}

# A message that tries a template: a code with letters, and a text that breaks out of anything but a JSON string.
_SAMPLE = base.OutgoingMessage(
    id=1,
    to="+491700000000",
    channel="sms",
    code="A1B2",
    text='"\\\n{',
    language="en",
    expires_in=60,
    subject='"',
    hook_url="https://codes.example/hooks/1/2",
)


class Adapter(base.Adapter):
    type = "http"
    label = _("HTTP gateway (any)")
    channels = base.CHANNELS
    receipt_window_seconds = base.RECEIPT_WINDOW_SECONDS
    declared = (
        Setting(
            "url",
            "URL",
            SettingKind.URL,
            required=True,
            help=_(
                "Placeholders: {to}, {to_digits}, {code}, {text}, {message_id}, {channel}, {language},"
                " {subject}, {project}, {hook_url} (the URL for delivery reports), {username}, {password} and"
                " {secret}. Stored unencrypted: never enter a password or key here."
            ),
        ),
        Setting(
            "method",
            _("Method"),
            SettingKind.CHOICE,
            default="POST",
            choices=(("POST", "POST"), ("GET", "GET"), ("PUT", "PUT")),
        ),
        Setting(
            "headers",
            _("Headers"),
            SettingKind.SECRET,
            is_multiline=True,
            help=_("One per line, such as Authorization: Bearer abc. Stored encrypted."),
        ),
        Setting(
            "body",
            _("Body"),
            SettingKind.MULTILINE,
            help=_("Same placeholders. Leave empty to send message_id, to, channel, code, text and language."),
        ),
        Setting(
            "content_type",
            _("Body type"),
            SettingKind.CHOICE,
            default="json",
            choices=(("json", "JSON"), ("form", _("Form")), ("text", _("Plain text"))),
        ),
        Setting("username", _("Username"), help=_("For Basic authentication, or {username}.")),
        Setting(
            "password",
            _("Password"),
            SettingKind.SECRET,
            help=_(
                "For Basic authentication. If {password} is used in the URL, a header or the body, Basic"
                " authentication is off."
            ),
        ),
        Setting("secret", _("Key or token"), SettingKind.SECRET, help=_("The value of {secret}, such as an API key.")),
        Setting("success_status", _("“Accepted” HTTP statuses"), default="2xx", help=_("Such as 2xx or 200, 202.")),
        Setting(
            "success_match", _("Success text in the response"), help=_("Leave empty to decide by the status alone.")
        ),
        Setting(
            "message_id_path",
            _("ID field in the JSON response"),
            help=_("Names and positions separated by dots, such as messages.0.id."),
        ),
        Setting(
            "has_receipts",
            _("The gateway sends delivery reports"),
            SettingKind.BOOLEAN,
            default=False,
            help=_("To {hook_url}, by GET, as a form or as JSON. When off, accepted messages count as delivered."),
        ),
        Setting(
            "receipt_id_field",
            _("ID field in the report"),
            help=_(
                "A field, or a path as above. The gateway's ID if its response contains one, otherwise {message_id}."
            ),
        ),
        Setting("receipt_status_field", _("Status field in the report"), help=_("A field, or a path as above.")),
        Setting("receipt_success", _("“Delivered” statuses"), help=_("Separated by commas, such as delivered, read.")),
        Setting("receipt_failed", _("“Not delivered” statuses")),
        Setting("receipt_sent", _("“In transit” statuses")),
        Setting(
            "receipt_secret",
            _("Report secret"),
            SettingKind.SECRET,
            help=_("Expected in a header. If empty, only the secret in the webhook URL protects reports."),
        ),
        Setting("receipt_secret_header", _("Header with the secret"), default="X-Receipt-Secret"),
    )
    shown_when = {
        **dict.fromkeys(("body", "content_type"), ("method", ("POST", "PUT"))),
        **dict.fromkeys(
            (
                "receipt_id_field",
                "receipt_status_field",
                "receipt_success",
                "receipt_failed",
                "receipt_sent",
                "receipt_secret",
                "receipt_secret_header",
            ),
            ("has_receipts", (True,)),
        ),
    }
    advanced = ("success_status", "success_match", "message_id_path")

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        url, body = str(values["url"]), str(values["body"])
        if values["method"] == "GET":
            if body:
                errors["body"] = gettext("a GET request has no body")
            if not re.search(r"\{to(_digits)?\}", url):
                errors["url"] = gettext("a GET request needs {to} or {to_digits} in the URL")
        elif body and values["content_type"] == "json" and not _is_json(_render(body, _SAMPLE, _in_json, values)):
            errors["body"] = gettext(
                "invalid JSON; placeholders other than {message_id} and {to_digits} must be inside strings"
            )
        if not _STATUSES.fullmatch(str(values["success_status"])):
            errors["success_status"] = gettext("enter statuses such as 2xx or 200, 202")
        problem = _headers_error(str(values["headers"]))
        if problem:
            errors["headers"] = problem
        if values["password"] and not values["username"] and not _names_password(values):
            errors["username"] = gettext("a password needs a username, or {password} where it should be used")
        return errors | _credential_errors(values) | http_receipts.errors(values)

    def send(self, message: base.OutgoingMessage) -> base.Result:
        headers = self._headers(message)
        content = None if self.settings["method"] == "GET" else self._body(message).encode()
        if content is not None and "content-type" not in {name.lower() for name in headers}:
            headers["Content-Type"] = _CONTENT_TYPES[self.text("content_type")]
        answer = self.http.request(
            self.text("method"),
            _render(self.text("url"), message, _in_url, self.settings),
            headers=headers,
            content=content,
            auth=self._auth(),
        )
        return self._read(answer)

    def _auth(self) -> tuple[str, str] | None:
        username, is_basic = self.text("username"), not _names_password(self.settings)
        return (username, self.text("password")) if username and is_basic else None

    def check(self) -> base.Health:
        """Ask by OPTIONS, which sends nothing: a 401 to it is about our credentials.

        No question is answered by every gateway. A gateway that takes messages by GET might take even OPTIONS for a
        message, so there we only connect to its host.
        """
        url = _render(self.text("url"), _SAMPLE, _in_url, self.settings)
        if self.settings["method"] == "GET":
            self.http.touch(url)
            return base.Health.reached("The gateway's host can be reached")
        answer = self.http.request("OPTIONS", url, headers=self._headers(_SAMPLE), auth=self._auth(), wants_body=False)
        if answer.status == 401:
            return base.Health(
                False, "The gateway rejects the credentials with HTTP 401. Correct the username, password or headers."
            )
        if answer.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            detail = (
                f"The gateway answers OPTIONS with HTTP {answer.status}: often the path of the URL is wrong."
                " Send a test to be sure."
            )
            return base.Health(True, detail, is_sure=False)
        return base.Health.reached(f"The gateway answers OPTIONS with HTTP {answer.status}")

    def verify_hook(self, request: base.HookRequest) -> None:
        if not self.settings["has_receipts"] or request.method not in ("GET", "POST"):
            raise HookForged("delivery reports are not set up")
        expected = self.text("receipt_secret")
        given = request.headers.get(self.text("receipt_secret_header").lower(), "")
        if expected and not hooks.is_same(given, expected):
            raise HookForged("the delivery report does not carry the secret")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        return base.HookReply(http_receipts.read(request, self.settings))

    def _headers(self, message: base.OutgoingMessage) -> dict[str, str]:
        lines = _header_lines(self.text("headers"))
        return {name: _render(value, message, _as_is, self.settings) for name, value in lines}

    def _body(self, message: base.OutgoingMessage) -> str:
        kind = self.text("content_type")
        template = self.text("body")
        if template:
            return _render(template, message, _ESCAPES[kind], self.settings)
        if kind == "text":
            return message.text
        fields = {
            "message_id": message.id,
            "to": message.to,
            "channel": message.channel,
            "code": message.code,
            "text": message.text,
            "language": message.language,
        }
        if kind == "json":
            return json.dumps(fields, ensure_ascii=False)
        return "&".join(f"{name}={_in_url(str(value))}" for name, value in fields.items())

    def _read(self, answer: HttpAnswer) -> base.Result:
        if not _is_success(answer.status, self.text("success_status")):
            raise classify_status(answer)
        status = str(answer.status)
        match = self.text("success_match")
        if match and match not in answer.text:
            raise ProviderError("the response lacks the success text", provider_status=status)
        path = self.text("message_id_path")
        found = None
        if path:
            found = _find_id(answer, path)
            if found is None:
                raise ProviderError("the response lacks the gateway's id", Outcome.UNCLEAR, provider_status=status)
        return base.Result(
            Outcome.ACCEPTED, found, provider_status=status, is_delivered=not self.settings["has_receipts"]
        )


def _render(template: str, message: base.OutgoingMessage, escape: Escape, settings: Mapping[str, base.Value]) -> str:
    if "{" not in template:
        return template
    values = {
        "to": message.to,
        "to_digits": re.sub(r"[^0-9]", "", message.to),
        "code": message.code,
        "text": message.text,
        "message_id": str(message.id),
        "channel": message.channel,
        "language": message.language,
        "subject": message.subject,
        "project": message.project,
        "hook_url": message.hook_url or "",
        **{name: str(settings[name]) for name in CREDENTIALS},
    }
    return _PLACEHOLDER.sub(lambda match: escape(values[match.group(1)]), template)


def _names_password(settings: Mapping[str, base.Value]) -> bool:
    """Return whether the owner has said where the password goes."""
    return any("{password}" in str(settings[name]) for name in ("url", "headers", "body"))


def _credential_errors(values: Mapping[str, base.Value]) -> dict[str, str]:
    templates = {name: str(values[name]) for name in ("url", "headers", "body")}
    errors = {
        name: gettext("the URL is stored unencrypted; use {password} or {secret} and enter the credential below")
        for name in ("url", "body")
        if _CREDENTIAL.search(templates[name])
    }
    for name in CREDENTIALS:
        if not values[name] and any(f"{{{name}}}" in template for template in templates.values()):
            errors[name] = gettext("{placeholder} is used, so this is required").format(placeholder=f"{{{name}}}")
    return errors


def _header_lines(text: str) -> list[tuple[str, str]]:
    lines = (line.partition(":") for line in text.splitlines() if line.strip())
    return [(name.strip(), value.strip()) for name, _, value in lines]


def _headers_error(text: str) -> str:
    """Return the first fault of the header lines. Values are secrets, so no fault quotes them."""
    lines = _header_lines(text)
    names = [name.lower() for name, _ in lines]
    if len(set(names)) < len(names):
        return gettext("a header appears twice")
    return next((problem for problem in (header_error(*line) for line in lines) if problem), "")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_success(status: int, wanted: str) -> bool:
    return any(part.strip() in (str(status), f"{status // 100}xx") for part in wanted.split(","))


def _find_id(answer: HttpAnswer, path: str) -> str | None:
    """Return the gateway's id at a dotted path of its JSON; None if there is none."""
    try:
        return answers.identity(http_receipts.text_at(answer.json(), path))
    except ValueError:
        return None
