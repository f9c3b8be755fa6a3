"""The reports of e-mail services. Anymail's own views read them, and verify those that the service signs."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.handlers.wsgi import WSGIRequest

from providers.anymail.services import AMAZON, POSTMARK, RESEND, SERVICES, SPARKPOST
from providers.base import HookRequest, Receipt, ReceiptStatus, Value
from providers.errors import HookForged, HookUnreadable
from providers.http import libraries
from providers.parsing import answers, hooks, sns

_STATUSES = {
    "sent": ReceiptStatus.SENT,
    "delivered": ReceiptStatus.SUCCESS,
    "opened": ReceiptStatus.SUCCESS,
    "clicked": ReceiptStatus.SUCCESS,
    "complained": ReceiptStatus.SUCCESS,  # it was read, and nothing more is wanted
    "unsubscribed": ReceiptStatus.SUCCESS,
    "bounced": ReceiptStatus.FAILED,
    "rejected": ReceiptStatus.FAILED,
    "failed": ReceiptStatus.FAILED,
}
# Events that end a message and that the library does not know.
_UNMAPPED = {(RESEND, "email.failed"): "failed"}
_SOFT = re.compile(r"soft|transient|undetermined|temporar", re.IGNORECASE)
_HARD = re.compile(r"hard.?bounce|permanent", re.IGNORECASE)
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]{2,12}){1,3}-[0-9]{1,2}")


def open_view(
    service: str, settings: Mapping[str, Value], request: HookRequest, *, amazon: Callable[[str, str], Any]
) -> tuple[Any, Any]:
    """Verify a report; return the library's view that can read it, and the report as Django's request.

    ``amazon`` makes a client for a service and a region of Amazon's. Raises :class:`HookForged`.
    """
    known = SERVICES[service]
    if not settings["has_webhook"] or not known.view or request.method != "POST":
        raise HookForged("no reports are set up")
    libraries.silence("anymail")
    module, _, name = known.view.partition(".")
    given = {**settings, "webhook_url": request.url}
    options = {theirs: str(given[ours]) for theirs, ours in known.view_options.items() if given[ours]}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make = getattr(import_module(f"anymail.webhooks.{module}"), f"{name}WebhookView")
            view = make(webhook_secret=str(settings["webhook_login"]) or [], **options)
        django_request = _as_django(request)
        view.run_validators(django_request)
    except SuspiciousOperation:
        raise HookForged("the report does not carry its signature or password") from None
    except Exception:  # a garbled call, or a key that is none
        raise HookForged("the report cannot be verified") from None

    def make_client(service: str, region_name: str = "") -> Any:
        """Make the client with which the view confirms Amazon's subscription."""
        if not _REGION.fullmatch(region_name):
            raise HookUnreadable("the topic is in no region")
        return _SharedClient(amazon(service, region_name))

    if hasattr(view, "get_boto_client"):
        view.get_boto_client = make_client
        read = view.esp_to_anymail_events
        view.esp_to_anymail_events = lambda event, message: read(sns.unwrapped(event), message)
    return view, django_request


def has_ended(service: str, request: HookRequest) -> bool:
    """Return whether a verified call says that Amazon's topic reports no more to us."""
    return service == AMAZON and hooks.json_object(request.body).get("Type") == sns.ENDED


def read_receipt(service: str, event: Any) -> Receipt | None:
    """Read one event of the library's; None if it says nothing about a message of ours.

    A mail of ours has one recipient, so an event is about one message.
    """
    word, reason = str(event.event_type), str(event.reject_reason or "")
    raw = event.esp_event if isinstance(event.esp_event, dict) else {}
    is_held_back = _is_held_back(service, raw)
    if is_held_back or word == "unknown":
        word = "rejected" if is_held_back else _UNMAPPED.get((service, str(raw.get("type"))), word)
    status = _STATUSES.get(word)
    metadata = event.metadata if isinstance(event.metadata, dict) else {}
    identity, ours = answers.identity(event.message_id), hooks.our_id(metadata.get("message"))
    if status is None or (identity is None and ours is None):
        return None
    if service == POSTMARK and word == "unsubscribed" and raw.get("Origin") != "Recipient":
        status = ReceiptStatus.SENT  # somebody else ended messages to the address: no one need have read this one
    is_bad = status is ReceiptStatus.FAILED
    words = f"{word} {reason}".strip()
    return Receipt(
        status,
        provider_message_id=identity,
        message_id=ours,
        error=f"{SERVICES[service].label}: it was not delivered ({words})" if is_bad else "",
        provider_status=words,
        is_suppressed=word == "complained" or is_held_back or (is_bad and _is_hard(service, event, reason)),
        is_opted_out=word == "unsubscribed" or (is_bad and reason == "unsubscribed"),
    )


def _is_held_back(service: str, raw: Mapping[str, Any]) -> bool:
    """Return whether the service sent nothing, as the address has bounced or its user complained before."""
    complaint = raw.get("complaint")
    if service == AMAZON and isinstance(complaint, dict):
        return complaint.get("complaintSubType") == "OnAccountSuppressionList"
    return service == RESEND and raw.get("type") == "email.suppressed"


def _is_hard(service: str, event: Any, reason: str) -> bool:
    """Return whether no later mail will get through.

    The library calls a full mailbox bounced too. For some services it calls a wrong name bounced without a reason. So
    only what the service itself calls hard, or does not call soft, counts.
    """
    if reason in ("invalid", "unsubscribed"):
        return reason == "invalid"
    raw = event.esp_event if isinstance(event.esp_event, dict) else {}
    data = raw.get("data")
    bounce = data.get("bounce") if isinstance(data, dict) else None
    kind = bounce.get("type") if isinstance(bounce, dict) else ""
    words = [str(word) for word in (raw.get("event"), raw.get("Type"), raw.get("status"), event.description, kind)]
    if raw.get("hard_bounce") is False or any(map(_SOFT.search, words)) or service == SPARKPOST:
        return False
    is_bounce = raw.get("event") == "bounce" and raw.get("type") == "bounce"
    is_hard = raw.get("hard_bounce") is True or is_bounce or any(map(_HARD.search, words))
    return reason == "bounced" or is_hard


class _SharedClient:
    """A client that ignores ``close``, because others use it too."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def close(self) -> None:
        pass


def _as_django(request: HookRequest) -> WSGIRequest:
    names = {"content-type": "CONTENT_TYPE", "content-length": "_"}
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": "/",
        "QUERY_STRING": request.query,
        "CONTENT_LENGTH": str(len(request.body)),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "443",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.url_scheme": "https",
    }
    for name, value in request.headers.items():
        environ[names.get(name, "HTTP_" + name.upper().replace("-", "_"))] = value
    django_request = WSGIRequest(environ)
    django_request.body  # noqa: B018  # read before any view reads the form
    return django_request
