"""One sentence that says what happened, and what to do next where it went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from providers import registry
from providers.base import SettingKind
from providers.errors import Outcome
from verification.models import DeliveryAttempt, Message, MessageStatus, Session
from verification.models.messages import LOST
from verification.services.analytics.delivery_state import WAITS_TOO_LONG
from verification.services.analytics.timeline.providers import awaited, waiting_for
from verification.services.analytics.timeline.refusals import bot_advice, remedy_of, why_not_sent
from verification.services.analytics.timeline.rows import Rows, attempts_of, host_of
from verification.services.analytics.timeline.words import (
    ANSWERS,
    NO_SUCH_URL,
    Advice,
    Tone,
    answer_of,
    channel_name,
    clause,
    http_status,
    joined,
    joined_by_or,
    lasted,
    lowered,
    sentence,
)
from verification.services.delivery.round import NO_PROVIDER
from verification.services.protection import risk
from verification.services.providers.accounts import is_known
from verification.services.records.decisions import RULES

PAUSED = ANSWERS[Outcome.TEMPORARY].remedy  # a second provider
UNDER_WAY = (MessageStatus.QUEUED, MessageStatus.SENDING)
REDEEM = gettext_lazy("Have your server send the verify token to session/verify with the secret key within 60 seconds.")
NOT_ENTERED = gettext_lazy(
    "The code was delivered but not entered. If this happens often, check the message text and your app's form; for"
    " SMS, also check whether the route really delivers."
)
NOT_CONFIRMED = gettext_lazy(
    "Delivery was never confirmed. If this happens often, compare the provider with others on its scorecard and ask"
    " it for delivery reports."
)
GAVE_UP = gettext_lazy(
    "If this happens often, check whether your form alters the input, and whether users enter an older code."
)
ALL_FAILED = gettext_lazy(
    "Several providers failed at once. Use Check credentials to test whether this server can reach them, and add a"
    " fallback to another channel."
)
TAKE_IT = gettext_lazy(
    "Make {host} respond with a 2xx status within a few seconds, then choose Send again on the event's page."
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    sentence: str
    tone: Tone
    advice: list[Advice] = field(default_factory=list)


def diagnose(rows: Rows, now: datetime) -> Diagnosis:
    """Say what happened to the user, and whether the customer's server could be told."""
    diagnosis = _of_user(rows, now)
    untold = [event for event in rows.customer_events if event.delivered_at is None and event.attempts.all()]
    if not untold:
        return diagnosis
    last = untold[-1]
    said = (
        _("{host} has not accepted the webhook yet; it will be retried.")
        if last.due_at
        else _("{host} did not accept the webhook; no more retries.")
    )
    advice = Advice(str(TAKE_IT).format(host=host_of(last, rows.project)), row=last)
    text = f"{diagnosis.sentence} {said.format(host=host_of(last, rows.project))}"
    return Diagnosis(text, Tone.BAD if diagnosis.tone == Tone.BAD else Tone.FAIR, [*diagnosis.advice, advice])


def _of_user(rows: Rows, now: datetime) -> Diagnosis:
    if rows.session is None:
        return _of_delivery(rows, rows.messages[0], now)
    if rows.session.verified_at:
        return _of_verified(rows, now)
    if rows.session.cancelled_at:
        took = lasted(rows.session.cancelled_at - rows.session.created_at)
        return Diagnosis(
            _("Not verified: your server cancelled the session after {time}.").format(time=took), Tone.PLAIN
        )
    if rows.session.attempts >= rows.session.attempts_max:
        text = ngettext(
            "Not verified: session locked after {number} wrong code.",
            "Not verified: session locked after {number} wrong codes.",
            rows.session.attempts,
        ).format(number=rows.session.attempts)
        again = Advice(
            _("The user can request a new code. Many such sessions may mean that someone is guessing codes."),
            "guardblock",
        )
        return Diagnosis(text, Tone.BAD, [again])
    if rows.is_test:
        return Diagnosis(_("A test login: nothing was sent, and its code was not entered."), Tone.PLAIN)
    if not rows.messages:
        return _of_nothing_sent(rows, now)
    return _of_unverified(rows, now)


