"""Any gateway that takes a message by one HTTP request, as its owner describes it.

Values are put into the owner's templates in one pass over a fixed list of placeholders, each written so that
it cannot end the place it stands in: a JSON string, a form field, a part of the URL, a header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import ProviderError
from providers.http import HttpAnswer, classify_status, header_error

_PLACEHOLDER = re.compile(r"\{(to|to_digits|code|text|message_id|channel|language|subject|project)\}")
_STATUSES = re.compile(r"([1-5](xx|[0-9]{2}))( *, *[1-5](xx|[0-9]{2}))*")
_CONTENT_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}
MAX_ID_LENGTH = 200

Escape = Callable[[str], str]


def _as_is(value: str) -> str:
    return value


def _in_json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _in_url(value: str) -> str:
    return quote(value, safe="")


_ESCAPES: dict[str, Escape] = {"json": _in_json, "form": _in_url, "text": _as_is}

# What the body of a JSON template must survive: a letter code, and a text that would break out of anything
# but a string.
_SAMPLE = base.OutgoingMessage(
    id=1,
    to="+491700000000",
    channel="sms",
    code="A1B2",
    text='"\\\n{',
    language="en",
    expires_in=60,
    subject='"',
)


class Adapter(base.Adapter):
    type = "http"
    label = "HTTP gateway (any)"
    channels = base.CHANNELS
    declared = (
        Setting(
            "url",
            "URL",
            SettingKind.URL,
            required=True,
            help="May hold {to}, {to_digits}, {code}, {text}, {message_id}, {channel}, {language}, {subject}"
            " and {project}.",
        ),
        Setting(
            "method",
            "Method",
            SettingKind.CHOICE,
            default="POST",
            choices=(("POST", "POST"), ("GET", "GET"), ("PUT", "PUT")),
        ),
        Setting(
            "headers",
            "Headers",
            SettingKind.SECRET,
            is_multiline=True,
            help="One a line, as in Authorization: Bearer abc. Stored encrypted.",
        ),
        Setting(
            "body",
            "Body",
            SettingKind.MULTILINE,
            help="With the same placeholders. Empty: message_id, to, channel, code, text and language.",
        ),
        Setting(
            "content_type",
            "Type of the body",
            SettingKind.CHOICE,
            default="json",
            choices=(("json", "JSON"), ("form", "Form"), ("text", "Plain text")),
        ),
        Setting("username", "User name for Basic authentication"),
        Setting("password", "Password for Basic authentication", SettingKind.SECRET),
        Setting("success_status", "Statuses that mean accepted", default="2xx", help="Such as 2xx or 200, 202."),
        Setting("success_match", "Text that an accepting answer holds", help="Empty: the status decides."),
        Setting(
            "message_id_path",
            "Where the JSON answer holds the gateway's id",
            help="Names and positions joined by dots, as in messages.0.id.",
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        url, body = str(values["url"]), str(values["body"])
        if values["method"] == "GET":
            if body:
                errors["body"] = "a GET has no body"
            if not re.search(r"\{to(_digits)?\}", url):
                errors["url"] = "a GET needs {to} or {to_digits} in the URL"
        elif body and values["content_type"] == "json" and not _is_json(_render(body, _SAMPLE, _in_json)):
            errors["body"] = "not JSON; placeholders other than {message_id} and {to_digits} stand inside strings"
        if not _STATUSES.fullmatch(str(values["success_status"])):
            errors["success_status"] = "statuses such as 2xx or 200, 202 are expected"
        problem = _headers_error(str(values["headers"]))
        if problem:
            errors["headers"] = problem
        if values["password"] and not values["username"]:
            errors["username"] = "a password needs a user name"
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        headers = self._headers(message)
        content = None if self.settings["method"] == "GET" else self._body(message).encode()
        if content is not None and "content-type" not in {name.lower() for name in headers}:
            headers["Content-Type"] = _CONTENT_TYPES[str(self.settings["content_type"])]
        username = str(self.settings["username"])
        answer = self.http.request(
            str(self.settings["method"]),
            _render(str(self.settings["url"]), message, _in_url),
            headers=headers,
            content=content,
            auth=(username, str(self.settings["password"])) if username else None,
        )
        return self._read(answer)

    def check(self) -> base.Health:
        """There is no question that every gateway answers, so only the way to it is tried."""
        self.http.touch(_render(str(self.settings["url"]), _SAMPLE, _in_url))
        return base.Health(True, "The gateway's host can be reached; without sending nothing more can be asked.")

    def _headers(self, message: base.OutgoingMessage) -> dict[str, str]:
        return {name: _render(value, message, _as_is) for name, value in _header_lines(str(self.settings["headers"]))}

    def _body(self, message: base.OutgoingMessage) -> str:
        kind = str(self.settings["content_type"])
        template = str(self.settings["body"])
        if template:
            return _render(template, message, _ESCAPES[kind])
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
        """No receipts are configured here, so acceptance is the last that can be known."""
        if not _is_success(answer.status, str(self.settings["success_status"])):
            raise classify_status(answer)
        status = str(answer.status)
        match = str(self.settings["success_match"])
        if match and match not in answer.text:
            raise ProviderError("the answer lacks the text that means accepted", provider_status=status)
        path = str(self.settings["message_id_path"])
        found = None
        if path:
            found = _find(answer, path)
            if found is None:
                raise ProviderError("the answer lacks the gateway's id", Outcome.UNKNOWN, provider_status=status)
        return base.Result(Outcome.ACCEPTED, found, provider_status=status, is_delivered=True)


def _render(template: str, message: base.OutgoingMessage, escape: Escape) -> str:
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
    }
    return _PLACEHOLDER.sub(lambda match: escape(values[match.group(1)]), template)


def _header_lines(text: str) -> list[tuple[str, str]]:
    lines = (line.partition(":") for line in text.splitlines() if line.strip())
    return [(name.strip(), value.strip()) for name, _, value in lines]


def _headers_error(text: str) -> str:
    """The first thing wrong with the lines; values are not quoted, for they are secrets."""
    lines = _header_lines(text)
    names = [name.lower() for name, _ in lines]
    if len(set(names)) < len(names):
        return "a header stands there twice"
    return next((problem for problem in (header_error(*line) for line in lines) if problem), "")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_success(status: int, wanted: str) -> bool:
    return any(part.strip() in (str(status), f"{status // 100}xx") for part in wanted.split(","))


def _find(answer: HttpAnswer, path: str) -> str | None:
    """The gateway's id at a dotted path of its JSON, None where there is none."""
    try:
        value: Any = answer.json()
        for step in path.split("."):
            value = value[int(step)] if isinstance(value, list) else value[step]
    except (ValueError, LookupError, TypeError):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        return None
    return str(value)[:MAX_ID_LENGTH]
