"""One claim's round: offer a message to its providers in turn, and record what became of it."""

from __future__ import annotations

import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_noop

from providers.base import Adapter, Connection, Outcome, OutgoingMessage, Result
from verification import sql
from verification.core import metrics, tracing
from verification.core.addresses import Address, NumberType, country_of, kind_of
from verification.core.caching import FreshCache
from verification.core.crypto import DecryptionFailed, KeyUnknown
from verification.models import ChannelType, Choice, MessageStatus, Subscription
from verification.services.delivery import record
from verification.services.delivery.call import call_provider, log_fields, record_failure
from verification.services.delivery.compose import addressed, compose
from verification.services.delivery.connections import sender_of
from verification.services.delivery.policy import POLICY
from verification.services.notifications import provider_alerts
from verification.services.projects.channel_config import FIXED_ORDER
from verification.services.projects.snapshot import ProjectConfig, load_project
from verification.services.protection import risk
from verification.services.protection.eligibility import why_not_to_send
from verification.services.protection.recipient import RecipientPolicy, policy_for
from verification.services.protection.suppressions import suppress
from verification.services.providers.active import LiveProvider, forget_providers
from verification.services.providers.latency import is_late
from verification.services.providers.routing import Order, is_circuit_open, is_due_for_probe, providers_for
from verification.sql.rows import ClaimedMessage
from verification.worker import wake

log = logging.getLogger(__name__)

ROUND_SECONDS = 10  # after these no further provider is asked within one claim; the message is given back.
HAND_OVER_SECONDS = 2.0  # how long a message is kept for the workers that hold its provider's connection.
# The pause after the first claim, the second and so on, in seconds; the last one holds for all later claims. It is so
# short that a code of some minutes gets several rounds, and each is longer than the one before. A hand-over and a lost
# lease are claims too.
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0, 15.0)
MAX_CLAIMS = 100_000  # more than a message's claims, so that no two rounds of any messages draw by the same seed
UNCONFIRMED_SECONDS = 600  # that a message which may have been sent waits for a receipt: as long as a manual send lives

NO_PROVIDER = gettext_noop("No active provider serves this channel.")

_MESSENGERS = frozenset({ChannelType.MESSENGER_A, ChannelType.MESSENGER_B})

_projects: FreshCache[int, ProjectConfig | None] = FreshCache()


def receipt_seconds(message: ClaimedMessage, adapter: Adapter | None = None) -> float:
    """Return how long a receipt is awaited: the provider's usual time, and no less than a session lives."""
    usual = (adapter and adapter.receipt_window_seconds) or UNCONFIRMED_SECONDS
    if message.session_id is None or (adapter and adapter.is_simulation):
        return usual
    return max(usual, message.lives_seconds)


@dataclass(slots=True)
class _LastRefusal:
    """The last refusal. ``retry_after``: the earliest retry any provider allows, in seconds; infinite if none does."""

    error: str = NO_PROVIDER
    retry_after: float = math.inf
    may_have_sent: bool = False  # some provider was asked whose answer is not known