def _of_verified(rows: Rows, now: datetime) -> Diagnosis:
    session, token = rows.session, rows.token
    assert session and session.verified_at
    took = lasted(session.verified_at - session.created_at)
    detour = _after_trouble(rows)
    if token is None or token.used_at:
        over = channel_name(session.channel) if session.channel and not session.is_test else ""
        return Diagnosis(_detailed(_verified_after(took, over, is_proved=token is not None), detour), Tone.GOOD)
    if token.expires_at > now:
        text = _("Correct code entered after {time}; waiting for your server to confirm.").format(time=took)
        return Diagnosis(_detailed(text, detour), Tone.GOOD)
    text = _("Correct code entered after {time}, but your server never redeemed the verify token.").format(time=took)
    return Diagnosis(_detailed(text, detour), Tone.FAIR, [Advice(str(REDEEM))])


def _verified_after(took: str, over: str, *, is_proved: bool) -> str:
    if over and is_proved:
        text = _("Verified by {channel} after {time}, and confirmed by your server.")
    elif over:
        text = _("Verified by {channel} after {time}.")
    elif is_proved:
        text = _("Verified after {time}, and confirmed by your server.")
    else:
        text = _("Verified after {time}.")
    return text.format(channel=over, time=took)


def _detailed(text: str, detour: str) -> str:
    return f"{text} {detour}" if detour else text


def _after_trouble(rows: Rows) -> str:
    """Tell by which detour the code went out, in a sentence; empty if by none."""
    channels = list(dict.fromkeys(channel_name(message.channel) for message in rows.messages))
    if len(channels) > 1:
        return _("Earlier attempts by {channels} did not work.").format(channels=joined(channels[:-1]))
    failed = [attempt.provider_name for attempt in rows.attempts if answer_of(attempt.outcome).remedy]
    return _("Failed first: {names}.").format(names=joined(list(dict.fromkeys(failed)))) if failed else ""


def _of_nothing_sent(rows: Rows, now: datetime) -> Diagnosis:
    session = rows.session
    assert session
    why = why_not_sent(session)
    if session.channel or not why:
        return Diagnosis(_("Not verified. The session's messages have been deleted."), Tone.PLAIN)
    remedy = remedy_of(session) or (bot_advice(session) if session.awaited_channel else None)
    is_waiting = bool(session.awaited_channel) and not session.refusal and session.expires_at > now
    text = _("No code sent yet: {reason}") if is_waiting else _("No code sent: {reason}")
    tone = Tone.PLAIN if is_waiting or not (session.refusal or session.awaited_channel) else Tone.BAD
    return Diagnosis(text.format(reason=lowered(why)), tone, [remedy] if remedy else [])


def _of_unverified(rows: Rows, now: datetime) -> Diagnosis:
    """Tell of a session whose code was sent, or was to be, and not entered rightly."""
    session = rows.session
    assert session
    best = _furthest(rows.messages)
    if best.sent_at is None and best.status != MessageStatus.SUCCESS:
        return _of_lost(rows, rows.messages) if best.status not in UNDER_WAY else _of_waiting(rows, best, now)
    delivery = _of_delivery(rows, best, now)
    got = delivery.sentence.rstrip(".")
    if session.expires_at > now and session.is_open:
        left = lasted(session.expires_at - now)
        return Diagnosis(
            _("{told}; the user has {time} left to enter the code.").format(told=got, time=left), Tone.PLAIN
        )
    if rows.wrong_codes:
        tries = len(rows.wrong_codes)
        ended = ngettext(
            "{told}; the user entered {number} wrong code and gave up.",
            "{told}; the user entered {number} wrong codes and gave up.",
            tries,
        )
        return Diagnosis(ended.format(told=got, number=tries), Tone.FAIR, delivery.advice or [Advice(str(GAVE_UP))])
    arrived = best.status == MessageStatus.SUCCESS
    advice = delivery.advice or [
        Advice(str(NOT_ENTERED), "messagetemplate") if arrived else Advice(str(NOT_CONFIRMED), row=best.provider)
    ]
    return Diagnosis(_("{told}; nobody entered the code.").format(told=got), Tone.FAIR, advice)


