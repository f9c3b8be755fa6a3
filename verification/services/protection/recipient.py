"""What a project says of one recipient, found once for a request and then carried through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from providers.sandbox import Simulated, outcome_of
from verification import sql
from verification.core import crypto
from verification.core.addresses import Address, mask
from verification.core.session_rules import WRONG_CODES_THAT_LOCK
from verification.models import GuardMode, GuardRule, Session, Subscription
from verification.services.projects import project_terms
from verification.services.projects.snapshot import ChallengeConfig, ProjectConfig, TestLoginConfig
from verification.services.protection.client_networks import counted_network

SUBSCRIBER_DIGITS = 4  # the last digits of a number, which a prefix leaves out: 10,000 numbers share one
SIMULATED_RETRY_SECONDS = 600  # the wait that the simulated limit tells, as that of sends in 10 minutes would
ENDS_AT_ONCE_SECONDS = 1  # the life of a session that is over before anybody can type its code


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What is forced on one recipient. The defaults are those of one of the sandbox on whom nothing is forced."""

    is_simulated: bool = True
    refusal: tuple[str, int | None] | None = None  # of each send, as (outcome of an SQL function, seconds to wait)
    needs_challenge: bool = False
    starts_locked: bool = False
    ends_at_once: bool = False
    has_known_code: bool = True
    forgets_bot: bool = False


NOT_SIMULATED = SandboxPolicy(is_simulated=False, has_known_code=False)
_USUAL = SandboxPolicy()
_POLICIES = {
    Simulated.SUPPRESSED: SandboxPolicy(refusal=("suppressed", None)),
    Simulated.OVER_LIMIT: SandboxPolicy(refusal=("too_many_sends", SIMULATED_RETRY_SECONDS)),
    Simulated.GUARDED: SandboxPolicy(refusal=("guarded", None)),
    Simulated.WRONG_CODE: SandboxPolicy(has_known_code=False),
    Simulated.LOCKED: SandboxPolicy(starts_locked=True),
    Simulated.EXPIRED: SandboxPolicy(ends_at_once=True),
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


class RecipientPolicy(NamedTuple):
    """A project's rules for one recipient, and for the caller who wants something sent to them.

    A ``client_address`` of None stands for the customer's own server: no challenge and no network binds it.
    ``is_unlimited``: the project's own limits of sends and the traffic guard leave the recipient alone, who is
    safe-listed or simulated. ``challenge`` is the one that a caller could be asked for; None where there is none.
    """

    project: ProjectConfig
    address: Address
    client_address: str | None
    is_test: bool
    test_login: TestLoginConfig | None
    sandbox: SandboxPolicy
    is_unlimited: bool
    challenge: ChallengeConfig | None

    @property
    def may_be_challenged(self) -> bool:
        return not self.is_test and self.client_address is not None

    @property
    def blocked_by(self) -> str | None:
        """The subject of the entry in a block list that names the recipient or the caller."""
        return self.project.lists.blocked_by(self.address, self.client_address or "")

    @property
    def session_seconds(self) -> int:
        """The life of a new session."""
        if self.sandbox.ends_at_once:
            return ENDS_AT_ONCE_SECONDS
        return self.project.session_seconds_for(self.address.kind)

    def attempts_max(self, code_length: int) -> int:
        """Return how many wrong codes lock a new session."""
        return 0 if self.sandbox.starts_locked else WRONG_CODES_THAT_LOCK[code_length]

    @property
    def send_limits(self) -> dict[str, int]:
        """The limits of sends; for recipients without limits only the operator's ceiling."""
        return self.project.send_limits_for(is_unlimited=self.is_unlimited)

    @property
    def wrong_limits(self) -> dict[str, int]:
        """The limits of wrong codes; none for the recipients of the sandbox, whose tests guess all day."""
        return self.project.wrong_limits_for(is_simulated=self.sandbox.is_simulated)

    @property
    def terms(self) -> Any:
        """The terms of sends, as the SQL functions take them.

        The platform's limit of SMS takes the recipient's hash besides, for projects that have erased them.
        """
        project, address = self.project, self.address
        terms = project.terms_for(address.kind, is_unlimited=self.is_unlimited, is_simulated=self.sandbox.is_simulated)
        if project.platform_sms_a_day and address.is_phone:
            return project_terms.with_erased(terms, crypto.erased_address(address.text))
        return terms

    def guard_terms(self, *, is_manual: bool = False, is_handed: bool = False) -> Any:
        """Return what the SQL functions need to judge a send to this recipient, or None where the guard has no say.

        Manual sends are counted apart and only observed, unless the project enforces them too. A code that an identity
        system handed over is judged as a session's.
        """
        guard, address = self.project.guard, self.address
        if guard.mode == GuardMode.OFF or not address.is_phone or self.is_unlimited:
            return None
        is_apart = is_manual and not guard.enforces_manual
        return sql.Jsonb(
            {
                "enforce": guard.mode == GuardMode.ENFORCE and not is_apart,
                "rule": GuardRule.MANUAL_PREFIX if is_apart else GuardRule.PREFIX,
                "counts_all": guard.enforces_manual,
                "prefix": address.text[:-SUBSCRIBER_DIGITS],
                "country": address.country,
                "numbers": guard.prefix_numbers,
                "window": guard.prefix_seconds,
                "block": guard.block_seconds,
                "block_max": guard.block_max_seconds,
                "quiet": guard.quiet_seconds,
                "known_days": guard.known_days,
                "network": "" if self.client_address is None else counted_network(self.project, self.client_address),
                "network_countries": guard.network_countries,
                "least_percent": guard.least_percent,
                "observes_countries": guard.observes_countries,
                "masked": mask(address.text),
                **({"is_handed": True} if is_handed else {}),
            }
        )


def policy_for(
    project: ProjectConfig, address: Address, *, client_address: str | None = None, is_test: bool | None = None
) -> RecipientPolicy:
    """Return what the project says of this recipient.

    ``is_test`` is what an open session says of itself, which holds until its end. Without it the project's live test
    logins decide.
    """
    to = address.text
    test_login = project.test_logins.get(to)
    sandbox = sandbox_policy(project, to)
    return RecipientPolicy(
        project=project,
        address=address,
        client_address=client_address,
        is_test=test_login is not None if is_test is None else is_test,
        test_login=test_login,
        sandbox=sandbox,
        is_unlimited=sandbox.is_simulated or project.lists.is_safe(to),
        challenge=project.challenge or (project.sandbox_challenge if sandbox.needs_challenge else None),
    )
