"""The chats and services that alerts are written to: Telegram, Slack, and others by Apprise.

Every call leaves by our one door. Apprise's own plugins for Telegram and Slack read files of this machine, so its rules
refuse them, and both are called here directly.
"""

from __future__ import annotations

import html
import re
from typing import Any

from django.utils.translation import gettext as _

from providers import registry
from providers.base import OutgoingMessage
from providers.errors import ProviderError, SettingsInvalid, sentence
from providers.http.client import HttpAnswer, Timeouts, classify_status
from providers.parsing import answers
from verification import sql
from verification.core import crypto
from verification.core.bulkhead import BulkheadFull, bulkhead
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.core.errors import UserError
from verification.models import AlertService, AlertServiceKind, Project
from verification.models.bounds import MAX_ALERT_SERVICES, require_room
from verification.services.projects.settings import check_called_url
from verification.services.providers.http_client import http_client
from verification.services.providers.store import ProviderStore

TELEGRAM = "https://api.telegram.org"
TIMEOUTS = Timeouts(connect=3.0, total=10.0)
MOST = 3_500  # units of UTF-16, as services count; Telegram takes 4,096 of them, Slack and Mattermost more
DISCORD_MOST = 2_000
ERROR_MAX_LENGTH = 200  # characters, as the column has
APPRISE = "apprise"
NO_PROVIDER = 0  # whose store no adapter of Apprise ever opens
_TOKEN = re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{20,100}")
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31}")
_DISCORD = re.compile(r"(https?://[^/]+/api/(?:v[0-9]+/)?webhooks/[0-9]+/[\w-]+)(?:/slack)?/?", re.ASCII)
_CALL = re.compile(
    r"(?<![A-Za-z0-9])@|<"
)  # the beginning of what calls people in some chat; no address in a mail's form
UNSEEN = "\u200b"  # a space of no width


def check_service(kind: str, secret: str, chat: str) -> dict[str, str]:
    """Return by field why a service cannot be told with these values."""
    if kind == AlertServiceKind.TELEGRAM:
        found = {}
        if secret and not _TOKEN.fullmatch(secret):
            found["secret"] = _("This is not a bot token. BotFather shows it, in the form 123456789:ABC….")  # noqa: S105  (a sentence)
        if not _CHAT.fullmatch(chat):
            found["chat"] = _("Enter the chat ID, such as -1001234567890, or a channel's @name.")
        return found
    if not secret:
        return {}
    try:
        _check_address(kind, secret)
    except UserError as error:
        return {"secret": str(error)}
    return {}


def seal(service: AlertService, secret: str) -> bytes:
    return encrypt(secret, binding=crypto.alert_service_binding(service.uuid))


def secret_of(service: AlertService) -> str:
    """Return the stored address or token; empty where no key opens it."""
    try:
        return decrypt(bytes(service.secret), binding=crypto.alert_service_binding(service.uuid))
    except DecryptionFailed:
        return ""


def require_room_for_service(project: Project) -> None:
    """Raises :class:`UserError` where the project has as many as it may. Call it in the transaction of the insert."""
    refusal = _(
        "A project can have at most {max_alert_services} chats and services for alerts. Delete one first."
    ).format(max_alert_services=MAX_ALERT_SERVICES)
    require_room(project, AlertService.objects.filter(project=project), MAX_ALERT_SERVICES, refusal)


def send(service: AlertService, *, title: str, text: str) -> str:
    """Write to a service, and note the outcome with it. Return why it failed, or an empty text."""
    error = _try(service, title, text)[:ERROR_MAX_LENGTH]
    now = sql.now()
    outcome: dict[str, Any] = {"error": error, "tried_at": now} | ({} if error else {"told_at": now})
    AlertService.objects.filter(pk=service.pk).update(**outcome)
    return error


def send_to_all(project: Project, already: list[int], *, title: str, text: str) -> tuple[list[int], list[str]]:
    """Write to each enabled service but those told ``already``. Return the ids of all told, and what failed."""
    sent_to, errors = list(already), []
    for service in AlertService.objects.filter(project=project, is_enabled=True).exclude(pk__in=already).order_by("pk"):
        if error := send(service, title=title, text=text):
            errors.append(f"{service.name}: {error}")
        else:
            sent_to.append(service.pk)
    return sent_to, errors


