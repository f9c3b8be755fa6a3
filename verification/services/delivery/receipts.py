"""Take in providers' reports: receipts, opt-outs, and what users do in a messenger's bot."""

from __future__ import annotations

import hmac
import logging
import time
import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from providers import registry
from providers.base import Consent, HookReply, HookRequest, Receipt, ReceiptStatus, ReportsEnded
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
from verification.services.notifications import provider_alerts
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


def apply_report(provider: Provider, reply: HookReply) -> int:
    """Act on a verified call, and return how many receipts name no message of ours. A repeated call changes nothing.

    Statuses only go forward, and what users did in a bot is stored once, for a worker to act on. Raises
    ``service_unavailable`` if too many updates of the bot wait already; the provider then reports again.
    """
    others = [event for event in reply.events if not isinstance(event, (Receipt, Consent, ReportsEnded))]
    if others:
        bot_updates.store(provider, others, key=reply.dedup_key)
    for event in reply.events:
        if isinstance(event, Consent):
            suppressions.apply_consent(provider, event)
        elif isinstance(event, ReportsEnded):
            provider_alerts.alert_reports_ended(provider)
    return apply_receipts(provider, [event for event in reply.events if isinstance(event, Receipt)])


def apply_receipts(provider: Provider, receipts: Sequence[Receipt]) -> int:
    """Act on the receipts of a verified call. One for a message that is not ours changes nothing; return their number.

    Raises :class:`providers.errors.HookUnreadable` for more than ``MAX_RECEIPTS``. Raises ``service_unavailable``
    if too many calls with unknown receipts come at once; the provider then reports again.
    """
    if len(receipts) > MAX_RECEIPTS:
        raise HookUnreadable(f"a call contains at most {MAX_RECEIPTS} delivery reports")
    unknown = _record_all_known(provider, receipts)
    if unknown:
        _wait_for_acceptances(provider)
        # Look again even if nothing was under way: the acceptance may have been recorded since the first look.
        unknown = _record_all_known(provider, unknown)
    if unknown:
        fields = {"provider": provider.pk, "provider_name": provider.name, "receipts": len(unknown)}
        log.info("delivery reports name unknown messages", extra=fields)
    return len(unknown)


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
    receipts, messages = _find_reported(provider, receipts)
    # One transaction for each receipt: two calls that hold the rows of many messages could wait for each other.
    for place, message_id in messages.items():
        # In the message's trace, whatever else the call reports; the vendor's call has a trace of its own.
        parent, status = traceparents.of_message(message_id), receipts[place].status.value
        with tracing.span("receipt", parent=parent, link=tracing.current(), provider=provider.pk, status=status):
            _record(provider, receipts[place], message_id)
    return [receipt for place, receipt in enumerate(receipts) if place not in messages]


def _find_reported(provider: Provider, receipts: Sequence[Receipt]) -> tuple[list[Receipt], dict[int, int]]:
    """Return the receipts, each with the reading of its id that is ours, and the message of each by its place."""
    readings = [
        (place, reading)
        for place, receipt in enumerate(receipts)
        for reading in (receipt, *(replace(receipt, provider_message_id=other) for other in receipt.other_ids))
    ]
    found = sql.call_many(
        ReportedMessage,
        "find_reported",
        provider=provider.pk,
        provider_message_ids=[_identity(reading) for _, reading in readings],
        messages=[reading.message_id for _, reading in readings],
    )
    candidates: dict[int, list[tuple[Receipt, int]]] = {}
    for row in sorted(found, key=lambda row: row.place):
        place, reading = readings[row.place - 1]
        candidates.setdefault(place, []).append((reading, row.message_id))
    chosen = list(receipts)
    messages = {}
    for place, several in candidates.items():
        if (one := _the_one(several)) is not None:
            chosen[place], messages[place] = one
    return chosen, messages


def _the_one(candidates: list[tuple[Receipt, int]]) -> tuple[Receipt, int] | None:
    """Return the first reading, but of several messages the one to the number that the report tells."""
    receipt = candidates[0][0]
    ids = {message_id for _, message_id in candidates}
    if not receipt.phone or (len(ids) == 1 and not receipt.is_for_phone):
        return candidates[0]
    addresses = Message.objects.filter(pk__in=ids).values_list("pk", "recipient__address")
    to_phone = {pk for pk, address in addresses if address.endswith(receipt.phone.lstrip("0"))}
    fitting = [candidate for candidate in candidates if candidate[1] in to_phone]
    return next(iter(fitting or ([] if receipt.is_for_phone else candidates)), None)


def _record(provider: Provider, receipt: Receipt, message_id: int) -> None:
    price = receipt.price and prices.price(receipt.price.amount, receipt.price.currency)
    taken = sql.call(
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
    if taken.is_changed and metrics.is_on():
        _count(provider, receipt, message_id)
    is_about_account = receipt.is_no_account or receipt.is_opted_out
    if not (taken.is_new and receipt.is_suppressed) and not (taken.is_believed and is_about_account):
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
    if is_about_account:
        sql.call("note_no_account", recipient=message.recipient_id, provider=provider.pk)
    if receipt.is_opted_out:
        provider_alerts.alert_opt_outs(message.project_id, provider.pk, provider.name, provider.project_id is None)


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
