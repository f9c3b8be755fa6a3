"""What providers report back: receipts, and what users do in a messenger's bot."""

from __future__ import annotations

import hmac
import logging
import time
import uuid
from collections.abc import Sequence
from contextlib import nullcontext

from providers import registry
from providers.base import Consent, HookReply, HookRequest, Receipt, ReceiptStatus
from providers.errors import HookUnreadable
from verification import sql
from verification.crypto import DecryptionFailed
from verification.errors import Refusal
from verification.models import Message, MessageStatus, Provider
from verification.models.messages import (
    ERROR_MAX_LENGTH,
    PROVIDER_MESSAGE_ID_MAX_LENGTH,
    PROVIDER_STATUS_MAX_LENGTH,
)
from verification.outside import outside
from verification.services.gateways.accounts import adapter_of, hook_secret_of
from verification.services.protection import suppressions
from verification.services.sessions import bot_updates
from verification.sql.rows import ReportedMessage

log = logging.getLogger(__name__)

# Receipts in one call. The 64 KiB of a call hold some 250 of any vendor's, so more are made up, and a vendor that would
# send them hears clearly that they are not taken.
MAX_RECEIPTS = 500
OVERTAKEN_SECONDS = 2.0  # at most so long a receipt waits for our own note of the acceptance, which it has overtaken
LOOK_SECONDS = 0.05
MAX_UNDER_WAY = 1000  # messages; more than the threads of all workers

_USUAL_ERRORS = {
    ReceiptStatus.FAILED: "The provider could not deliver it.",
    ReceiptStatus.EXPIRED: "The provider could not deliver it in time.",
}


def find_provider(provider_uuid: str, secret: str) -> Provider:
    """The provider of a hook's path. Raises ``not_found``: a wrong secret and an unknown id look alike."""
    not_found = Refusal("not_found")
    try:
        provider = Provider.objects.get(uuid=uuid.UUID(provider_uuid))
        expected = hook_secret_of(provider)
    except (ValueError, Provider.DoesNotExist):
        raise not_found from None
    except DecryptionFailed:
        log.error("provider %s is not heard: the secret of its webhook address cannot be read", provider.pk)
        raise not_found from None
    if not hmac.compare_digest(expected.encode(), secret.encode()):
        raise not_found
    return provider


def take_in(provider: Provider, request: HookRequest) -> HookReply:
    """Verify and read a provider's call, act on what it says, and return what to answer.

    Raises :class:`providers.errors.HookForged` and :class:`providers.errors.HookUnreadable`; then nothing happened.
    """
    try:
        adapter = adapter_of(provider)
    except registry.UnknownAdapter:
        raise Refusal("not_found") from None
    with outside(provider.project_id) if adapter.asks_back() else nullcontext():
        adapter.verify_hook(request)
        reply = adapter.parse_hook(request)
    act_on_once(provider, reply)
    return reply


def act_on_once(provider: Provider, reply: HookReply) -> None:
    """Act on a verified call. One that repeats another changes nothing: receipts only go forward, and what users did
    in a bot is kept once, for a worker to act on.

    Raises ``service_unavailable`` where too much of it comes at once: the provider then reports again.
    """
    told = [event for event in reply.events if not isinstance(event, (Receipt, Consent))]
    if told:
        bot_updates.store(provider, told, key=reply.dedup_key)
    for event in reply.events:
        if isinstance(event, Consent):
            suppressions.heed(provider, event)
    act_on(provider, [event for event in reply.events if isinstance(event, Receipt)])


def act_on(provider: Provider, receipts: Sequence[Receipt]) -> None:
    """Act on what a verified call told us of messages. A receipt for one that we do not know changes nothing.

    Raises :class:`providers.errors.HookUnreadable` for more of them than a call holds, and ``service_unavailable``
    where too many calls with unknown receipts come at once: the provider then reports again.
    """
    if len(receipts) > MAX_RECEIPTS:
        raise HookUnreadable(f"a call brings at most {MAX_RECEIPTS} receipts")
    unknown = _record_known(provider, receipts)
    if unknown:
        _wait_for_our_notes(provider)
        # Also where there was nothing to wait for: it may have been noted since we looked.
        strangers = _record_known(provider, unknown)
        if strangers:
            log.info("%s receipts of %s are for no message of ours.", len(strangers), provider.name)


def _wait_for_our_notes(provider: Provider) -> None:
    """Until what is being sent at this moment is on record, if it may have gone to this provider."""
    of_provider = Message.objects.filter(channel=provider.channel)
    if provider.project_id is not None:
        of_provider = of_provider.filter(project_id=provider.project_id)
    claimed = of_provider.filter(status=MessageStatus.SENDING, claimed_at__isnull=False)
    under_way = list(claimed.values_list("pk", flat=True)[:MAX_UNDER_WAY])
    if not under_way:
        return
    give_up_at = time.monotonic() + OVERTAKEN_SECONDS
    while time.monotonic() < give_up_at and claimed.filter(pk__in=under_way).exists():
        with outside(provider.project_id):  # a provider may report on strangers without end
            time.sleep(LOOK_SECONDS)


def _record_known(provider: Provider, receipts: Sequence[Receipt]) -> list[Receipt]:
    """Move the messages of those receipts forward that are for ours, and return the others."""
    if not receipts:
        return []
    ids = [_identity(receipt) for receipt in receipts]
    ours = [receipt.message_id for receipt in receipts]
    found = sql.call_many(
        ReportedMessage, "find_reported", provider=provider.pk, provider_message_ids=ids, messages=ours
    )
    messages = {row.place - 1: row.message_id for row in found}
    # Each in a transaction of its own: two calls that hold the rows of many would wait for each other.
    for place, message_id in messages.items():
        _record(provider, receipts[place], message_id)
    return [receipt for place, receipt in enumerate(receipts) if place not in messages]


def _record(provider: Provider, receipt: Receipt, message_id: int) -> None:
    sql.call(
        "take_receipt",
        provider=provider.pk,
        provider_message_id=_identity(receipt),
        message=message_id,
        status=receipt.status.value,
        error=sql.text(receipt.error or _USUAL_ERRORS.get(receipt.status, ""), ERROR_MAX_LENGTH),
        provider_status=sql.text(receipt.provider_status, PROVIDER_STATUS_MAX_LENGTH),
    )
    if not receipt.is_suppressed and not receipt.is_no_account:
        return
    message = Message.objects.get(pk=message_id)
    if receipt.is_suppressed:
        suppressions.suppress(
            project_id=message.project_id,
            recipient_id=message.recipient_id,
            channel=message.channel,
            reason=receipt.error,
        )
    if receipt.is_no_account:
        sql.call("note_no_account", recipient=message.recipient_id, provider=provider.pk)


def _identity(receipt: Receipt) -> str | None:
    identity = receipt.provider_message_id
    return sql.text(identity, PROVIDER_MESSAGE_ID_MAX_LENGTH) if identity else None
