"""The receipts of any HTTP gateway, found where its owner says that they hold the id and the status.

One call brings one receipt, by GET, as a form or as JSON. We look in the query for what the body lacks. So
``{hook_url}?id={message_id}`` serves a gateway that lets us choose the address but not the fields.

The gateway's id names the message if its answer gave one; otherwise our own id does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from django.utils.translation import gettext as _

from providers.base import HookRequest, Receipt, ReceiptStatus, Value
from providers.errors import HookUnreadable
from providers.http.client import header_error
from providers.parsing import hooks

MAX_ID_LENGTH = 200  # characters of an id that we keep
MAX_WORD_LENGTH = 50  # characters of the gateway's status word that we keep
MAX_FIELDS = 200  # fields of one call; more are no receipt

# The settings that list the gateway's words, and what each list means. A word on no list changes nothing.
_WORD_SETTINGS = {
    "receipt_success": ReceiptStatus.SUCCESS,
    "receipt_failed": ReceiptStatus.FAILED,
    "receipt_sent": ReceiptStatus.SENT,
}


def errors(values: Mapping[str, Value]) -> dict[str, str]:
    """Return what is wrong with the settings of receipts: one sentence by the setting's name."""
    found = {}
    problem = header_error(str(values["receipt_secret_header"]), "")
    if problem:
        found["receipt_secret_header"] = problem
    if not values["has_receipts"]:
        return found
    for name in ("receipt_id_field", "receipt_status_field", "receipt_success"):
        if not values[name]:
            found[name] = _("required for delivery reports")
    taken: set[str] = set()
    for name in _WORD_SETTINGS:
        words = set(_words(values[name]))
        if words & taken:
            found[name] = _("a status is in two lists")
        taken |= words
    return found


def read(request: HookRequest, settings: Mapping[str, Value]) -> tuple[Receipt, ...]:
    """Read the receipt of one call; none for a status that changes nothing. Raises :class:`HookUnreadable`."""
    sources = [_body_of(request), _fields(request.query)]
    identity = _look_up(sources, str(settings["receipt_id_field"]))
    word = _look_up(sources, str(settings["receipt_status_field"]))
    if identity is None or word is None:
        raise HookUnreadable("the delivery report lacks its id or its status")
    known = {word: status for name, status in _WORD_SETTINGS.items() for word in _words(settings[name])}
    status = known.get(word.lower())
    if status is None:
        return ()
    is_theirs = bool(settings["message_id_path"])
    ours = None if is_theirs else hooks.our_id(identity)
    if not is_theirs and ours is None:
        raise HookUnreadable("the delivery report has an unknown id")
    receipt = Receipt(
        status,
        provider_message_id=identity if is_theirs else None,
        message_id=ours,
        error="The gateway reports that it was not delivered." if status is ReceiptStatus.FAILED else "",
        provider_status=word[:MAX_WORD_LENGTH],
    )
    return (receipt,)


def text_at(value: Any, path: str) -> str | None:
    """Return the text or number at a dotted path of JSON; None if there is none."""
    try:
        for step in path.split("."):
            value = value[int(step)] if isinstance(value, list) else value[step]
    except (ValueError, LookupError, TypeError):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        return None
    return str(value)[:MAX_ID_LENGTH]


def _words(value: Value) -> list[str]:
    return [word.strip().lower() for word in str(value).split(",") if word.strip()]


def _body_of(request: HookRequest) -> object:
    """Read the JSON or the form of a POST; a GET has no body."""
    if request.method != "POST":
        return {}
    try:
        if hooks.is_json(request):
            return json.loads(request.body)
        if hooks.content_type(request) == hooks.MULTIPART:
            return {name: values[0] for name, values in hooks.posted_lists(request).items()}
        return _fields(request.body.decode())
    except (ValueError, RecursionError):
        raise HookUnreadable("the body is neither JSON nor a form") from None


def _fields(text: str) -> dict[str, str]:
    """Read a form or a query. The first value of a repeated name counts."""
    try:
        found = parse_qs(text, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise HookUnreadable("there are too many fields") from None
    return {name: values[0] for name, values in found.items()}


def _look_up(sources: list[object], path: str) -> str | None:
    """Return the value of the first source that has it. A form's field may have dots in its name."""
    for source in sources:
        named = source.get(path) if isinstance(source, dict) else None
        found = named if isinstance(named, str) and named else text_at(source, path)
        if found is not None:
            return found[:MAX_ID_LENGTH].strip()
    return None
