"""The outcomes of a test project that the service itself decides, forced in one place by the recipient.

Each function leaves every recipient of a live project alone. ``providers/sandbox.py`` has the table.
"""

from __future__ import annotations

from providers.sandbox import Simulated
from verification.models import Session, Subscription
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection.eligibility import refusal_of

RETRY_SECONDS = 600  # the wait that the simulated limit tells, as that of sends in 10 minutes would
_OUTCOMES = {  # of the SQL functions that refuse a send
    Simulated.SUPPRESSED: ("suppressed", None),
    Simulated.OVER_LIMIT: ("too_many_sends", RETRY_SECONDS),
    Simulated.GUARDED: ("guarded", None),
}


def refuse(project: ProjectConfig, to: str, channel: str) -> None:
    """Raise ``recipient_not_allowed`` or ``too_many_sends`` for the recipients who stand for these."""
    simulated = project.simulated(to)
    if simulated in _OUTCOMES:
        outcome, retry_after = _OUTCOMES[simulated]
        raise refusal_of(project, outcome, retry_after, to=to, channel=channel)


def attempts_max(project: ProjectConfig, to: str, usual: int) -> int:
    """Return how many wrong codes lock a new session: none are needed for the recipient who stands for that."""
    return 0 if project.simulated(to) is Simulated.LOCKED else usual


def lives_seconds(project: ProjectConfig, to: str, usual: int) -> int:
    """Return the life of a new session: a second, the shortest, for the recipient whose session is over."""
    return 1 if project.simulated(to) is Simulated.EXPIRED else usual


def forget_bot(project: ProjectConfig, to: str) -> None:
    """Let the user who starts the bot later be one who has not started it, unless a session is under way."""
    if project.simulated(to) is not Simulated.BOT_STARTS:
        return
    recipient = {"recipient__project_id": project.id, "recipient__address": to}
    if not Session.objects.filter(**recipient, is_open=True).exists():
        Subscription.objects.filter(**recipient).delete()
