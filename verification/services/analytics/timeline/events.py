"""The events of a story, in their order: pure functions of the rows and the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from providers.errors import Outcome
from verification.core.formats import CLOCK, grouped, language_name, written_moment
from verification.models import (
    ChannelType,
    Choice,
    Decision,
    DeliveryAttempt,
    GuardRule,
    Message,
    MessageStatus,
    WebhookAttempt,
    WebhookEvent,
)
from verification.models.project_settings.risk import RiskCheck
from verification.services.analytics.timeline.providers import awaited, passed_over, set_aside, waiting_for
from verification.services.analytics.timeline.refusals import refusal_of
from verification.services.analytics.timeline.rows import Rows, attempts_of, host_of
from verification.services.analytics.timeline.words import (
    REJECTED_REQUEST,
    Tone,
    answer_of,
    channel_name,
    http_status,
    is_own_test,
    lowered,
    sentence,
)
from verification.services.protection.client_networks import UNKNOWN_NETWORK
from verification.services.records.decisions import RULES, rule_of

GUARDED_CHANNELS = ("sms", "voice")
RISK_TOLD = {  # what a risk check says of the number
    "allow": gettext_lazy("{check} allowed the number ({latency_ms} ms)"),
    "challenge": gettext_lazy("{check} required a challenge ({latency_ms} ms)"),
    "deny": gettext_lazy("{check} denied the number ({latency_ms} ms)"),
    "unknown": gettext_lazy("{check} did not respond ({latency_ms} ms)"),
}
# A receipt that comes with the acceptance is recorded with it, within the time of one statement.
AT_ONCE = timedelta(milliseconds=5)


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One line of the story. ``row`` is what it is about, where that has a page of its own.

    ``request`` is the id of the request by which it came about, where one is kept.
    """

    at: datetime
    text: str
    detail: str = ""
    tone: Tone = Tone.PLAIN
    row: Model | None = None
    request: str = ""


def events_of(rows: Rows, now: datetime) -> list[TimelineEvent]:
    """Return what happened, the earliest first. Events of one moment keep the order in which they follow."""
    events = [*_request(rows), *_refusals(rows), *_not_sent(rows)]
    for place, message in enumerate(rows.messages):
        events += _sending(rows, message, place)
        events += _end(message)
        events += _reported(message)
        events += _callback(rows, message)
    events += [*_checks(rows), *_token(rows, now), *_over(rows, now), *_events_sent(rows)]
    return sorted(events, key=lambda event: event.at)


def _request(rows: Rows) -> Iterator[TimelineEvent]:
    session = rows.session
    if session is None:
        return
    if session.code_digits and session.code_letters:
        code = _("a code of {number} digits and letters")
    else:
        code = _("a code of {number} digits") if session.code_digits else _("a code of {number} letters")
    facts = [
        _("Language: {language}").format(language=language_name(session.language)),
        code.format(number=session.code_length),
    ]
    if session.is_challenged:
        facts.append(_("challenge passed"))
    if session.is_test:
        facts.append(_("test login"))
    asks = _("Your app requested a code") if rows.messages or session.refusal else _("Your app opened a session")
    detail = " ".join(filter(None, (sentence(", ".join(facts)), _from(session.subnet))))
    yield TimelineEvent(session.created_at, asks, detail, request=session.request_id)


def _refusals(rows: Rows) -> Iterator[TimelineEvent]:
    for decision in rows.decisions:
        rule = RULES[decision.rule]
        text = _("Refused: {reason}").format(reason=lowered(str(rule.title)))
        if since := decision.figures.get("known_since"):
            text = _("Allowed by the traffic guard: number verified since {day}").format(day=since)
        elif not rule.refuses:
            text = str(rule.title)
        elif decision.count > 1:
            text = ngettext(
                "Refused: {reason}, {count} time within an hour",
                "Refused: {reason}, {count} times within an hour",
                decision.count,
            ).format(reason=lowered(str(rule.title)), count=decision.count)
        yield TimelineEvent(
            max(decision.first_at, rows.began_at),
            text,
            _("{meaning} The log only shows {subject}, which other numbers may share.").format(
                meaning=rule.meaning, subject=decision.subject
            ),
            Tone.FAIR if rule.refuses else Tone.PLAIN,
            decision,
        )


