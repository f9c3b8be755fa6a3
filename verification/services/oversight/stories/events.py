"""The events of a story, in their order: pure functions of the rows and the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import urlsplit

from django.db.models import Model

from verification.models import Callback, ChannelType, Choice, DeliveryAttempt, Message, MessageStatus
from verification.services.oversight.stories.providers import passed_over
from verification.services.oversight.stories.rows import Rows, attempts_of
from verification.services.oversight.stories.words import Tone, answer_of, channel_name, plural, sentence
from verification.services.records.decisions import RULES

GUARDED_CHANNELS = ("sms", "voice")
# A receipt that comes with the acceptance is recorded with it, within the time of one statement.
AT_ONCE = timedelta(milliseconds=5)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the story. ``row`` is what it is about, where that has a page of its own."""

    at: datetime
    text: str
    detail: str = ""
    tone: Tone = Tone.PLAIN
    row: Model | None = None


def events_of(rows: Rows, now: datetime) -> list[Event]:
    """Return what happened, the earliest first. Events of one moment keep the order in which they follow."""
    told = [*_request(rows), *_refusals(rows)]
    for place, message in enumerate(rows.messages):
        told += _sending(rows, message, place)
        told += _end(message)
        told += _callback(message)
    told += [*_checks(rows), *_token(rows, now), *_over(rows, now)]
    return sorted(told, key=lambda event: event.at)


def _request(rows: Rows) -> Iterator[Event]:
    session = rows.session
    if session is None:
        return
    kinds = [word for word, is_on in (("digits", session.code_digits), ("letters", session.code_letters)) if is_on]
    facts = [f"Language {session.language}", f"a code of {session.code_length} {' and '.join(kinds)}"]
    if session.is_challenged:
        facts.append("a challenge was passed")
    if session.is_test:
        facts.append("a test login")
    asks = "Your app asked for a code" if rows.messages or session.refusal else "Your app opened a session"
    yield Event(session.created_at, asks, ", ".join(facts))


def _refusals(rows: Rows) -> Iterator[Event]:
    for decision in rows.decisions:
        rule = RULES[decision.rule]
        times = f", {decision.count} times within the hour" if decision.count > 1 else ""
        yield Event(
            max(decision.first_at, rows.began_at),
            f"Refused: {rule.title[0].lower()}{rule.title[1:]}{times}",
            f"{rule.meaning} The log names {decision.subject} alone, which another number may share.",
            Tone.FAIR,
            decision,
        )


def _sending(rows: Rows, message: Message, place: int) -> Iterator[Event]:
    """Tell how a message came about, which providers were passed over, and what each one that was asked answered."""
    text, detail = _why_this_channel(rows, message, place)
    yield Event(message.created_at, text, detail, row=message)
    for provider, why in passed_over(rows, message):
        yield Event(message.created_at, f"{provider.name} was not asked", why, row=provider)
    for attempt in attempts_of(message):
        answer = answer_of(attempt.outcome)
        took = f"after {attempt.latency_ms:,} ms"
        asked = f"It was asked {Choice(attempt.choice).label}." if attempt.choice in Choice.values else ""
        said = [
            asked,
            attempt.error,
            f"Its answer: {attempt.provider_status}." if attempt.provider_status else "",
            cost_words(attempt, message.channel),
        ]
        yield Event(
            attempt.created_at,
            f"{answer.text.format(name=attempt.provider_name)}, {took}",
            " ".join(filter(None, (sentence(each) for each in said))),
            answer.tone,
            attempt.provider,
        )


def cost_words(attempt: DeliveryAttempt, channel: str) -> str:
    """Return an attempt's size and price, such as "2 SMS, 0.09 USD"; empty for one that costs nothing for sure."""
    if attempt.segments is None:
        return ""
    size = f"{attempt.segments} SMS" if channel == ChannelType.SMS else "1 message"
    if attempt.price is None or attempt.currency is None:
        return f"{size}, price unknown"
    return f"{size}, {price_words(attempt.price)} {attempt.currency}"


def price_words(price: Decimal) -> str:
    """Write a price with all its places, and at least the two that money is written with."""
    whole, _, places = f"{price.normalize():f}".partition(".")
    return f"{int(whole):,}.{places.ljust(2, '0')}"


def _why_this_channel(rows: Rows, message: Message, place: int) -> tuple[str, str]:
    channel = channel_name(message.channel)
    session = rows.session
    if session is None:
        pinned = message.pinned_provider
        asked = f"Your server asked for a message over {channel}"
        return asked, f"It named the provider: {pinned.name} and no other." if pinned else ""
    if place:
        last = rows.messages[place - 1]
        if last.channel == message.channel:
            return f"Sent again over {channel}", "The user asked for it once more."
        # The time for a fall-back goes once it was taken up, whoever had sent the code over another channel before.
        may_be_ours = rows.falls_back and last.fallback_at is None
        chose = f"the user chose {channel}" + (", or the project's order of fall-back did" if may_be_ours else "")
        return f"Sent over {channel} as well", f"{channel_name(last.channel)} had not brought it: {chose}."
    return f"{channel} was chosen", _why_first(rows, message)


