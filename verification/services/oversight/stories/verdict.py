"""One sentence that says what happened, and what to do next where it went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from verification.models import DeliveryAttempt, Message, MessageStatus
from verification.services.oversight.delivery_state import WAITS_TOO_LONG
from verification.services.oversight.stories.refusals import remedy_of, why_not_sent
from verification.services.oversight.stories.rows import Rows, attempts_of
from verification.services.oversight.stories.words import (
    Advice,
    Tone,
    answer_of,
    channel_name,
    clause,
    joined,
    lasted,
    plural,
    sentence,
)

UNDER_WAY = (MessageStatus.QUEUED, MessageStatus.SENDING)
NO_PROVIDER = "No enabled provider serves this channel."  # as services/delivery/round.py writes it
REDEEM = "Let your server send the verify token to session/verify with the secret key, within 60 seconds."
NOT_ENTERED = (
    "The code arrived and was not entered. If that is frequent, look at the text of the message and at the form in your"
    " app; over SMS, at whether the route truly delivers."
)


@dataclass(frozen=True, slots=True)
class Verdict:
    sentence: str
    tone: Tone
    advice: list[Advice] = field(default_factory=list)


def verdict_of(rows: Rows, now: datetime) -> Verdict:
    if rows.session is None:
        return _of_delivery(rows, rows.messages[0], now)
    if rows.session.verified_at:
        return _of_verified(rows, now)
    if rows.session.attempts >= rows.session.attempts_max:
        tries = plural(rows.session.attempts, "wrong code")
        again = Advice("The user can ask for a new code. Many such sessions are a sign of guessing.", "guardblock")
        return Verdict(f"Not verified: {tries} locked the session.", Tone.BAD, [again])
    if rows.is_test:
        return Verdict("A test login: nothing was sent, and its code was not entered.", Tone.PLAIN)
    if not rows.messages:
        return _of_nothing_sent(rows, now)
    return _of_unverified(rows, now)


def _of_verified(rows: Rows, now: datetime) -> Verdict:
    session, token = rows.session, rows.token
    assert session and session.verified_at
    took = lasted(session.verified_at - session.created_at)
    over = f" over {channel_name(session.channel)}" if session.channel and not session.is_test else ""
    helped = _after_trouble(rows)
    if token is None or token.used_at:
        proved = ", and proved to your server" if token else ""
        return Verdict(f"Verified{over} {took} after the request{proved}{helped}.", Tone.GOOD)
    if token.expires_at > now:
        return Verdict(f"The right code came after {took}{helped}; your server may redeem it now.", Tone.GOOD)
    return Verdict(
        f"The right code came after {took}{helped}, but your server never redeemed the verify token.",
        Tone.FAIR,
        [Advice(REDEEM)],
    )


def _after_trouble(rows: Rows) -> str:
    """Return by which detour the code went out, empty if by none."""
    channels = list(dict.fromkeys(channel_name(message.channel) for message in rows.messages))
    if len(channels) > 1:
        return f", after {joined(channels[:-1])} had not brought it"
    failed = [attempt.provider_name for attempt in rows.attempts if answer_of(attempt.outcome).remedy]
    return f", though {joined(list(dict.fromkeys(failed)))} failed" if failed else ""


def _of_nothing_sent(rows: Rows, now: datetime) -> Verdict:
    session = rows.session
    assert session
    why = why_not_sent(session)
    if session.channel or not why:
        return Verdict("Not verified; the messages of this session are no longer kept.", Tone.PLAIN)
    remedy = remedy_of(session.refusal)
    is_waiting = bool(session.awaited_channel) and not session.refusal and session.expires_at > now
    start = "No code went out yet" if is_waiting else "No code went out"
    tone = Tone.PLAIN if is_waiting or not (session.refusal or session.awaited_channel) else Tone.BAD
    return Verdict(f"{start}: {why[0].lower()}{why[1:]}", tone, [remedy] if remedy else [])


def _of_unverified(rows: Rows, now: datetime) -> Verdict:
    """Tell of a session whose code was sent, or was to be, and not entered rightly."""
    session = rows.session
    assert session
    best = _furthest(rows.messages)
    if best.sent_at is None and best.status != MessageStatus.SUCCESS:
        return _of_lost(rows, rows.messages) if best.status not in UNDER_WAY else _of_waiting(best, now)
    told = _of_delivery(rows, best, now)
    got = told.sentence.rstrip(".")
    if session.expires_at > now and session.is_open:
        left = lasted(session.expires_at - now)
        return Verdict(f"{got}; the user has {left} left to enter the code.", Tone.PLAIN)
    if rows.wrong_codes:
        tries = plural(len(rows.wrong_codes), "wrong code")
        return Verdict(f"{got}; the user entered {tries} and then gave up.", Tone.FAIR, told.advice)
    advice = told.advice or [Advice(NOT_ENTERED, "messagetemplate")]
    return Verdict(f"{got}; nobody entered the code.", Tone.FAIR, advice)


def _furthest(messages: list[Message]) -> Message:
    """Return the message that came nearest to the recipient; of several, the last."""
    order = (MessageStatus.FAILED, MessageStatus.EXPIRED, *UNDER_WAY, MessageStatus.SENT, MessageStatus.SUCCESS)
    return max(
        messages, key=lambda each: (each.sent_at is not None, order.index(MessageStatus(each.status)), each.created_at)
    )


def _of_delivery(rows: Rows, message: Message, now: datetime) -> Verdict:
    """Tell how far one message came."""
    if message.is_test:
        return Verdict("A test login's message: nothing was sent.", Tone.PLAIN)
    began = rows.began_at
    by = f" by {message.provider.name}" if message.provider else ""
    over = channel_name(message.channel)
    if message.status == MessageStatus.SUCCESS and message.finished_at:
        return Verdict(f"Delivered over {over}{by} after {lasted(message.finished_at - began)}.", Tone.GOOD)
    if message.status == MessageStatus.SENT and message.sent_at:
        took = lasted(message.sent_at - began)
        return Verdict(f"Accepted over {over}{by} after {took}; its receipt has not come yet.", Tone.PLAIN)
    if message.status in UNDER_WAY:
        return _of_waiting(message, now)
    if message.sent_at:
        ends = clause(message.error or "the provider's receipt says that it did not arrive")
        advice = Advice(
            "Ask the provider what became of it. Its receipts are on the provider's page.", row=message.provider
        )
        return Verdict(f"Accepted over {over}{by}, but {ends}.", Tone.FAIR, [advice] if message.provider else [])
    return _of_lost(rows, [message])


def _of_waiting(message: Message, now: datetime) -> Verdict:
    waits = now - message.created_at
    if waits < WAITS_TOO_LONG and not attempts_of(message):
        return Verdict(f"On its way over {channel_name(message.channel)} for {lasted(waits)}.", Tone.PLAIN)
    if message.claims == 0:
        remedy = Advice("No worker has taken it: see whether one runs, on the overview or with manage.py health.")
        return Verdict(f"Waiting for {lasted(waits)}: no worker has taken the message.", Tone.BAD, [remedy])
    advice = list(_advice(attempts_of(message)))
    return Verdict(f"Not sent so far: it is tried again since {lasted(waits)}.", Tone.FAIR, advice)


def _of_lost(rows: Rows, messages: list[Message]) -> Verdict:
    """Tell of messages that no provider took."""
    what = "No code" if rows.session else "No message"
    channels = list(dict.fromkeys(channel_name(message.channel) for message in messages))
    attempts = [attempt for message in messages for attempt in attempts_of(message)]
    last = messages[-1]
    said = (attempts[-1].error if attempts else "") or last.error or ""
    if attempts:
        names = joined(list(dict.fromkeys(attempt.provider_name for attempt in attempts)))
        why = f"{names} did not take it" + (f" (“{sentence(said).rstrip('.')}”)" if said else "")
    else:
        why = clause(said or "why is not known")
    told = f"{what} went out over {joined(channels, 'or')}: {why}."
    return Verdict(told, Tone.BAD, list(_advice(attempts)) or [_without_attempt(last)])


def _without_attempt(message: Message) -> Advice:
    """Return what to do where no provider was asked, or the answers suggest nothing."""
    if message.error == NO_PROVIDER:
        return Advice("Add a provider of this channel, or enable one that serves this number.", "provider")
    if message.status == MessageStatus.EXPIRED and message.claims == 0:
        return Advice("No worker took it in time: see whether one runs, on the overview or with manage.py health.")
    return Advice("See which providers of the channel are enabled, and which are set aside.", "provider")


def _advice(attempts: list[DeliveryAttempt]) -> Iterator[Advice]:
    """Return the remedy of each provider's last answer, once each."""
    last = {attempt.provider_name: attempt for attempt in attempts}
    for name, attempt in last.items():
        answer = answer_of(attempt.outcome)
        if answer.remedy:
            row = None if answer.page else attempt.provider
            yield Advice(answer.remedy.format(name=name), answer.page, row)
