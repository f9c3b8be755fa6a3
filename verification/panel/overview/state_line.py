"""The head of the overview: whether codes go out, in green, amber or red, with what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.urls import reverse

from verification.models import ChannelType
from verification.panel.frame.display import ago
from verification.panel.overview.problems import Problem
from verification.services.oversight.delivery_state import ChannelState, DeliveryState

GOOD, FAIR, BAD = "good", "fair", "bad"
ICONS = {GOOD: "check_circle", FAIR: "schedule", BAD: "error"}


@dataclass(frozen=True, slots=True)
class StateLine:
    """The head of the page. ``level`` names the colour; the lines say why."""

    level: str
    lines: tuple[Problem, ...]

    @property
    def icon(self) -> str:
        return ICONS[self.level]


def state_line(
    state: DeliveryState | None, problems: list[Problem], warnings: list[Problem], *, is_new: bool
) -> StateLine | None:
    """Return the worst of the state, the problems and the warnings.

    None for a new project with nothing to tell. None, too, where the state takes too long to read and there is nothing
    else to tell.
    """
    waiting, poor, fair = _traffic(state) if state else ((), (), ())
    bad = (*waiting, *poor, *problems)
    if bad:
        return StateLine(BAD, (*bad, *warnings))
    if fair or warnings:
        return StateLine(FAIR, (*fair, *warnings))
    if state is None:
        return None
    if not state.is_quiet:
        return StateLine(GOOD, (_all_well(state),))
    return None if is_new else StateLine(FAIR, (_quiet(state),))


def _traffic(state: DeliveryState) -> tuple[tuple[Problem, ...], ...]:
    """Return the lines on messages that wait, on channels that fail, and on channels that lose a part."""
    poor = tuple(_line(channel, state) for channel in state.channels if channel.is_poor)
    fair = tuple(_line(channel, state) for channel in state.channels if not (channel.is_poor or channel.is_good))
    return _waiting(state), poor, fair


def _waiting(state: DeliveryState) -> tuple[Problem, ...]:
    if not state.waiting:
        return ()
    number = f"{state.waiting:,} message{' waits' if state.waiting == 1 else 's wait'}"
    # A message whose provider fails is tried again until it expires. One that nobody took has no worker.
    detail = "No worker has taken them. Does one run?" if state.untaken else "Their providers do not take them."
    return (Problem(f"{number} for longer than a minute.", detail, _messages(status="waiting")),)


def _line(channel: ChannelState, state: DeliveryState) -> Problem:
    name = ChannelType(channel.channel).label
    asked, within = channel.accepted + channel.lost, _span(state.lately)
    link = _messages(status="lost", channel__exact=channel.channel, since="day")
    if not channel.accepted and asked > 1:
        text = f"{name}: none of {asked:,} messages got out in the last {within}."
    elif not channel.accepted:
        text = f"{name}: the only message of the last {within} did not get out."
    else:
        text = f"{name}: {channel.lost:,} of {asked:,} messages did not get out in the last {within}."
    return Problem(text, f"{channel.expired:,} of them ran out of time." if channel.expired else "See why", link)


def _all_well(state: DeliveryState) -> Problem:
    accepted = state.accepted
    asked = accepted + sum(channel.lost for channel in state.channels)
    messages = f"{asked:,} messages were" if asked > 1 else "1 message was"
    last = f", the last {ago(state.last_accepted)}" if state.last_accepted else ""
    detail = f"{100 * accepted // asked} % of {messages} accepted in the last {_span(state.lately)}{last}."
    return Problem("Codes are going out.", detail)


def _quiet(state: DeliveryState) -> Problem:
    last = f"The last code left {ago(state.last_accepted)}." if state.last_accepted else "None left in 24 hours."
    return Problem(f"Nobody asked for a code in the last {_span(state.lately)}.", last)


def _span(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"


def _messages(**query: str) -> str:
    return f"{reverse('admin:verification_message_changelist')}?{urlencode(query)}"