def _try(service: AlertService, title: str, text: str) -> str:
    secret = secret_of(service)
    if not secret:
        return _("its address cannot be decrypted; is a key missing from ENCRYPTION_KEYS?")
    try:
        with bulkhead(service.project_id):
            if service.kind == AlertServiceKind.APPRISE:
                _apprise(service, secret, calls_nobody(title), cut(calls_nobody(text), MOST))
                return ""
            whole = f"{title}\n\n{text}"
            answer = _telegram(service, secret, whole) if service.kind == AlertServiceKind.TELEGRAM else None
            answer = answer or _webhook(secret, whole)
    except BulkheadFull as full:
        return full.detail
    except ProviderError as error:
        return str(error)
    except (SettingsInvalid, registry.UnknownAdapter):
        return _("it cannot send to this address")
    return "" if 200 <= answer.status < 300 else str(classify_status(answer))


def calls_nobody(text: str) -> str:
    """Return a text in which no name of a project, provider or rule calls people, as @everyone and <!channel> do."""
    return _CALL.sub(lambda found: found[0] + UNSEEN, text)


def cut(text: str, most: int) -> str:
    """Return at most so many units of UTF-16."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", errors="ignore")


def _telegram(service: AlertService, token: str, text: str) -> HttpAnswer:
    """Write to the chat. A group that became a supergroup has another id from then on, which the refusal names."""
    body = {
        "chat_id": service.chat,
        "text": cut(calls_nobody(text), MOST),
        "link_preview_options": {"is_disabled": True},
    }
    answer = _post(f"{TELEGRAM}/bot{token}/sendMessage", body)
    moved_to = answers.read_object(answer).get("parameters")
    moved_to = moved_to.get("migrate_to_chat_id") if isinstance(moved_to, dict) else None
    if answer.status != 400 or type(moved_to) is not int or not _CHAT.fullmatch(str(moved_to)):
        return answer
    AlertService.objects.filter(pk=service.pk, chat=service.chat).update(chat=str(moved_to))
    return _post(f"{TELEGRAM}/bot{token}/sendMessage", body | {"chat_id": str(moved_to)})


def _webhook(address: str, text: str) -> HttpAnswer:
    """Write to Slack or what takes its form. Discord's own form alone has a member by which nobody is called."""
    if found := _DISCORD.fullmatch(address):
        body = {"content": cut(calls_nobody(text), DISCORD_MOST), "allowed_mentions": {"parse": []}}
        return _post(found[1], body)
    return _post(address, {"text": calls_nobody(html.escape(cut(text, MOST), quote=False))})


def _post(address: str, body: dict[str, Any]) -> HttpAnswer:
    return http_client().request("POST", address, json=body, timeout=TIMEOUTS)


def _apprise(service: AlertService, url: str, title: str, text: str) -> None:
    adapter = registry.build(APPRISE, {"url": url}, http=http_client(), store=ProviderStore(NO_PROVIDER))
    message = OutgoingMessage(
        id=service.pk, to="", channel="", code="", text=text, subject=title, language="en", expires_in=0
    )
    adapter.send(message)


def _check_address(kind: str, address: str) -> None:
    if kind == AlertServiceKind.SLACK:
        if not address.startswith("https://"):
            raise UserError(_("Enter the webhook URL, which starts with https://."))
        check_called_url(address)
        return
    if re.search(r"\{(to|to_digits|code)\}", address):
        raise UserError(_("An alert has no recipient and no code: enter the room or the address itself."))
    try:
        # The adapter sends codes and asks for a recipient's place. As a parameter that no service reads it is harmless.
        mark = "&" if "?" in address else "?"
        registry.clean_settings(APPRISE, {"url": f"{address}{mark}watchword={{to_digits}}"})
    except SettingsInvalid as error:
        reason = next(iter(error.errors.values()))  # of the address, or of a package that is missing
        raise UserError(sentence(reason)) from None
