"""Delivery: claim a message, offer it to its providers in turn, record what became of it."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from providers.base import Adapter, Connection, Outcome, OutgoingMessage, Result
from verification import sql, wake
from verification.crypto import DecryptionFailed
from verification.fresh import Remembered
from verification.models import MessageStatus, Subscription
from verification.services.delivery.asking import ask, note_fault
from verification.services.delivery.compose import addressed, compose
from verification.services.delivery.connections import sender_of
from verification.services.delivery.fairness import Shares
from verification.services.delivery.record import attempt_of, finish
from verification.services.gateways.accounts import LiveProvider, forget_providers
from verification.services.gateways.paces import CALL_SECONDS, is_late
from verification.services.gateways.routing import is_aside, is_due_for_probe, providers_for
from verification.services.notices import provider_alerts
from verification.services.projects.snapshot import ProjectConfig, load_project
from verification.services.protection.admission import stop_reason
from verification.services.protection.suppressions import suppress

log = logging.getLogger(__name__)

OFFER_SECONDS = 10  # after these no further provider is asked within one claim; the message goes back instead
NOTE_SECONDS = 2  # for what is done before the first provider is asked and after the last one has answered
# A worker that dies loses its messages then, and the sweep of another takes them within a second or two.
LEASE_SECONDS = OFFER_SECONDS + int(CALL_SECONDS) + NOTE_SECONDS
HAND_OVER_SECONDS = 2.0  # so long a message is left to the workers that hold its provider's connection
FIRST_RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 15.0
UNCONFIRMED_SECONDS = 600  # how long a message of unknown outcome may be confirmed by a receipt
LEASES_TO_LOSE = 1  # a worker that died with a message is forgiven once

RETRYABLE = frozenset({Outcome.TEMPORARY, Outcome.RATE_LIMITED, Outcome.RECIPIENT_LIMITED})
FAULTS = frozenset({Outcome.TEMPORARY, Outcome.UNKNOWN, Outcome.MISCONFIGURED, Outcome.OUT_OF_FUNDS})
TOLD = frozenset({Outcome.MISCONFIGURED, Outcome.OUT_OF_FUNDS, Outcome.DECLINED})  # to the owner, who may have to act
ABOUT_THE_RECIPIENT = frozenset({Outcome.REFUSED, Outcome.NO_ACCOUNT})

recent_projects: Remembered[int, ProjectConfig | None] = Remembered()
_stopping = threading.Event()
_woken = Shares()


def stop_offering() -> None:
    """This process is about to end: no further provider is asked, and what nobody took yet goes back to be retried."""
    _stopping.set()


def share_threads(shares: Shares) -> None:
    """The threads of this process that are woken to :func:`deliver` are shared by projects from here on."""
    global _woken
    _woken = shares


def deliver(message_id: int, *, is_connected: bool = False) -> bool:
    """Deliver the message, or in its place the freshest that is due, where it was taken already, the wake-up for it
    comes late, or its project has its share of the threads. False if there was nothing to do. ``is_connected`` takes it
    though it was handed over just now.
    """
    claimed = _claim(message_id, _woken, is_connected=is_connected)
    for message in claimed:
        deliver_claimed(message, _woken, is_connected=is_connected)
    return bool(claimed)


def claim_due(*, limit: int, idle_seconds: float, shares: Shares | None = None) -> list[Any]:
    """Claim up to ``limit`` messages, the freshest first: those due for their next try, for which there is no wake-up,
    and those that have been due for ``idle_seconds``. Each is to be delivered with the same ``shares``.
    """
    return _claim(None, shares or Shares(), limit=limit, idle_seconds=idle_seconds)


def deliver_claimed(message: Any, shares: Shares | None = None, *, is_connected: bool = False) -> None:
    """Offer a claimed message (a row of ``claim_messages``) to its providers. Never raises for what they do.

    With ``shares``, go on with the next one while there may be some whose wake-ups were passed over.
    """
    while True:
        may_be_more = False
        try:
            _deliver_claimed(message)
        finally:
            if shares:
                may_be_more = shares.end(message)
        if not shares or not may_be_more or _stopping.is_set():
            return
        following = _claim(message.id, shares, is_connected=is_connected)  # not due any more: any other, the freshest
        if not following:
            return
        [message] = following


def _claim(
    message_id: int | None, shares: Shares, *, limit: int = 1, idle_seconds: float = 0, is_connected: bool = False
) -> list[Any]:
    return shares.claim(
        limit,
        lambda room, full, is_leaving_out: sql.call_many(
            "claim_messages",
            message=message_id,
            limit=room,
            lease_seconds=LEASE_SECONDS,
            idle_seconds=idle_seconds,
            is_connected=is_connected,
            full_projects=full,
            others_only=is_leaving_out,
        ),
    )


def _deliver_claimed(message: Any) -> None:
    if message.is_over:
        finish(message, MessageStatus.EXPIRED, error="Its session or its time ended before it could be sent.")
    elif message.lost_leases > LEASES_TO_LOSE:
        finish(
            message,
            MessageStatus.SENT,
            error="Workers died while sending it; whether it arrived is not known.",
            seconds=UNCONFIRMED_SECONDS,
        )
    else:
        _Offer(message).run()


@dataclass(slots=True)
class _Answer:
    """The last refusal, and in how many seconds trying again makes sense: never, or as soon as any provider allows."""

    error: str = "No enabled provider serves this channel."
    retry_after: float = math.inf
    is_unknown: bool = False


class _Offer:
    """One claim's round through the providers of a message."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self.started_at = time.monotonic()
        self.answer = _Answer(is_unknown=bool(message.unknown_at))
        self.faults: list[tuple[LiveProvider, Result]] = []
        self.has_asked = False

    def run(self) -> None:
        message = self.message
        if reason := self._stop_reason():
            finish(message, MessageStatus.FAILED, error=reason)
            return
        try:
            outgoing = compose(message)
        except DecryptionFailed:
            log.error("message %s: its code cannot be decrypted; is a key missing?", message.id)
            finish(message, MessageStatus.FAILED, error="Its code cannot be read any more.")
            return
        try:
            self._ask_in_turn(message, outgoing)
        finally:
            # After the attempts are on record, which the judgement counts.
            for provider, result in self.faults:
                if result.outcome in TOLD:
                    provider_alerts.tell_owner(message.project_id, provider, result)
                if result.outcome is not Outcome.DECLINED:
                    note_fault(provider, result)

    def _stop_reason(self) -> str:
        message = self.message
        project = recent_projects.get(message.project_id, lambda: load_project(message.project_id))
        return stop_reason(project, message.channel, message.address) if project else ""

    def _ask_in_turn(self, message: Any, outgoing: OutgoingMessage) -> None:
        had_their_turn: set[int] = set()
        while providers := self._next_providers(had_their_turn):
            provider = providers[0]
            had_their_turn.add(provider.id)
            sender = sender_of(provider)
            if sender is None:
                if self._is_handed_over(provider):
                    return
                continue
            if not self._may_ask(provider):
                continue
            if _stopping.is_set() or self._elapsed() > OFFER_SECONDS or self._lives_seconds() <= 0:
                self.answer.retry_after = 0
                break
            if self.has_asked and not self._is_still_wanted():
                finish(message, MessageStatus.SENDING, seconds=0)  # whoever claims it next sees what it came to
                return
            self.has_asked = True
            seconds = provider.pace.seconds(provider.adapter, is_last=not _has_able(providers[1:]))
            if self._is_settled_by(provider, sender, addressed(outgoing, provider, message), seconds):
                return
        self._conclude()

    def _next_providers(self, had_their_turn: set[int]) -> list[LiveProvider]:
        """As things stand now: to ask those before them may have taken many seconds."""
        message = self.message
        return providers_for(
            project_id=message.project_id,
            channel=message.channel,
            address=message.address,
            pinned_id=message.pinned_provider_id,
            left_out={*message.unknown_at, *message.no_account_at, *had_their_turn},
            accounts=message.accounts,
        )

    def _is_still_wanted(self) -> bool:
        """False if the code is of no use any more, must not be sent, or is not ours to send."""
        wanted = sql.call("is_still_wanted", message=self.message.id, claims=self.message.claims).is_still_wanted
        return wanted and not self._stop_reason()

    def _is_handed_over(self, provider: LiveProvider) -> bool:
        """Leave the message to a worker that holds this provider's connection. False if it was left to one already
        and none took it, or the provider is set aside: then the next provider has its turn.
        """
        if self.message.is_handed_over or is_aside(provider, timezone.now()):
            self.answer.error = "The provider is not connected."
            self.answer.retry_after = 0
            return False
        sql.call("hand_over", message=self.message.id, claims=self.message.claims, seconds=HAND_OVER_SECONDS)
        wake.wake_connected(self.message.id)
        return True

    def _may_ask(self, provider: LiveProvider) -> bool:
        """False for a provider that is set aside; of those whose time aside is over, one message is the probe."""
        now = timezone.now()
        if not is_aside(provider, now) and (
            not is_due_for_probe(provider, now) or sql.call("take_probe", provider=provider.id).take_probe
        ):
            return True
        self.answer.error = "The provider keeps failing and is set aside for a while."
        self.answer.retry_after = 0
        return False

    def _is_settled_by(
        self, provider: LiveProvider, sender: Adapter | Connection, outgoing: OutgoingMessage, seconds: float
    ) -> bool:
        """Ask one provider. True if that decided the message."""
        asked_at = time.monotonic()
        result = ask(provider, sender, outgoing, seconds=seconds)
        latency = time.monotonic() - asked_at
        is_settled = self._record(provider, result, attempt_of(provider, result, latency=latency))
        self._judge(provider, result)
        if is_late(result.outcome, latency) and not provider.pace.is_late:
            forget_providers()  # so that no other thread of this process asks it first for the rest of a second
        return is_settled

    def _record(self, provider: LiveProvider, result: Result, attempt: dict[str, Any]) -> bool:
        """Before anything else that may fail, or it would be sent again. True if the answer decides the message."""
        if result.outcome is Outcome.ACCEPTED:
            status = MessageStatus.SUCCESS if result.is_delivered else MessageStatus.SENT
            window = provider.adapter.receipt_window_seconds or UNCONFIRMED_SECONDS
            finish(self.message, status, seconds=None if result.is_delivered else window, **attempt)
            return True
        log.info(
            "message %s: %s answered %s: %s",
            self.message.id,
            provider.name,
            result.outcome,
            attempt["attempt_error"] or "-",
        )
        if result.outcome in ABOUT_THE_RECIPIENT:
            finish(self.message, MessageStatus.FAILED, error=result.error, **attempt)
            return True
        finish(self.message, None, **attempt)
        self._note(result)
        return False

    def _judge(self, provider: LiveProvider, result: Result) -> None:
        """What the answer says about the provider, or about the recipient's having an account there."""
        if result.is_suppressed:
            message = self.message
            suppress(
                project_id=message.project_id,
                recipient_id=message.recipient_id,
                channel=message.channel,
                reason=result.error,
            )
        if result.outcome is Outcome.NO_ACCOUNT:
            sql.call("note_no_account", recipient=self.message.recipient_id, provider=provider.id)
        elif result.outcome is Outcome.REFUSED and provider.adapter.needs_start:
            # The user has blocked the bot, or is gone; the messenger tells us when that changes.
            Subscription.objects.filter(provider_id=provider.id, recipient_id=self.message.recipient_id).update(
                is_active=False
            )
        elif result.outcome in FAULTS | TOLD or (result.outcome is Outcome.RATE_LIMITED and result.retry_after):
            self.faults.append((provider, result))
        elif result.outcome is Outcome.ACCEPTED and provider.open_until is not None:
            sql.call("note_provider_success", provider=provider.id)
            forget_providers()  # so that no other thread of this process leaves it out for the rest of a second
            log.info("%s works again.", provider.name)

    def _note(self, result: Result) -> None:
        self.answer.error = result.error or "The provider did not accept it."
        if result.outcome is Outcome.UNKNOWN:
            self.answer.is_unknown = True
        if result.outcome in RETRYABLE:
            self.answer.retry_after = min(self.answer.retry_after, result.retry_after or 0)

    def _conclude(self) -> None:
        """Nobody took it: try again while it lives, wait for a receipt that may come, or give up."""
        backoff = min(MAX_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** (self.message.claims - 1))
        delay = max(backoff, self.answer.retry_after)
        if delay < self._lives_seconds():
            finish(self.message, MessageStatus.SENDING, seconds=delay)
        elif self.answer.is_unknown:
            finish(self.message, MessageStatus.SENT, seconds=UNCONFIRMED_SECONDS)
        else:
            finish(self.message, MessageStatus.FAILED, error=self.answer.error)

    def _elapsed(self) -> float:
        return time.monotonic() - self.started_at

    def _lives_seconds(self) -> float:
        return float(self.message.lives_seconds) - self._elapsed()


def _has_able(providers: list[LiveProvider]) -> bool:
    now = timezone.now()
    return any(not is_aside(provider, now) for provider in providers)
