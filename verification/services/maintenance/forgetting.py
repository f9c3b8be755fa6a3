"""Handing out, and erasing, all that is known of one recipient of a project.

Erasing must not be a way around a limit. So rows that count within the day stay for that day without the address, under
its keyed hash. The limit of all projects together finds them by another hash, which the purge removes after the day.
A recipient who comes back in that time is found by the hash and gets the counts back. An opt-out stays under the hash
until it is lifted: to forget it would mean to send again.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from verification import sql
from verification.core import crypto
from verification.core.addresses import AddressInvalid, mask, parse_test_address
from verification.core.errors import UserError
from verification.models import (
    BotChat,
    BotUpdate,
    DeliveryAttempt,
    GuardedSend,
    IdempotentRequest,
    Message,
    Project,
    Recipient,
    Session,
    Subscription,
    Suppression,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.maintenance.retention import FORGOTTEN_FOR, REQUEST_REMOVED, strip
from verification.services.records import audit

# Model, path to the recipient, and its columns that are theirs. Whence a code was asked for or guessed, and by which
# request, is left out: that may have been somebody else. Whoever had the right code was the recipient.
EXPORTED: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "sessions": (
        Session,
        "recipient",
        ("id", "reference", "language", "channel", "is_test", "attempts")
        + ("created_at", "expires_at", "verified_at", "cancelled_at"),
    ),
    "messages": (
        Message,
        "recipient",
        ("id", "session", "channel", "language", "status", "error", "provider__name", "provider_message_id")
        + ("callback_url", "is_test", "created_at", "sent_at", "finished_at", "expires_at"),
    ),
    "attempts": (
        DeliveryAttempt,
        "message__recipient",
        ("message", "provider_name", "outcome", "provider_message_id", "provider_status", "error", "created_at"),
    ),
    "callbacks": (WebhookEvent, "message__recipient", ("message", "url", "tries", "created_at", "delivered_at")),
    "events": (WebhookEvent, "session__recipient", ("session", "type", "tries", "created_at", "delivered_at")),
    "idempotent_requests": (IdempotentRequest, "message__recipient", ("key", "message", "created_at")),
    "wrong_codes": (WrongCode, "recipient", ("session", "created_at")),
    "right_codes": (VerifyToken, "recipient", ("session", "subnet", "created_at", "used_at")),
    "bots": (Subscription, "recipient", ("provider__name", "account_id", "is_active", "bound_at")),
    "suppressions": (Suppression, "recipient", ("channel", "reason", "created_at", "lifted_at")),
}
ABOUT = ("language", "verified_channel", "verified_at", "created_at")


def export(*, project: Project, to: str) -> dict[str, Any]:
    """Return what is stored of the recipient, rows under their hash included, but no code, digest or key.

    Raises :class:`UserError` where nothing is stored.
    """
    address, recipients = _find(project, to)
    rows: dict[str, Any] = {
        name: list(model._default_manager.filter(**{f"{path}__in": recipients}).order_by("pk").values(*fields))
        for name, (model, path, fields) in EXPORTED.items()
    }
    return {"project": project.name, "recipient": address, "known_as": list(recipients.values(*ABOUT)), **rows}


@transaction.atomic
def forget(*, project: Project, to: str) -> dict[str, int]:
    """Erase the recipient. Their live session and token end, and what is under way to them is not sent.

    Return the number of rows that went, by kind, and of those ``kept`` without the address until the day is over.
    Raises :class:`UserError` where there is nothing to erase.
    """
    sql.take_removal_turn(project.pk)
    address, recipients = _find(project, to)
    counts: Counter[str] = Counter()
    locked = list(
        recipients.select_for_update(of=("self",)).order_by("pk")
    )  # recipients first, in the order of locks that all keep
    messages = Message.objects.filter(recipient__in=locked).order_by("pk")
    list(messages.select_for_update(of=("self",)).values_list("pk"))  # by id, as all of them are changed below
    for recipient in locked:
        if recipient.address == address:
            counts.update(_erase(recipient))
        else:
            counts["messages"] += recipient.messages.count()
            counts["sessions"] += recipient.sessions.count()
            recipient.delete()
    audit.record("Forgot a recipient", project=project, label=mask(address))
    return dict(counts)


def _find(project: Project, to: str) -> tuple[str, QuerySet[Recipient]]:
    """Return the address and its rows in the project: the one with the address, and the one with its hash."""
    try:
        address = parse_test_address(to).text
    except AddressInvalid as error:
        raise UserError(str(error)) from None
    names = (address, crypto.hashed_address(project.pk, address))
    recipients = Recipient.objects.filter(project=project, address__in=names)
    if not recipients.exists():
        raise UserError(f"{project} stores nothing about this recipient.")
    return address, recipients


def _erase(recipient: Recipient) -> dict[str, int]:
    now = timezone.now()
    _end_what_lives(recipient)
    today = now - FORGOTTEN_FOR
    wrong_codes = WrongCode.objects.filter(recipient=recipient, created_at__gt=today)
    messages = list(recipient.messages.filter(is_counted=True, created_at__gt=today).values_list("pk", "session"))
    kept_messages = [pk for pk, _ in messages]
    kept_sessions = {session for _, session in messages if session} | set(wrong_codes.values_list("session", flat=True))
    counts = {
        "messages": _count(recipient.messages.exclude(pk__in=kept_messages)),
        "sessions": _count(recipient.sessions.exclude(pk__in=kept_sessions)),
        "bots": _count(recipient.subscriptions.all()),
        "kept": len(kept_messages) + len(kept_sessions),
    }
    strip(kept_messages, list(kept_sessions))
    wrong_codes.update(network="", subnet="", guess=None, **REQUEST_REMOVED)
    GuardedSend.objects.filter(message__in=kept_messages).delete()
    recipient.suppressions.exclude(lifted_at=None).delete()
    recipient.noaccount_set.all().delete()
    if not (kept_messages or kept_sessions or recipient.suppressions.exists()):
        recipient.delete()
        return counts
    recipient.erased_hash = crypto.erased_address(recipient.address) if kept_messages else None
    recipient.address, recipient.mailbox = crypto.forgotten_address(recipient.project_id, recipient.address), None
    recipient.language = recipient.verified_channel = ""
    recipient.forgotten_at = now
    recipient.save()
    return counts


def _end_what_lives(recipient: Recipient) -> None:
    now = sql.now()
    recipient.messages.update(callback_url="", fallback_at=None)  # no callback tells how those under way ended
    open_ones = list(recipient.messages.filter(finished_at=None).values_list("pk", flat=True))
    sql.call("close_expired", ids=open_ones, error="The recipient was erased.")
    chats = BotChat.objects.filter(session__recipient=recipient)
    accounts = {*recipient.subscriptions.values_list("provider", "account_id")}
    accounts.update(chats.values_list("provider", "account_id"))
    for provider, account_id in accounts:
        BotChat.objects.filter(provider=provider, account_id=account_id).delete()
        BotUpdate.objects.filter(provider=provider, account_id=account_id).delete()  # those that wait for a worker
    recipient.sessions.filter(expires_at__gt=now).update(expires_at=now)
    recipient.sessions.update(is_open=False, awaited_channel="", code_digest=None, code_encrypted=None)


def _count(rows: Any) -> int:
    number: int = rows.count()
    rows.delete()
    return number