def _furthest(messages: list[Message]) -> Message:
    """Return the message that came nearest to the recipient; of several, the last."""
    order = (MessageStatus.FAILED, MessageStatus.EXPIRED, *UNDER_WAY, MessageStatus.SENT, MessageStatus.SUCCESS)
    return max(
        messages, key=lambda each: (each.sent_at is not None, order.index(MessageStatus(each.status)), each.created_at)
    )


def _of_delivery(rows: Rows, message: Message, now: datetime) -> Diagnosis:
    """Tell how far one message came."""
    if message.is_test:
        return Diagnosis(_("A test login's message: nothing was sent."), Tone.PLAIN)
    began = rows.began_at
    over = channel_name(message.channel)
    if message.provider:
        over = _("{channel} ({provider})").format(channel=over, provider=message.provider.name)
    if message.status == MessageStatus.SUCCESS and message.finished_at:
        text = _("Delivered by {channel} after {time}.")
        return Diagnosis(text.format(channel=over, time=lasted(message.finished_at - began)), Tone.GOOD)
    if message.status == MessageStatus.SENT and message.sent_at:
        text = _("Accepted by {channel} after {time}; no delivery report yet.")
        return Diagnosis(text.format(channel=over, time=lasted(message.sent_at - began)), Tone.PLAIN)
    if message.status in UNDER_WAY:
        return _of_waiting(rows, message, now)
    if message.sent_at:
        ends = _why_not_arrived(message)
        advice = Advice(
            _("Ask the provider what happened to it. Delivery reports are set up on the provider's page."),
            row=message.provider,
        )
        text = _("Accepted by {channel}, but {reason}.").format(channel=over, reason=ends)
        return Diagnosis(text, Tone.FAIR, [advice] if message.provider else [])
    return _of_lost(rows, [message])


def _why_not_arrived(message: Message) -> str:
    if message.status == MessageStatus.EXPIRED and message.error:
        return clause(_(message.error))
    if not message.error:
        return _("the provider reported it as not delivered")
    quoted = sentence(message.error).rstrip(".")
    return _("the provider reported it as not delivered (“{error}”)").format(error=quoted)


def _of_waiting(rows: Rows, message: Message, now: datetime) -> Diagnosis:
    waits = now - message.created_at
    is_taken = message.claims > 0 or waits < WAITS_TOO_LONG
    if is_taken and (aside := awaited(rows, message)):
        advice = list(_advice(attempts_of(message))) or [Advice(str(PAUSED).format(name=aside[0].name), "provider")]
        return Diagnosis(waiting_for(aside), Tone.FAIR, advice)
    if waits < WAITS_TOO_LONG and not attempts_of(message):
        text = _("Sending by {channel} for {time}.")
        return Diagnosis(text.format(channel=channel_name(message.channel), time=lasted(waits)), Tone.PLAIN)
    if message.claims == 0:
        remedy = Advice(
            _(
                "No worker has picked it up. Check on the overview, or with manage.py health, whether a worker is"
                " running."
            )
        )
        text = _("Waiting for {time}: no worker has picked up the message.").format(time=lasted(waits))
        return Diagnosis(text, Tone.BAD, [remedy])
    if not attempts_of(message):
        text = _("Waiting for {time}: no provider has been tried yet.").format(time=lasted(waits))
        return Diagnosis(text, Tone.FAIR, [_without_attempt(message)])
    advice = list(_advice(attempts_of(message)))
    text = _("Not sent yet, retrying for {time}.").format(time=lasted(waits))
    return Diagnosis(text, Tone.FAIR, advice)


def _of_lost(rows: Rows, messages: list[Message]) -> Diagnosis:
    """Tell of messages that no provider took."""
    channels = list(dict.fromkeys(channel_name(message.channel) for message in messages))
    attempts = [attempt for message in messages for attempt in attempts_of(message)]
    if _unclear(attempts):
        text = (
            _("It is unknown whether a code was sent by {channels}: {reason}.")
            if rows.session
            else _("It is unknown whether the message was sent by {channels}: {reason}.")
        )
    else:
        text = (
            _("No code was sent by {channels}: {reason}.")
            if rows.session
            else _("No message was sent by {channels}: {reason}.")
        )
    text = text.format(channels=joined_by_or(channels), reason=_why_lost(messages))
    return Diagnosis(text, Tone.BAD, list(_advice(attempts)) or [_without_attempt(messages[-1])])