def _not_sent(rows: Rows) -> Iterator[TimelineEvent]:
    """Tell why nothing was sent: the refusal that the session notes, unless the log told it, and what it waits for."""
    session = rows.session
    if session is None or rows.messages:
        return
    rule = refusal_of(session)
    if rule and not _is_logged(session.refusal, rows.decisions):
        text = _("Refused: {reason}").format(reason=lowered(str(rule.title)))
        yield TimelineEvent(session.created_at, text, str(rule.meaning), Tone.FAIR)
    if session.awaited_channel:
        yield TimelineEvent(
            session.created_at,
            _("{messenger} chosen: the user has to start the bot first").format(
                messenger=channel_name(session.awaited_channel)
            ),
            _("Your app received the link to start it."),
        )


def _is_logged(refusal: str, decisions: list[Decision]) -> bool:
    """Return whether the decision log has told of the refusal. Of the guard's it names the very rule."""
    logged = {decision.rule for decision in decisions}
    return rule_of(refusal) in logged or (refusal == "guarded" and bool(logged & set(GuardRule.values)))


def _sending(rows: Rows, message: Message, place: int) -> Iterator[TimelineEvent]:
    """Tell how a message came about, which providers were passed over, and what each one that was asked answered."""
    text, detail = _why_this_channel(rows, message, place)
    detail = " ".join(filter(None, (detail, _from(message.subnet))))
    yield TimelineEvent(message.created_at, text, detail, row=message, request=message.request_id)
    for provider, why in passed_over(rows, message):
        yield TimelineEvent(
            message.created_at, _("{provider} was skipped").format(provider=provider.name), why, row=provider
        )
    if message.finished_at is None and message.sent_at is None and (aside := awaited(rows, message)):
        why = " ".join(filter(None, (set_aside(each.breaker, message) for each in aside)))
        at = max(message.created_at, aside[0].breaker.opened_at or message.created_at)
        yield TimelineEvent(at, waiting_for(aside).rstrip("."), why, Tone.FAIR, aside[0])
    yield from _risk(message)
    for attempt in attempts_of(message):
        answer, status = answer_of(attempt.outcome), _told_status(attempt)
        said = [
            _why_asked(attempt),
            attempt.error,
            _("Response: {provider_status}.").format(provider_status=attempt.provider_status)
            if attempt.provider_status and attempt.provider_status != status
            else "",
            cost_words(attempt, message.channel),
        ]
        told = _("{answer} after {latency_ms} ms (HTTP {status})") if status else _("{answer}, after {latency_ms} ms")
        yield TimelineEvent(
            attempt.created_at,
            told.format(
                answer=(REJECTED_REQUEST if status else answer.text).format(name=attempt.provider_name),
                latency_ms=grouped(attempt.latency_ms),
                status=status,
            ),
            " ".join(filter(None, (sentence(each) for each in said))),
            answer.tone,
            attempt.provider,
        )


def _why_asked(attempt: DeliveryAttempt) -> str:
    if attempt.choice == Choice.ONLY:
        return _("Why this provider: it was the only provider available.")
    if attempt.choice not in Choice.values:
        return ""
    return _("Why this provider: {choice}.").format(choice=Choice(attempt.choice).label)


def _told_status(attempt: DeliveryAttempt) -> str:
    """Return the HTTP status with which a provider rejected our request; empty for other answers."""
    return http_status(attempt.error) if attempt.outcome == Outcome.MISCONFIGURED else ""


def _risk(message: Message) -> Iterator[TimelineEvent]:
    """Tell what was said of the number before the message was paid for."""
    for row in message.risk_verdicts.all():
        told = RISK_TOLD[row.verdict].format(check=RiskCheck(row.check_name).label, latency_ms=grouped(row.latency_ms))
        price = f"{price_words(row.price)} {row.currency}" if row.price is not None else ""
        detail = " ".join(filter(None, (sentence(row.reason), price)))
        yield TimelineEvent(row.created_at, told, detail, Tone.PLAIN if row.verdict == "allow" else Tone.FAIR, message)


def cost_words(attempt: DeliveryAttempt, channel: str) -> str:
    """Return an attempt's size and price, such as "2 SMS, 0.09 USD"; empty for one that costs nothing for sure."""
    if attempt.segments is None:
        return ""
    size = f"{attempt.segments} SMS" if channel == ChannelType.SMS else _("1 message")
    if attempt.price is None or attempt.currency is None:
        return _("{size}, price unknown").format(size=size)
    return f"{size}, {price_words(attempt.price)} {attempt.currency}"


def price_words(price: Decimal) -> str:
    """Write a price with all its places, and at least the two that money is written with."""
    whole, _unused, places = f"{price.normalize():f}".partition(".")
    return f"{int(whole):,}.{places.ljust(2, '0')}"