def _why_first(rows: Rows, message: Message) -> str:
    """Return why a session's code first went this way, as far as rows tell: not whether the app named the channel."""
    session, recipient = rows.session, rows.recipient
    if session and session.refusal == "guarded" and message.channel not in GUARDED_CHANNELS:
        return "The traffic guard refused SMS and calls to this number."
    was_verified = recipient.verified_at is not None and recipient.verified_at < message.created_at
    if was_verified and recipient.verified_channel == message.channel:
        return "Your app named it, or it was taken as the recipient had last verified over it."
    return "Your app named it, or it was the first that the recipient could be reached over."


def _end(message: Message) -> Iterator[Event]:
    """Tell how a message ended, where that is more than a provider's answer."""
    if message.lost_leases:
        yield Event(
            message.finished_at or message.due_at,
            f"A worker lost the message {plural(message.lost_leases, 'time')}",
            "It died or could not record the outcome, so a provider may have sent it without a line here.",
            Tone.FAIR,
            message,
        )
    if message.finished_at is None or message.is_test:
        return
    if message.status == MessageStatus.SUCCESS:
        if message.sent_at is None or message.finished_at - message.sent_at < AT_ONCE:
            yield Event(message.finished_at, "Counted as delivered", "Its provider gives no receipts.", Tone.GOOD)
        else:
            yield Event(message.finished_at, "Delivered, says the provider's receipt", "", Tone.GOOD)
        return
    was_sent = message.sent_at is not None
    if message.status == MessageStatus.FAILED:
        text = "Not delivered, says the provider's receipt" if was_sent else "The message was given up"
    else:
        text = "No receipt came" if was_sent else "The message's time ended"
    said = [attempt.error for attempt in attempts_of(message)][-1:]
    detail = "" if message.error in said else sentence(message.error or "")  # the line before has these words
    yield Event(message.finished_at, text, detail, Tone.FAIR if was_sent else Tone.BAD)


def _checks(rows: Rows) -> Iterator[Event]:
    session = rows.session
    if session is None:
        return
    for place, wrong in enumerate(rows.wrong_codes, start=1):
        locks = place == session.attempts_max
        yield Event(
            wrong.created_at,
            f"Wrong code, {place} of {session.attempts_max}" + (": the session is locked" if locks else ""),
            _from(wrong.subnet),
            Tone.BAD if locks else Tone.FAIR,
        )
    if session.verified_at:
        yield Event(session.verified_at, "Right code", _from(rows.token.subnet if rows.token else ""), Tone.GOOD)


def _token(rows: Rows, now: datetime) -> Iterator[Event]:
    token = rows.token
    if token is None:
        return
    if token.used_at:
        yield Event(token.used_at, "Your server redeemed the verify token", "The user is proved to it.", Tone.GOOD)
    elif token.expires_at <= now:
        yield Event(token.expires_at, "The verify token ran out", "Your server did not redeem it.", Tone.BAD)


def _over(rows: Rows, now: datetime) -> Iterator[Event]:
    session = rows.session
    if session and not session.verified_at and session.expires_at <= now:
        yield Event(session.expires_at, "The session ended", "From then on its code was worth nothing.")


def _callback(message: Message) -> Iterator[Event]:
    callback = getattr(message, "callback", None)
    if callback is None:
        return
    host = urlsplit(callback.url).hostname or "your server"
    yield Event(callback.created_at, f"A callback to {host} was due", row=callback)
    tries = sorted(callback.attempts.all(), key=lambda attempt: attempt.pk)
    for attempt in tries:
        is_taken = attempt.status is not None and 200 <= attempt.status < 300
        said = f"{host} answered HTTP {attempt.status}" if attempt.status is not None else f"{host} did not answer"
        error = "" if attempt.error == f"HTTP {attempt.status}" else sentence(attempt.error)
        took = f", after {attempt.latency_ms:,} ms"
        yield Event(attempt.created_at, said + took, error, Tone.GOOD if is_taken else Tone.FAIR, callback)
    if callback.delivered_at is None:
        yield _callback_left(callback, tries[-1].created_at if tries else callback.created_at)


def _callback_left(callback: Callback, last_at: datetime) -> Event:
    """Tell what becomes of a callback that no try has delivered so far."""
    if callback.due_at is None:
        return Event(
            last_at, f"The callback was given up after {plural(callback.tries, 'call')}", "", Tone.BAD, callback
        )
    next_at = f"{callback.due_at:%H:%M:%S} UTC"
    return Event(last_at, "The callback waits for its next try", f"It is due at {next_at}.", row=callback)


def _from(subnet: str) -> str:
    return f"From {subnet}." if subnet else ""