class Round:
    """One claim's round through the providers of a message. ``stopping`` is set when this process is about to end."""

    def __init__(self, message: ClaimedMessage, *, stopping: threading.Event) -> None:
        self.message = message
        self.stopping = stopping
        self.started_at = time.monotonic()
        self.country = country_of(message.address)  # derived once: a North American number takes 0.3 ms
        self.address = Address(message.address, kind_of(message.address), self.country, NumberType.NONE)
        self.refusal = _LastRefusal(may_have_sent=bool(message.unknown_at))
        self.complaints: list[tuple[LiveProvider, Result]] = []
        self.has_asked = False
        # A worker that the message is handed over to draws as the one that handed it over, so that it asks the same.
        self.seed = message.id * MAX_CLAIMS + message.claims - message.is_handed_over

    def run(self) -> None:
        """Take the message through its round. A fault of ours before any provider was asked costs it a pause, no lease.

        While the database is away, it cannot be given back: its lease ends, and the sweep delivers it.
        """
        try:
            self._run()
        except Exception as error:
            if not self.has_asked and not sql.is_away(error):
                record.give_back(self.message, in_seconds=self._pause())
            raise

    def _run(self) -> None:
        message = self.message
        recipient_policy = self._recipient_policy()
        if recipient_policy and (
            reason := why_not_to_send(recipient_policy, message.channel)
            or risk.why_not_to_send(message, recipient_policy)
        ):
            record.close(message, MessageStatus.FAILED, error=reason)
            return
        try:
            outgoing = compose(message, country=self.country)
        except KeyUnknown:
            log.error("its code is under a key that this worker does not have", extra=self._log_fields())
            record.give_back(message, in_seconds=self._pause())
            return
        except DecryptionFailed:
            log.error("its code cannot be decrypted", extra=self._log_fields())
            record.close(message, MessageStatus.FAILED, error="Its code cannot be read any more.")
            return
        try:
            self._ask_in_turn(outgoing)
        finally:
            self._report_complaints()

    def _project(self) -> ProjectConfig | None:
        project_id = self.message.project_id
        return _projects.get(project_id, lambda: load_project(project_id))

    def _recipient_policy(self) -> RecipientPolicy | None:
        """Return what the project says of the recipient now; None for a project that is gone."""
        project = self._project()
        return policy_for(project, self.address) if project else None

    def _ask_in_turn(self, outgoing: OutgoingMessage) -> None:
        """Ask one provider after the other until an answer decides the message, or none is left."""
        message = self.message
        had_their_turn: set[int] = set()
        while (order := self._next_providers(had_their_turn)).providers:
            provider, *others = order.providers
            choice = self._reason(order, is_first=not had_their_turn)
            had_their_turn.add(provider.id)
            sender = sender_of(provider)
            if sender is None:
                if self._hand_over(provider):
                    return
                continue
            if self.stopping.is_set():
                record.give_back(message, in_seconds=0)  # the provider was not asked: another worker goes on at once
                return
            if self._elapsed() > ROUND_SECONDS or self._lives_seconds() <= 0:
                self.refusal.retry_after = 0
                break
            if not self._take_turn(provider):
                continue
            if self.has_asked and not self._is_still_wanted():
                record.give_back(message, in_seconds=0)  # the next claim sees why, and closes it
                return
            self.has_asked = True
            seconds = provider.latency.seconds(provider.adapter, is_last=not _has_able(others))
            if self._ask_one(provider, sender, addressed(outgoing, provider, message), seconds, choice):
                return
        self._give_back_or_end()

    def _next_providers(self, had_their_turn: set[int]) -> Order:
        """Choose again each time: the earlier providers may have taken many seconds.

        A provider where the recipient has no account is not asked. One where they opted out is asked after all others:
        what it says may be about the account's sender, and its refusal costs nothing.
        """
        had = {*self.message.unknown_at, *had_their_turn}
        order = self._order({*had, *self.message.no_account_at})
        if order.providers or self.message.channel in _MESSENGERS or not self.message.no_account_at:
            return order
        return self._order(had)

    def _order(self, left_out: set[int]) -> Order:
        message, project = self.message, self._project()
        channel = project and project.channels.get(message.channel)
        return providers_for(
            project_id=message.project_id,
            channel=message.channel,
            address=message.address,
            country=self.country,
            pinned_id=message.pinned_provider_id,
            left_out=left_out,
            accounts=message.accounts,
            routing=channel.routing if channel else FIXED_ORDER,
            seed=self.seed,
        )

    def _reason(self, order: Order, *, is_first: bool) -> Choice:
        """Return why the first provider of this order is asked. One that was passed over or asked before changes it."""
        if order.choice is Choice.PINNED:
            return Choice.PINNED
        if order.providers[0].open_until is not None:
            return Choice.PROBE
        if self.has_asked or self.message.unknown_at:
            return Choice.NEXT
        return order.choice if is_first else Choice.INSTEAD

    def _is_still_wanted(self) -> bool:
        """Return whether the message is still ours to send, its code of use, and sending allowed."""
        wanted = sql.value("is_still_wanted", message=self.message.id, claims=self.message.claims)
        recipient_policy = self._recipient_policy()
        return wanted and not (recipient_policy and why_not_to_send(recipient_policy, self.message.channel))

    def _hand_over(self, provider: LiveProvider) -> bool:
        """Give the message to a worker that holds this provider's connection, and return whether that was done.

        It is not done twice: if no such worker took it in time, or the provider is set aside, the next one is asked.
        """
        if self.message.is_handed_over or is_circuit_open(provider, timezone.now()):
            self.refusal.error = "The provider is not connected."
            self.refusal.retry_after = 0
            return False
        sql.call("hand_over", message=self.message.id, claims=self.message.claims, seconds=HAND_OVER_SECONDS)
        wake.wake_connected(self.message.id)
        return True

    def _take_turn(self, provider: LiveProvider) -> bool:
        """Return whether the provider may be asked. If its time aside is over, one message of all takes the probe."""
        now = timezone.now()
        recipient = self.message.recipient_id
        if not is_circuit_open(provider, now) and (
            not is_due_for_probe(provider, now) or sql.value("take_probe", provider=provider.id, recipient=recipient)
        ):
            return True
        self.refusal.error = "The provider is paused after repeated failures."
        self.refusal.retry_after = 0
        return False

    def _ask_one(
        self,
        provider: LiveProvider,
        sender: Adapter | Connection,
        outgoing: OutgoingMessage,
        seconds: float,
        choice: Choice,
    ) -> bool:
        """Ask one provider, and record its answer. Return whether the answer decides the message."""
        asked_at = time.monotonic()
        with tracing.span("ask provider", "CLIENT", provider=provider.id, channel=self.message.channel):
            result = call_provider(provider, sender, outgoing, seconds=seconds)
            tracing.annotate(outcome=result.outcome.value, country=self.country)
        latency = time.monotonic() - asked_at
        attempt = record.attempt_of(provider, outgoing, result, latency=latency, choice=choice)
        is_decided = self._record(provider, result, attempt)
        self._count(provider, result, latency)
        self._learn(provider, result)
        if is_late(result.outcome, latency) and not provider.latency.is_late:
            forget_providers()  # else this process's other threads ask it first for up to a second more
        return is_decided

    def _count(self, provider: LiveProvider, result: Result, latency: float) -> None:
        """Count the call for the metrics. Only where there are any, the message's row is read once more."""
        if not metrics.is_on():
            return
        channel = self.message.channel
        outcome = result.outcome.value
        metrics.count_call(
            provider=provider.id, channel=channel, country=self.country, outcome=outcome, seconds=latency
        )
        if result.outcome is Outcome.ACCEPTED and (times := record.times_of(self.message.id)) and times.sent_at:
            waited = times.sent_at - times.created_at
            metrics.count_accepted(provider=provider.id, channel=channel, seconds=waited.total_seconds())

    def _record(self, provider: LiveProvider, result: Result, attempt: record.Attempt) -> bool:
        """Record the answer, and return whether it decides the message.

        Nothing that may fail comes before this: an answer that is not recorded leads to a second send.
        """
        if result.outcome is Outcome.ACCEPTED:
            if result.is_delivered:
                record.close(self.message, MessageStatus.SUCCESS, attempt=attempt)
            else:
                window = receipt_seconds(self.message, provider.adapter)
                record.await_receipt(self.message, for_seconds=window, attempt=attempt)
            return True
        is_decided = not POLICY[result.outcome].next_provider
        if is_decided:
            record.close(self.message, MessageStatus.FAILED, error=result.error, attempt=attempt)
        else:
            record.record_attempt(self.message, attempt)
            self._remember_refusal(result)
        if log.isEnabledFor(logging.INFO):
            answer = {"outcome": result.outcome.value, "error": attempt.attempt_error or None}
            log.info("a provider did not accept a message", extra=self._log_fields() | log_fields(provider) | answer)
        return is_decided

    def _learn(self, provider: LiveProvider, result: Result) -> None:
        """Note what the answer says about the recipient's account there, or about the provider."""
        message, policy = self.message, POLICY[result.outcome]
        if result.is_suppressed:
            suppress(
                project_id=message.project_id,
                recipient_id=message.recipient_id,
                channel=message.channel,
                reason=result.error,
            )
        if result.outcome in (Outcome.NO_ACCOUNT, Outcome.OPTED_OUT):
            sql.call("note_no_account", recipient=message.recipient_id, provider=provider.id)
            if result.outcome is Outcome.OPTED_OUT:
                provider_alerts.alert_opt_outs(message.project_id, provider.id, provider.name, provider.is_system)
        elif result.outcome is Outcome.REFUSED and provider.adapter.needs_start:
            # The user has blocked the bot, or is gone; the messenger tells us when that changes.
            Subscription.objects.filter(provider_id=provider.id, recipient_id=message.recipient_id).update(
                is_active=False
            )
        elif result.is_delivered and provider.id in message.no_account_at:
            sql.call("take_back_no_account", recipient=message.recipient_id, provider=provider.id)
        if policy.is_fault is not False or policy.is_paused:
            self.complaints.append((provider, result))
        elif provider.open_until is not None:
            sql.call("note_provider_success", provider=provider.id)
            forget_providers()  # else this process's other threads leave it out for up to a second more
            log.info("a provider works again", extra=log_fields(provider))

    def _report_complaints(self) -> None:
        """Tell owners and breakers of the answers that concern them, once the message itself is settled."""
        for provider, result in self.complaints:
            policy = POLICY[result.outcome]
            if policy.tells_owner:
                provider_alerts.alert_owner(self.message.project_id, provider, result)
            record_failure(provider, self.message.recipient_id, result)

    def _remember_refusal(self, result: Result) -> None:
        policy = POLICY[result.outcome]
        self.refusal.error = result.error or "The provider did not accept it."
        if policy.may_have_sent:
            self.refusal.may_have_sent = True
        if policy.again:
            self.refusal.retry_after = min(self.refusal.retry_after, result.retry_after or 0)

    def _give_back_or_end(self) -> None:
        """No provider took it: try again while the code lives, wait for a receipt that may come, or fail."""
        delay = max(self._pause(), self.refusal.retry_after)
        if delay < self._lives_seconds():
            record.give_back(self.message, in_seconds=delay)
        elif self.refusal.may_have_sent:
            record.await_receipt(self.message, for_seconds=receipt_seconds(self.message))
        else:
            record.close(self.message, MessageStatus.FAILED, error=self.refusal.error)

    def _pause(self) -> float:
        return RETRY_SECONDS[min(self.message.claims, len(RETRY_SECONDS)) - 1]

    def _log_fields(self) -> dict[str, Any]:
        """Return the fields by which a line of the log is found."""
        message = self.message
        return {
            "message_id": message.id,
            "request_id": record.request_of(message.id) or None,
            "project": message.project_id,
            "channel": message.channel,
        }

    def _elapsed(self) -> float:
        return time.monotonic() - self.started_at

    def _lives_seconds(self) -> float:
        return self.message.lives_seconds - self._elapsed()


def _has_able(providers: list[LiveProvider]) -> bool:
    now = timezone.now()
    return any(not is_circuit_open(provider, now) for provider in providers)
