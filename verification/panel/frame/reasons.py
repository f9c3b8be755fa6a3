"""Reasons why the code of a session did not go out, in words for owners."""

from __future__ import annotations

from django.utils import timezone

from verification.models import ChannelType, Session
from verification.services.records.decisions import RULES, Rule, rule_of

# The guard's refusal as a session notes it. The decision log names the very rule of the guard.
GUARDED = Rule("Traffic guard", "The traffic guard refused SMS and calls to this number.")


def refusal_of(session: Session) -> Rule | None:
    """Return the rule that last kept the session's code from going out, in the words of the decision log."""
    return GUARDED if session.refusal == "guarded" else RULES.get(rule_of(session.refusal))


def why_not_sent(session: Session) -> str:
    """Explain the last refusal and what the code still waits for. Empty where there is nothing to explain."""
    refusal = refusal_of(session)
    said = refusal.meaning if refusal else session.refusal.replace("_", " ").capitalize()
    if said and session.channel:
        said = f"A send was refused: {said[0].lower()}{said[1:]}"
    return " ".join(filter(None, (said, _waits_for(session))))


def _waits_for(session: Session) -> str:
    if session.channel or session.verified_at:
        return ""
    if session.awaited_channel:
        messenger = ChannelType(session.awaited_channel).label
        if session.refusal:  # the channel asked for was refused, so the messenger is what is left
            return f"What is left is {messenger}, whose bot the user has not started."
        if session.expires_at <= timezone.now():
            return f"The user did not start {messenger}'s bot."
        return f"It goes out once the user starts {messenger}'s bot."
    return "" if session.refusal else "The app opened the session without asking for a send."
