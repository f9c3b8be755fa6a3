"""What a project says of one recipient, found once for a request and then carried through it."""

from __future__ import annotations

from typing import Any, NamedTuple

from verification.core import crypto
from verification.core.addresses import Address
from verification.core.codes import WRONG_CODES_THAT_LOCK
from verification.core.lifetimes import SESSION_SECONDS
from verification.services.projects import policy_document
from verification.services.projects.snapshot import ChallengeConfig, ProjectConfig, TestLoginConfig
from verification.services.protection.simulation import SandboxPolicy, sandbox_policy


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
        forced = self.sandbox.session_seconds
        return SESSION_SECONDS if forced is None else forced

    def attempts_max(self, code_length: int) -> int:
        """Return how many wrong codes lock a new session."""
        forced = self.sandbox.attempts_max
        return WRONG_CODES_THAT_LOCK[code_length] if forced is None else forced

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
            return policy_document.with_erased(terms, crypto.erased_address(address.text))
        return terms


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