def why_none_accepted(session: Session) -> str:
    """Return why no provider accepted the session's code; empty where one did, or none has been tried to the end."""
    messages = sorted(session.messages.all(), key=lambda message: message.created_at)
    is_lost = all(each.status in LOST and each.sent_at is None for each in messages)
    return sentence(_why_lost(messages)) if messages and is_lost and not session.verified_at else ""


def _why_lost(messages: list[Message]) -> str:
    """Return why no provider took the messages, as a part of a sentence."""
    attempts = [attempt for message in messages for attempt in attempts_of(message)]
    if unclear := _unclear(attempts):
        return _("{names} gave no clear response").format(names=_with_errors(unclear))
    if attempts:
        return _rejected(attempts)
    error = messages[-1].error
    return clause(_(error) if error else _("the reason is unknown"))


def _unclear(attempts: list[DeliveryAttempt]) -> list[DeliveryAttempt]:
    return [attempt for attempt in attempts if attempt.outcome in (Outcome.UNKNOWN, Outcome.UNCLEAR)]


def _rejected(attempts: list[DeliveryAttempt]) -> str:
    """Say that no provider accepted the message: of a single one, with its answer as the reason."""
    (name, error), *others = _last_errors(attempts).items()
    if error and not others:
        return _("{name} rejected the message: {error}").format(name=name, error=error)
    return _("{names} did not accept the message").format(names=_with_errors(attempts))


def _last_errors(attempts: list[DeliveryAttempt]) -> dict[str, str]:
    """Return the last error of each provider by its name, without the full stop; empty where it gave none."""
    return {
        attempt.provider_name: _(attempt.error).strip().rstrip(".") if attempt.error else "" for attempt in attempts
    }


def _with_errors(attempts: list[DeliveryAttempt]) -> str:
    """Return the providers' names, each with its last answer."""
    quoted = _("{name} (“{error}”)")
    return joined(
        [
            quoted.format(name=name, error=sentence(error).rstrip(".")) if error else name
            for name, error in _last_errors(attempts).items()
        ]
    )


def _without_attempt(message: Message) -> Advice:
    """Return what to do where no provider was asked, or the answers suggest nothing."""
    if risk.has_stopped(message.error):
        rule = RULES["risk_check"]
        return Advice(str(rule.remedy), rule.page)
    if message.error == NO_PROVIDER:
        return Advice(_("Add a provider for this channel, or turn on one that serves this number."), "provider")
    if message.status == MessageStatus.EXPIRED and message.claims == 0:
        return Advice(
            _(
                "No worker picked it up in time. Check on the overview, or with manage.py health, whether a worker is"
                " running."
            )
        )
    return Advice(_("Check which of the channel's providers are active and which are paused."), "provider")


def _advice(attempts: list[DeliveryAttempt]) -> Iterator[Advice]:
    """Return the remedy of each provider's last answer, once each."""
    last = {attempt.provider_name: attempt for attempt in attempts}
    failed = [name for name, attempt in last.items() if answer_of(attempt.outcome).is_outage]
    if len(failed) > 1:
        yield Advice(str(ALL_FAILED), "provider")
    for name, attempt in last.items():
        answer = answer_of(attempt.outcome)
        if answer.remedy and not (answer.is_outage and len(failed) > 1):
            row = None if answer.page else attempt.provider
            remedy = NO_SUCH_URL if _is_wrong_url(attempt) else answer.remedy
            yield Advice(remedy.format(name=name), answer.page, row)


def _is_wrong_url(attempt: DeliveryAttempt) -> bool:
    """Return whether nothing is at the URL that the owner entered; a vendor's own URLs are not theirs to correct."""
    if http_status(attempt.error) != "404" or attempt.provider is None or not is_known(attempt.provider.type):
        return False
    return any(each.kind is SettingKind.URL for each in registry.adapter_class(attempt.provider.type).declared)