def _why_this_channel(rows: Rows, message: Message, place: int) -> tuple[str, str]:
    channel = channel_name(message.channel)
    session = rows.session
    if session is None:
        if message.connection_id is not None:
            return _handed_over(message, channel)
        pinned = message.pinned_provider
        asked = (
            _("Sent as a test by {channel}") if is_own_test(message) else _("Your server sent a message by {channel}")
        ).format(channel=channel)
        return asked, _("It required the provider {pinned}.").format(pinned=pinned.name) if pinned else ""
    if place:
        last = rows.messages[place - 1]
        if last.channel == message.channel:
            return _("Resent by {channel}").format(channel=channel), _("The user requested it again.")
        # The time for a fall-back goes once it was taken up, whoever had sent the code over another channel before.
        may_be_ours = rows.falls_back and last.fallback_at is None
        why = _("{before} had not worked, so the user chose {channel}.")
        if may_be_ours:
            why = _("{before} had not worked, so the user or the project's fallback chose {channel}.")
        detail = why.format(before=channel_name(last.channel), channel=channel)
        return _("Also sent by {channel}").format(channel=channel), detail
    return _("{channel} chosen").format(channel=channel), _why_first(rows, message)


def _handed_over(message: Message, channel: str) -> tuple[str, str]:
    """Return how the code of an identity system came to go this way. Its connection may have been removed."""
    name = message.connection.name if message.connection else _("a connection that was removed")
    if message.fallback_of_id:
        return (
            _("Also sent by {channel}").format(channel=channel),
            _("The previous message with the code from {connection} had not worked.").format(connection=name),
        )
    return _("{connection} submitted a code for {channel}").format(connection=name, channel=channel), ""


def _reported(message: Message) -> Iterator[TimelineEvent]:
    if message.verified_at:
        yield TimelineEvent(message.verified_at, _("Your server reported the user as verified"), tone=Tone.GOOD)


def _why_first(rows: Rows, message: Message) -> str:
    """Return why a session's code first went this way, as far as rows tell: not whether the app named the channel."""
    session, recipient = rows.session, rows.recipient
    if session and session.refusal == "guarded" and message.channel not in GUARDED_CHANNELS:
        return _("The traffic guard blocked SMS and calls to this number.")
    was_verified = recipient.verified_at is not None and recipient.verified_at < message.created_at
    if was_verified and recipient.verified_channel == message.channel:
        return _("Chosen by your app, or the channel by which the recipient was last verified.")
    return _("Chosen by your app, or the default channel for this recipient.")


def _end(message: Message) -> Iterator[TimelineEvent]:
    """Tell how a message ended, where that is more than a provider's answer."""
    if message.lost_leases:
        yield TimelineEvent(
            message.finished_at or message.due_at,
            ngettext(
                "Worker interrupted {number} time",
                "Worker interrupted {number} times",
                message.lost_leases,
            ).format(number=message.lost_leases),
            _(
                "The worker stopped or could not record the outcome, so a provider may have sent the message"
                " without an entry here."
            ),
            Tone.FAIR,
            message,
        )
    if message.finished_at is None or message.is_test:
        return
    if message.status == MessageStatus.SUCCESS:
        if message.sent_at is None or message.finished_at - message.sent_at < AT_ONCE:
            yield TimelineEvent(
                message.finished_at, _("Counted as delivered"), _("The provider sends no delivery reports."), Tone.GOOD
            )
        else:
            yield TimelineEvent(message.finished_at, _("Provider reported: delivered"), "", Tone.GOOD)
        return
    was_sent = message.sent_at is not None
    if message.status == MessageStatus.FAILED:
        text = _("Provider reported: not delivered") if was_sent else _("Message failed")
    else:
        text = _("No delivery report received") if was_sent else _("Message expired")
    said = [attempt.error for attempt in attempts_of(message)][-1:]
    detail = "" if message.error in said else sentence(message.error or "")  # the line before has these words
    yield TimelineEvent(message.finished_at, text, detail, Tone.FAIR if was_sent else Tone.BAD)


