"""Take in providers' reports: receipts, opt-outs, and what users do in a messenger's bot."""

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
from providers.parsing import prices
from verification import sql
from verification.core import metrics, tracing
from verification.core.bulkhead import bulkhead
from verification.core.crypto import DecryptionFailed
from verification.core.errors import ApiError
from verification.models import Message, Provider
from verification.models.messages import (
    ERROR_MAX_LENGTH,
    PROVIDER_MESSAGE_ID_MAX_LENGTH,
    PROVIDER_STATUS_MAX_LENGTH,
)
from verification.services.delivery import record
from verification.services.protection import hook_limits, suppressions
from verification.services.providers.accounts import adapter_of, hook_secret_of
from verification.services.records import traceparents
from verification.services.sessions import bot_updates
from verification.sql.rows import ReportedMessage

log = logging.getLogger(__name__)

# Receipts in one call. WhatsApp sends up to 1,000, and SendGrid's 768 KB hold fewer than 2,000. A call with more is
# forged or a mistake. It is answered with an error, so that a vendor that sends such calls learns of it.
MAX_RECEIPTS = 2_000
LOOKED_UP_TOGETHER = 500  # receipts in one statement, which takes a few milliseconds
# A receipt can arrive before we recorded the acceptance; it waits this long for that record.
OVERTAKEN_SECONDS = 2.0
LOOK_SECONDS = 0.05  # between two looks for that record
LOOKED_AT = 3_000  # waiting messages, the freshest, among which claimed ones are sought in a backlog of any length
MAX_UNDER_WAY = 1000  # claimed messages that one receipt waits for; all workers have fewer threads

_USUAL_ERRORS = {
    ReceiptStatus.FAILED: "The provider could not deliver it.",
    ReceiptStatus.EXPIRED: "The provider could not deliver it in time.",
}


def find_provider(provider_uuid: str, secret: str, *, client_address: str, size: int = 0) -> Provider:
    """Return the provider of a hook's path, and count the call of ``size`` bytes.

    Raises ``not_found``: a wrong secret and an unknown id look alike. Raises ``rate_limited`` for too many calls in a
    second, of one project's providers or of unknown paths, before the database is asked.
    """
    path = (provider_uuid, secret)
    hook_limits.require_room(path, client_address, size=size)
    try:
        provider = _find_provider(provider_uuid, secret)
    except ApiError:
        hook_limits.count_unknown(path, client_address)
        raise
    hook_limits.remember_known(path, provider.project_id, size=size)
    return provider


def _find_provider(provider_uuid: str, secret: str) -> Provider:
    not_found = ApiError("not_found")
    try:
        provider = Provider.objects.get(uuid=uuid.UUID(provider_uuid))
        expected = hook_secret_of(provider)
    except (ValueError, Provider.DoesNotExist):
        raise not_found from None
    except DecryptionFailed:
        log.error("the secret of a webhook address cannot be read", extra={"provider": provider.pk})
        raise not_found from None
    if not hmac.compare_digest(expected.encode(), secret.encode()):
        raise not_found
    return provider


def handle_hook(provider: Provider, request: HookRequest) -> HookReply:
    """Verify and read a provider's call, act on what it says, and return what to answer.

    Raises :class:`providers.errors.HookForged` and :class:`providers.errors.HookUnreadable`; then nothing was changed.
    """
    try:
        adapter = adapter_of(provider)
    except registry.UnknownAdapter:
        raise ApiError("not_found") from None
    with bulkhead(provider.project_id) if adapter.asks_back() else nullcontext():
        adapter.verify_hook(request)
        reply = adapter.parse_hook(request)
    apply_report(provider, reply)
    return reply


def apply_report(provider: Provider, reply: HookReply) -> None:
    """Act on a verified call. A repeated call changes nothing.

    Statuses only go forward, and what users did in a bot is stored once, for a worker to act on. Raises
    ``service_unavailable`` if too many updates of the bot wait already; the provider then reports again.
    """
    others = [event for event in reply.events if not isinstance(event, (Receipt, Consent))]
    if others:
        bot_updates.store(provider, others, key=reply.dedup_key)
    for event in reply.events:
        if isinstance(event, Consent):
            suppressions.apply_consent(provider, event)
    apply_receipts(provider, [event for event in reply.events if isinstance(event, Receipt)])


