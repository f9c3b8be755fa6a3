"""Reasons why the code of a session did not go out, in words for owners, and what they can do about them."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.models import ChannelType, GuardRule, Session
from verification.services.analytics.timeline.words import Advice, lowered
from verification.services.records.decisions import RULES, Rule, rule_of

# The guard's refusal as a session notes it. The decision log names the very rule of the guard.
GUARDED = Rule(gettext_lazy("Traffic guard"), gettext_lazy("The traffic guard refused SMS and calls to this number."))


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
            return _("What is left is {messenger}, whose bot the user has not started.").format(messenger=messenger)
        if session.expires_at <= timezone.now():
            return _("The user did not start {messenger}'s bot.").format(messenger=messenger)
        return _("It goes out once the user starts {messenger}'s bot.").format(messenger=messenger)
    return "" if session.refusal else _("The app opened the session without asking for a send.")


# By the rule's name: the next step, and the page where it is taken.
REMEDIES = {
    "guarded": (gettext_lazy("If this traffic is honest, lift the finding in the traffic guard."), "guardblock"),
    "block_list": (
        gettext_lazy("If it should not be blocked, take the entry off the list, or put it on the safe list."),
        "listentry",
    ),
    "country": (gettext_lazy("Add the country to the project's list if you want to send there."), "project"),
    "number_type": (gettext_lazy("Ask the user for a mobile number, or allow VoIP numbers in the project."), "project"),
    "kill_switch": (gettext_lazy("The operator stopped sending; ask when it goes on."), ""),
    "daily_budget": (gettext_lazy("Raise the channel's budget of the day, or wait until midnight UTC."), "channel"),
    "platform_recipient_limit": (gettext_lazy("The limit is the operator's. It is free again tomorrow."), ""),
    "too_many_sends": (gettext_lazy("Wait, or raise the project's limits of sends to one recipient."), "project"),
    "session_sends": (gettext_lazy("The user starts anew: a session has five sends."), ""),
    "too_many_attempts": (gettext_lazy("Wait until the recipient's page shows the limit as free."), ""),
    "channel_timeout": (
        gettext_lazy("Let the app show its countdown: 60 seconds lie between two codes of one channel."),
        "",
    ),
    "suppressed": (gettext_lazy("If the recipient wants messages again, lift the suppression."), "suppression"),
    "client_address": (gettext_lazy("If it is your own server's address, list it in the project."), "project"),
    "requests_per_second": (gettext_lazy("Raise the project's requests in a second."), "project"),
}


def bot_advice(session: Session) -> Advice:
    """Return what helps where the user has to start a bot first."""
    messenger = ChannelType(session.awaited_channel).label
    advice = _("Show the link to {messenger} where the user looks, and another channel beside it.")
    return Advice(advice.format(messenger=messenger))


def remedy_of(rule: str) -> Advice | None:
    """Return what an owner can do about a refusal. The guard's own rules share one answer."""
    found = REMEDIES.get("guarded" if rule in GuardRule.values else rule_of(rule))
    return Advice(str(found[0]), found[1]) if found else None