def _checks(rows: Rows) -> Iterator[TimelineEvent]:
    session = rows.session
    if session is None:
        return
    for place, wrong in enumerate(rows.wrong_codes, start=1):
        locks = place == session.attempts_max
        yield TimelineEvent(
            wrong.created_at,
            (
                _("Wrong code, {place} of {attempts_max}: the session is locked")
                if locks
                else _("Wrong code, {place} of {attempts_max}")
            ).format(place=place, attempts_max=session.attempts_max),
            _from(wrong.subnet),
            Tone.BAD if locks else Tone.FAIR,
            request=wrong.request_id,
        )
    if session.verified_at:
        subnet, request = (rows.token.subnet, rows.token.request_id) if rows.token else ("", "")
        yield TimelineEvent(session.verified_at, _("Correct code"), _from(subnet), Tone.GOOD, request=request)


def _token(rows: Rows, now: datetime) -> Iterator[TimelineEvent]:
    token = rows.token
    if token is None:
        return
    if token.used_at:
        yield TimelineEvent(
            token.used_at,
            _("Your server confirmed the verification"),
            _("It redeemed the verify token."),
            Tone.GOOD,
            request=token.used_request_id,
        )
    elif token.expires_at <= now:
        yield TimelineEvent(
            token.expires_at, _("Verify token expired"), _("Your server did not redeem it in time."), Tone.BAD
        )


def _over(rows: Rows, now: datetime) -> Iterator[TimelineEvent]:
    session = rows.session
    if session and not session.verified_at and session.expires_at <= now:
        over = _("Session cancelled by your server") if session.cancelled_at else _("Session expired")
        yield TimelineEvent(session.expires_at, over, _("The code is no longer valid."))


def _callback(rows: Rows, message: Message) -> Iterator[TimelineEvent]:
    callback = getattr(message, "event", None)
    if callback is None:
        return
    host = host_of(callback, rows.project)
    yield TimelineEvent(callback.created_at, _("Callback to {host} scheduled").format(host=host), row=callback)
    yield from _calls(callback, host)


def _events_sent(rows: Rows) -> Iterator[TimelineEvent]:
    """Tell how the customer's server took the events of the session."""
    if rows.session is None:
        return
    for event in rows.session.events.all():
        yield from _calls(event, host_of(event, rows.project))


def _calls(event: WebhookEvent, host: str) -> Iterator[TimelineEvent]:
    """Tell each call of the customer's server, and what becomes of an event that no call has delivered so far."""
    tries = sorted(event.attempts.all(), key=lambda attempt: attempt.pk)
    for attempt in tries:
        is_taken = attempt.status is not None and 200 <= attempt.status < 300
        error = "" if attempt.error == f"HTTP {attempt.status}" else sentence(attempt.error)
        tone = Tone.GOOD if is_taken else Tone.FAIR
        yield TimelineEvent(attempt.created_at, _answer_to(event, attempt, host), error, tone, event)
    if event.delivered_at is None:
        yield from _left(event, tries[-1].created_at if tries else event.created_at)


def _answer_to(event: WebhookEvent, attempt: WebhookAttempt, host: str) -> str:
    if event.message_id is not None:
        said = (
            _("{host} responded with HTTP {status} after {latency_ms} ms")
            if attempt.status is not None
            else _("{host} did not respond within {latency_ms} ms")
        )
    else:
        said = (
            _("{host} responded with HTTP {status} to {event} after {latency_ms} ms")
            if attempt.status is not None
            else _("{host} did not respond to {event} within {latency_ms} ms")
        )
    return said.format(host=host, status=attempt.status, event=event.type, latency_ms=grouped(attempt.latency_ms))


def _left(event: WebhookEvent, last_at: datetime) -> Iterator[TimelineEvent]:
    is_callback = event.message_id is not None
    if event.due_at is not None:
        said = (
            _("Callback waiting for the next retry") if is_callback else _("Event {event} waiting for the next retry")
        )
        detail = _("Next retry at {next_at}.").format(next_at=written_moment(event.due_at, CLOCK))
        yield TimelineEvent(last_at, said.format(event=event.type), detail, row=event)
    elif event.tries:
        said = (
            ngettext(
                "Callback failed after {number} attempt",
                "Callback failed after {number} attempts",
                event.tries,
            )
            if is_callback
            else ngettext(
                "Event {event} failed after {number} attempt",
                "Event {event} failed after {number} attempts",
                event.tries,
            )
        )
        yield TimelineEvent(last_at, said.format(event=event.type, number=event.tries), "", Tone.BAD, event)


def _from(subnet: str) -> str:
    """Tell the network of a request, masked as it is kept; nothing where it tells nobody apart."""
    return _("From {subnet}.").format(subnet=subnet) if subnet not in ("", UNKNOWN_NETWORK) else ""