def apply_receipts(provider: Provider, receipts: Sequence[Receipt]) -> None:
    """Act on the receipts of a verified call. A receipt for a message that is not ours changes nothing.

    Raises :class:`providers.errors.HookUnreadable` for more than ``MAX_RECEIPTS``. Raises ``service_unavailable``
    if too many calls with unknown receipts come at once; the provider then reports again.
    """
    if len(receipts) > MAX_RECEIPTS:
        raise HookUnreadable(f"a call contains at most {MAX_RECEIPTS} delivery reports")
    unknown = _record_all_known(provider, receipts)
    if unknown:
        _wait_for_acceptances(provider)
        # Look again even if nothing was under way: the acceptance may have been recorded since the first look.
        still_unknown = _record_all_known(provider, unknown)
        if still_unknown:
            fields = {"provider": provider.pk, "provider_name": provider.name, "receipts": len(still_unknown)}
            log.info("delivery reports name unknown messages", extra=fields)


def _wait_for_acceptances(provider: Provider) -> None:
    """Wait until the answers to calls now under way are recorded, if they may be calls to this provider."""
    under_way = sql.value(
        "messages_under_way",
        project=provider.project_id,
        channel=provider.channel,
        look=LOOKED_AT,
        most=MAX_UNDER_WAY,
    )
    if not under_way:
        return
    give_up_at = time.monotonic() + OVERTAKEN_SECONDS
    while time.monotonic() < give_up_at and sql.value("is_any_under_way", messages=under_way):
        with bulkhead(provider.project_id):  # a provider may report on unknown messages without end
            time.sleep(LOOK_SECONDS)


def _record_all_known(provider: Provider, receipts: Sequence[Receipt]) -> list[Receipt]:
    """Record the receipts that are for messages of ours, and return the others."""
    unknown = []
    for start in range(0, len(receipts), LOOKED_UP_TOGETHER):
        unknown += _record_known(provider, receipts[start : start + LOOKED_UP_TOGETHER])
    return unknown


def _record_known(provider: Provider, receipts: Sequence[Receipt]) -> list[Receipt]:
    ids = [_identity(receipt) for receipt in receipts]
    ours = [receipt.message_id for receipt in receipts]
    found = sql.call_many(
        ReportedMessage, "find_reported", provider=provider.pk, provider_message_ids=ids, messages=ours
    )
    messages = {row.place - 1: row.message_id for row in found}
    # One transaction for each receipt: two calls that hold the rows of many messages could wait for each other.
    for place, message_id in messages.items():
        # In the message's trace, whatever else the call reports; the vendor's call has a trace of its own.
        parent, status = traceparents.of_message(message_id), receipts[place].status.value
        with tracing.span("receipt", parent=parent, link=tracing.current(), provider=provider.pk, status=status):
            _record(provider, receipts[place], message_id)
    return [receipt for place, receipt in enumerate(receipts) if place not in messages]


def _record(provider: Provider, receipt: Receipt, message_id: int) -> None:
    price = receipt.price and prices.price(receipt.price.amount, receipt.price.currency)
    is_changed = sql.value(
        "take_receipt",
        provider=provider.pk,
        provider_message_id=_identity(receipt),
        message=message_id,
        status=receipt.status.value,
        error=sql.text(receipt.error or _USUAL_ERRORS.get(receipt.status, ""), ERROR_MAX_LENGTH),
        provider_status=sql.text(receipt.provider_status, PROVIDER_STATUS_MAX_LENGTH),
        price=price and price.amount,
        currency=price and price.currency,
    )
    if is_changed and metrics.is_on():
        _count(provider, receipt, message_id)
    if not receipt.is_suppressed and not receipt.is_no_account:
        return
    message = Message.objects.filter(pk=message_id).first()
    if message is None:  # erased since it was found
        return
    if receipt.is_suppressed:
        suppressions.suppress(
            project_id=message.project_id,
            recipient_id=message.recipient_id,
            channel=message.channel,
            reason=receipt.error,
        )
    if receipt.is_no_account:
        sql.call("note_no_account", recipient=message.recipient_id, provider=provider.pk)


def _count(provider: Provider, receipt: Receipt, message_id: int) -> None:
    """Count a report that ended a message, for the metrics."""
    times = record.times_of(message_id)
    if times is None or times.sent_at is None or times.finished_at is None:
        return
    waited = times.finished_at - times.sent_at
    status = receipt.status.value
    metrics.count_receipt(provider=provider.pk, channel=times.channel, status=status, seconds=waited.total_seconds())


def _identity(receipt: Receipt) -> str | None:
    identity = receipt.provider_message_id
    return sql.text(identity, PROVIDER_MESSAGE_ID_MAX_LENGTH) if identity else None
