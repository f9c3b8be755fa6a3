"""The reports of the sandbox, which no vendor sends: receipts that come later, and a user who starts a bot.

Each is read off the rows, so a worker that dies loses none. Several workers may tell the same one, which changes
nothing: receipts only go forward, and an update of a bot is stored once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from providers.base import BotEvent, BotStarted, ContactShared, Receipt, ReceiptStatus
from providers.sandbox import BOUNCE_SECONDS, LATE_SECONDS, RECEIPT_SECONDS, START_SECONDS, Simulated, outcome_of
from verification import sql
from verification.core.session_rules import LONGEST_SESSION_SECONDS
from verification.models import Message, MessageStatus, Provider, Session
from verification.services.delivery import receipts
from verification.services.records.batches import run_each
from verification.services.sessions import bot_updates

BATCH = 500  # messages, and sessions, of one look: more than a second of tests makes
BOUNCED = "The mailbox or number does not exist (sandbox)."


def report() -> int:
    """Tell what is due in test projects, and return the number of reports."""
    accounts = Provider.objects.working().filter(type__in=("sandbox", "sandbox_bot"), project__is_sandbox=True)
    providers = {row.pk: row for row in accounts}
    if not providers:
        return 0
    bots = [row for row in providers.values() if row.type == "sandbox_bot"]
    return _send_receipts(providers) + sum(map(_start_bot, bots))


def _send_receipts(providers: dict[int, Provider]) -> int:
    now = sql.now()
    # The end of the wait tells how long a message has waited, and is what the index has.
    due = Message.objects.filter(
        status=MessageStatus.SENT,
        due_at__range=(now, now + timedelta(seconds=RECEIPT_SECONDS - BOUNCE_SECONDS)),
        provider__in=list(providers),
    ).select_related("recipient")

    def report_on(message: Message) -> bool:
        waited = RECEIPT_SECONDS - (message.due_at - now).total_seconds()
        receipt = _receipt_of(message, waited=waited)
        if receipt:
            receipts.apply_receipts(providers[message.provider_id or 0], [receipt])
        return receipt is not None

    return sum(run_each(due.order_by("due_at")[:BATCH], report_on, job="receipts of the sandbox"))


def _receipt_of(message: Message, *, waited: float) -> Receipt | None:
    """Return what is told of a message ``waited`` seconds after it was sent, if anything."""
    simulated, number = outcome_of(message.recipient.address), message.provider_message_id
    if simulated is Simulated.BOUNCED:
        return Receipt(ReceiptStatus.FAILED, number, error=BOUNCED, provider_status="bounced")
    if simulated is Simulated.LATE and waited >= LATE_SECONDS:
        return Receipt(ReceiptStatus.SUCCESS, number)
    return None


def _start_bot(bot: Provider) -> int:
    def start_for(session: Session) -> bool:
        if outcome_of(session.recipient.address) is not Simulated.BOT_STARTS:
            return False
        user = f"user-{session.recipient_id}"
        events: list[BotEvent] = [
            BotStarted(user, session.link_payload),
            ContactShared(user, session.recipient.address, is_own=True),
        ]
        bot_updates.store(bot, events, key=f"start {session.pk}")
        return True

    return sum(run_each(_waiting_for(bot), start_for, job="bots of the sandbox"))


def _waiting_for(bot: Provider) -> Iterable[Session]:
    """Return the open sessions whose code has waited for the bot long enough."""
    now = sql.now()
    waiting = Session.objects.filter(
        project=bot.project_id, is_open=True, awaited_channel=bot.channel, expires_at__gt=now
    )
    # The first moment is for the index alone: without it, every look reads all that the project keeps.
    waiting = waiting.filter(
        created_at__range=(now - timedelta(seconds=LONGEST_SESSION_SECONDS), now - timedelta(seconds=START_SECONDS))
    )
    return waiting.select_related("recipient").order_by("-created_at")[:BATCH]
