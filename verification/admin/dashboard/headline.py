"""The head of the overview: whether codes go out, in green, amber or red, with what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from verification.admin.base.display import time_ago
from verification.admin.dashboard.problems import OpenProblem
from verification.core.formats import grouped
from verification.models import ChannelType
from verification.services.analytics.delivery_state import ChannelState, DeliveryState

GOOD, FAIR, BAD, PLAIN = "good", "fair", "bad", "plain"
ICONS = {GOOD: "check_circle", FAIR: "schedule", BAD: "error", PLAIN: "fork_right"}


@dataclass(frozen=True, slots=True)
class Headline:
    """The head of the page. ``level`` names the colour; the lines say why."""

    level: str
    lines: tuple[OpenProblem, ...]

    @property
    def icon(self) -> str:
        return ICONS[self.level]


def headline(
    state: DeliveryState | None, problems: list[OpenProblem], warnings: list[OpenProblem], *, is_new: bool
) -> Headline | None:
    """Return the worst of the state, the problems and the warnings.

    None for a new project with nothing to tell. None, too, where the state takes too long to read and there is nothing
    else to tell.
    """
    waiting, poor, fair = _traffic(state) if state else ((), (), ())
    bad = (*waiting, *poor, *problems)
    if bad:
        return Headline(BAD, (*bad, *warnings))
    if fair or warnings:
        return Headline(FAIR, (*fair, *warnings))
    if state is None:
        return None
    if not state.is_quiet:
        return Headline(GOOD, (_all_well(state),))
    return None if is_new else Headline(FAIR, (_quiet(state),))


def _traffic(state: DeliveryState) -> tuple[tuple[OpenProblem, ...], ...]:
    """Return the lines on messages that wait, on channels that fail, and on channels that lose some messages."""
    poor = tuple(_channel_problem(channel, state) for channel in state.channels if channel.is_poor)
    fair = tuple(
        _channel_problem(channel, state) for channel in state.channels if not (channel.is_poor or channel.is_good)
    )
    return _waiting(state), poor, fair


def _waiting(state: DeliveryState) -> tuple[OpenProblem, ...]:
    if not state.waiting:
        return ()
    # A message whose provider fails is tried again until it expires. One that nobody took has no worker.
    detail = (
        _("No worker has picked them up. Is a worker running?")
        if state.untaken
        else _("The providers are not accepting them.")
    )
    return (
        OpenProblem(
            ngettext(
                "{number} message has been waiting for more than a minute.",
                "{number} messages have been waiting for more than a minute.",
                state.waiting,
            ).format(number=grouped(state.waiting)),
            detail,
            _messages(status="waiting"),
        ),
    )


def _channel_problem(channel: ChannelState, state: DeliveryState) -> OpenProblem:
    name = ChannelType(channel.channel).label
    total, within = channel.accepted + channel.lost, _span(state.lately)
    link = _messages(status="lost", channel__exact=channel.channel, since="day")
    if not channel.accepted and total > 1:
        text = _("{name}: none of {asked} messages were accepted in the last {within}.").format(
            name=name, asked=grouped(total), within=within
        )
    elif not channel.accepted:
        text = _("{name}: the only message of the last {within} was not accepted.").format(name=name, within=within)
    else:
        text = _("{name}: {lost} of {asked} messages were not accepted in the last {within}.").format(
            name=name, lost=grouped(channel.lost), asked=grouped(total), within=within
        )
    return OpenProblem(
        text,
        _("{expired} of them expired.").format(expired=grouped(channel.expired))
        if channel.expired
        else _("View failures"),
        link,
    )


def _all_well(state: DeliveryState) -> OpenProblem:
    accepted = state.accepted
    total = accepted + sum(channel.lost for channel in state.channels)
    share, span = 100 * accepted // total, _span(state.lately)
    if state.last_accepted:
        detail = ngettext(
            # xgettext:no-python-format
            "{share} % of {asked} message accepted in the last {span}, latest {ago}.",
            "{share} % of {asked} messages accepted in the last {span}, latest {ago}.",
            total,
        ).format(share=share, asked=grouped(total), span=span, ago=time_ago(state.last_accepted))
    else:
        detail = ngettext(
            # xgettext:no-python-format
            "{share} % of {asked} message accepted in the last {span}.",
            "{share} % of {asked} messages accepted in the last {span}.",
            total,
        ).format(share=share, asked=grouped(total), span=span)
    return OpenProblem(_("Codes are being sent."), detail)


def _quiet(state: DeliveryState) -> OpenProblem:
    last = (
        _("The last code was sent {ago}.").format(ago=time_ago(state.last_accepted))
        if state.last_accepted
        else _("No codes sent in the last 24 hours.")
    )
    return OpenProblem(_("No codes requested in the last {span}.").format(span=_span(state.lately)), last)


def _span(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    return (
        _("{minutes} minutes").format(minutes=minutes)
        if minutes < 120
        else _("{number} hours").format(number=minutes // 60)
    )


def _messages(**query: str) -> str:
    return f"{reverse('admin:verification_message_changelist')}?{urlencode(query)}"
