"""Reasons why the code of a session did not go out, in words for owners."""

from __future__ import annotations

from django.utils import timezone

from verification.models import ChannelType, Session

# Keys: what the session notes, which is an outcome of open_session or send_code, or a rule of the decision log.
REASONS = {
    "guarded": "The traffic guard refused SMS and calls to this number.",
    "channel_timeout": "A code had gone to the recipient over the channel within the last 60 seconds.",
    "too_many_sends": "The recipient had got as many codes as the project's limits allow.",
    "session_sends": "The five sends of the session were used up.",
    "too_many_attempts": "Too many wrong codes had been entered for the recipient.",
    "over_budget": "The channel's budget of the day was used up.",
    "over_platform_limit": "The recipient had got as many SMS, from all projects together, as a day allows.",
    "suppressed": "The recipient is on the channel's suppression list.",
    "block_list": "An entry of the block list matched.",
    "country": "The project does not send to the number's country.",
    "number_type": "Numbers of this type get no messages.",
    "kill_switch": "The operator had stopped the sending.",
}

# The same reasons in few words, for a column.
SHORT = {
    "guarded": "Traffic guard",
    "channel_timeout": "60 seconds",
    "too_many_sends": "Limit of sends",
    "session_sends": "Five sends",
    "too_many_attempts": "Wrong codes",
    "over_budget": "Daily budget",
    "over_platform_limit": "Limit of SMS",
    "suppressed": "Suppressed",
    "block_list": "Block list",
    "country": "Country",
    "number_type": "Type of number",
    "kill_switch": "Switched off",
}


def why_not_sent(session: Session) -> str:
    """Explain the last refusal and what the code still waits for. Empty where there is nothing to explain."""
    said = REASONS.get(session.refusal, session.refusal.replace("_", " ").capitalize()) if session.refusal else ""
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
