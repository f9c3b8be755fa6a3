"""The base of all vendors of challenges: we send a secret and a token to the vendor's server, which judges the token.

We do not send the user's address. Vendors do without it, it is personal, and behind a customer's own server it would be
the wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, ClassVar

from providers.errors import Outcome, ProviderError
from providers.http.client import HttpClient, Timeouts

TIMEOUTS = Timeouts(connect=2.0, total=3.0)  # a user is waiting; a vendor that takes longer counts as away
NO_HOSTS = frozenset({"", "not-provided"})  # what vendors write where the browser told none: it decides nothing
ACTION = "send_code"  # the action that a widget must name, if it can name one


class ChallengeOutcome(Enum):
    """What a vendor says of a user's token."""

    PASSED = "passed"
    FAILED = "failed"  # the user's token is wrong, too old, used before or not for us; another may pass
    MISCONFIGURED = "misconfigured"  # our request is wrong: the project's owner has to act
    UNAVAILABLE = "unavailable"  # the vendor does not say


@dataclass(frozen=True, slots=True)
class ChallengeResult:
    """An outcome with its reason: one clause for the log, without token or secret."""

    outcome: ChallengeOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """A project's account with a vendor.

    ``hosts`` are the names of the pages that may show its widget; if it is empty, we do not look at them.
    ``min_score`` is reCAPTCHA v3's, from 0.0 (a bot) to 1.0 (a person).
    """

    site_key: str
    secret: str = field(repr=False)
    hosts: frozenset[str] = frozenset()
    min_score: float = 0.5


PASSED = ChallengeResult(ChallengeOutcome.PASSED)
PASSED_BY_TEST_SECRET = replace(PASSED, reason="its secret is one for tests, which lets everybody pass")


class Vendor:
    """One vendor's server. A subclass names its errors and may look at more of the answer."""

    verify_url: ClassVar[str]
    max_token_characters: ClassVar[int] = 8192
    max_age_seconds: ClassVar[int] = 120  # of a token, as long as the vendor keeps it
    dummy_secrets: ClassVar[frozenset[str]]  # the vendor publishes them for tests: they let everybody pass
    our_errors: ClassVar[frozenset[str]]  # our fault; any other error is the user's
    passing_errors: ClassVar[frozenset[str]] = frozenset()  # the vendor's own faults

    def verify(self, site: Site, token: str, *, http: HttpClient, url: str = "") -> ChallengeResult:
        """Ask the vendor, for at most 3 seconds. ``url`` is for tests. Never raises."""
        if len(token) > self.max_token_characters or not (token.isascii() and token.isprintable()):
            return ChallengeResult(ChallengeOutcome.FAILED, "the token is malformed")
        try:
            response = http.request("POST", url or self.verify_url, form=self.form(site, token), timeout=TIMEOUTS)
        except ProviderError as error:
            is_ours = error.outcome is Outcome.MISCONFIGURED
            return ChallengeResult(
                ChallengeOutcome.MISCONFIGURED if is_ours else ChallengeOutcome.UNAVAILABLE, str(error)
            )
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.status >= 500 or not isinstance(answer, dict) or not isinstance(answer.get("success"), bool):
            return ChallengeResult(ChallengeOutcome.UNAVAILABLE, f"its answer is invalid (HTTP {response.status})")
        if answer["success"]:
            # With a secret for tests the vendor tells a host and action of its own. Production asks with none.
            return PASSED_BY_TEST_SECRET if site.secret in self.dummy_secrets else self.read_answer(site, answer)
        return self._read_errors(answer.get("error-codes"))

    def form(self, site: Site, token: str) -> dict[str, str]:
        return {"secret": site.secret, "response": token}

    def read_answer(self, site: Site, answer: Mapping[str, Any]) -> ChallengeResult:
        """Judge a token that the vendor accepted: it must also be fresh and come from one of the project's hosts."""
        age = _age(answer.get("challenge_ts"))
        if age is None:
            return ChallengeResult(ChallengeOutcome.UNAVAILABLE, "its answer has no time that can be read")
        if age > self.max_age_seconds:
            return ChallengeResult(ChallengeOutcome.FAILED, f"the token is {age:.0f} seconds old")
        told = (answer.get("hostname"), answer.get("apk_package_name"))  # Android apps have a package name
        hosts = {str(host or "").strip().lower() for host in told} - NO_HOSTS
        if site.hosts and not hosts <= site.hosts:
            names = ", ".join(sorted(hosts))[:253]
            return ChallengeResult(ChallengeOutcome.FAILED, f"the token comes from {names!r}, which is not allowed")
        return PASSED

    def _read_errors(self, codes: Any) -> ChallengeResult:
        errors = {code for code in codes if isinstance(code, str)} if isinstance(codes, list) else set()
        known = ", ".join(sorted(errors & (self.our_errors | self.passing_errors)))
        if errors & self.our_errors:
            return ChallengeResult(ChallengeOutcome.MISCONFIGURED, f"it rejects our request ({known})")
        if errors & self.passing_errors:
            return ChallengeResult(ChallengeOutcome.UNAVAILABLE, f"it has a server error ({known})")
        return ChallengeResult(ChallengeOutcome.FAILED, "it rejects the token")


def _age(moment: Any) -> float | None:
    """Return the seconds since a time in ISO 8601; None for anything else."""
    try:
        read = datetime.fromisoformat(moment)
    except (TypeError, ValueError):
        return None
    return (datetime.now(UTC) - (read if read.tzinfo else read.replace(tzinfo=UTC))).total_seconds()
