"""Reasons why the code of a session did not go out, in words for owners, and what they can do about them."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _

from verification.models import ChannelType, Session
from verification.services.analytics.timeline.words import Advice, lowered
from verification.services.records.decisions import GUARDED, RULES, Rule, rule_of


def refusal_of(session: Session) -> Rule | None:
    """Return the rule that last kept the session's code from going out, in the words of the decision log."""
    return GUARDED if session.refusal == "guarded" else RULES.get(rule_of(session.refusal))


def why_not_sent(session: Session) -> str:
    """Explain the last refusal and what the code still waits for. Empty where there is nothing to explain."""
    refusal = refusal_of(session)
    said = str(refusal.meaning) if refusal else session.refusal.replace("_", " ").capitalize()
    if said and session.channel:
        said = _("A send was refused: {reason}").format(reason=lowered(str(said)))
    return " ".join(filter(None, (said, _waits_for(session))))


def _waits_for(session: Session) -> str:
    if session.channel or session.verified_at:
        return ""
    if session.awaited_channel:
        messenger = ChannelType(session.awaited_channel).label
        if session.refusal:  # the channel asked for was refused, so the messenger is what is left
            return _("The remaining channel is {messenger}, whose bot the user has not started.").format(
                messenger=messenger
            )
        if session.expires_at <= timezone.now():
            return _("The user did not start the {messenger} bot.").format(messenger=messenger)
        return _("The code is sent once the user starts the {messenger} bot.").format(messenger=messenger)
    return "" if session.refusal else _("The app opened the session without requesting a code.")


def bot_advice(session: Session) -> Advice:
    """Return what helps where the user has to start a bot first."""
    messenger = ChannelType(session.awaited_channel).label
    advice = _("Make the {messenger} link prominent in your app, and offer another channel next to it.")
    return Advice(advice.format(messenger=messenger))


def remedy_of(session: Session) -> Advice | None:
    """Return what an owner can do about the last refusal."""
    refusal = refusal_of(session)
    return Advice(str(refusal.remedy), refusal.page) if refusal and refusal.remedy else None
