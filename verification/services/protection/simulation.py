"""What the service itself forces on the recipients of a test project. ``providers/sandbox.py`` has their table."""

from __future__ import annotations

from dataclasses import dataclass

from providers.sandbox import Simulated, outcome_of
from verification.models import Session, Subscription
from verification.services.projects.snapshot import ProjectConfig

RETRY_SECONDS = 600  # the wait that the simulated limit tells, as that of sends in 10 minutes would
SHORTEST_SECONDS = 1  # the life of a session that is over before anybody can type its code


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What is forced on one recipient. The defaults are those of one of the sandbox on whom nothing is forced."""

    is_simulated: bool = True
    refusal: tuple[str, int | None] | None = None  # of each send, as (outcome of an SQL function, seconds to wait)
    needs_challenge: bool = False
    attempts_max: int | None = None  # None: the usual number
    session_seconds: int | None = None  # None: the usual life
    has_known_code: bool = True
    forgets_bot: bool = False


NOT_SIMULATED = SandboxPolicy(is_simulated=False, has_known_code=False)
_USUAL = SandboxPolicy()
_POLICIES = {
    Simulated.SUPPRESSED: SandboxPolicy(refusal=("suppressed", None)),
    Simulated.OVER_LIMIT: SandboxPolicy(refusal=("too_many_sends", RETRY_SECONDS)),
    Simulated.GUARDED: SandboxPolicy(refusal=("guarded", None)),
    Simulated.WRONG_CODE: SandboxPolicy(has_known_code=False),
    Simulated.LOCKED: SandboxPolicy(attempts_max=0),
    Simulated.EXPIRED: SandboxPolicy(session_seconds=SHORTEST_SECONDS),
    Simulated.CHALLENGE: SandboxPolicy(needs_challenge=True),
    Simulated.BOT_STARTS: SandboxPolicy(forgets_bot=True),
}


def sandbox_policy(project: ProjectConfig, to: str) -> SandboxPolicy:
    """Return what is forced on this recipient: nothing in a live project, and on those who are not in the table."""
    if not project.is_sandbox:
        return NOT_SIMULATED
    outcome = outcome_of(to)
    return NOT_SIMULATED if outcome is None else _POLICIES.get(outcome, _USUAL)


def forget_bot(project: ProjectConfig, to: str) -> None:
    """Let the user who starts the bot later be one who has not started it, unless a session is under way."""
    recipient = {"recipient__project_id": project.id, "recipient__address": to}
    if not Session.objects.filter(**recipient, is_open=True).exists():
        Subscription.objects.filter(**recipient).delete()
