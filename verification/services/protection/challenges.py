"""Bot protection: the callers who are asked for a challenge, and the result of their answers.

An answer is judged here, before anything is written or sent. ``open_session`` and ``send_code`` use it up in the
transaction that it pays for. So it works once under any parallelism, and a fault of ours before that leaves it good.
"""

from __future__ import annotations

import logging
import secrets
import time
from enum import Enum, auto
from typing import Any, NoReturn

from django.conf import settings

from providers.challenges import VENDORS, altcha, is_dummy_secret
from providers.challenges.base import PASSED_BY_TEST_SECRET, ChallengeOutcome, ChallengeResult, Site
from verification import sql
from verification.core import crypto
from verification.core.bulkhead import BulkheadFull, Wait, bulkhead
from verification.core.caching import Breaker, Cooldown, FreshCache
from verification.core.crypto import DecryptionFailed, decrypt, puzzle_keys, stored_digest
from verification.core.errors import ApiError
from verification.models import ChallengeProvider, GuardRule
from verification.services.projects.snapshot import ChallengeConfig, ProjectConfig, load_public_project
from verification.services.protection import limits, risk
from verification.services.protection.client_networks import counted_network
from verification.services.protection.recipient import RecipientPolicy
from verification.services.providers.http_client import http_client

log = logging.getLogger(__name__)

FAILURES_IN_A_ROW = 3  # failures of a vendor before it counts as down; a single one may be chance
AWAY_SECONDS = 5.0  # the time without asking a vendor that is down; each attempt blocks a thread for three seconds

ANSWER = "challenge answer"  # the kind that is mixed into the digest of an answer, so that no other digest equals it

LOGGED_SECONDS = 1.0  # the least time between two lines on failures in one project: anybody may fail at any rate
MAX_REMEMBERED = 10_000  # projects that a process remembers; of unknown ids next to nothing is kept

_logged = Cooldown(MAX_REMEMBERED)
_puzzle_projects: FreshCache[str, ProjectConfig | None] = FreshCache(MAX_REMEMBERED)  # by the id that pages know
_away = Breaker(seconds=AWAY_SECONDS, failures=FAILURES_IN_A_ROW)  # by project and vendor


class Demand(Enum):
    """Who needs a challenge for a request: ``UNLESS_SENT`` spares the one whose code goes out at once."""

    NOBODY = auto()
    UNLESS_SENT = auto()
    EVERYBODY = auto()


def demand(policy: RecipientPolicy, *, sends: bool) -> Demand:
    """Return whether the caller needs a challenge for this recipient. Counts nothing.

    Whoever is spared is a customer, and callers must not learn for nothing who is one. So the prefix or the country of
    a known recipient is forgiven only if a code goes out, and what is noted of one recipient has no say without a send.
    """
    challenge, client_address = policy.challenge, policy.client_address
    if challenge is None or client_address is None or policy.is_test:
        return Demand.NOBODY
    if challenge.is_always or policy.sandbox.needs_challenge or is_caller_suspicious(policy.project, client_address):
        return Demand.EVERYBODY
    if sends and risk.wants_challenge(policy.project, policy.address.text):
        return Demand.EVERYBODY
    if not is_recipient_suspicious(policy):
        return Demand.NOBODY
    return Demand.UNLESS_SENT if sends and (policy.is_unlimited or _is_known(policy)) else Demand.EVERYBODY


def is_required_for_any_recipient(project: ProjectConfig, client_address: str) -> bool:
    """Return whether this caller needs a challenge, whoever the recipient may be. Counts nothing."""
    challenge = project.challenge
    return challenge is not None and (challenge.is_always or is_caller_suspicious(project, client_address))


def is_caller_suspicious(project: ProjectConfig, client_address: str) -> bool:
    """Return whether this caller has to prove that they are no bot. Counts nothing.

    The reasons: more sessions came from the client address than the project allows in ten minutes; codes are being
    guessed, in the project or by that address; the address requested numbers of many countries.
    """
    return limits.is_over_creates(project, client_address) or _has_finding_about_caller(project, client_address)


def _has_finding_about_caller(project: ProjectConfig, client_address: str) -> bool:
    """Return whether a finding makes this caller suspicious. It asks no database."""
    network, now = counted_network(project, client_address), time.monotonic()
    about_the_caller = (
        (GuardRule.WRONG_CODES, ""),
        (GuardRule.STRANGERS, ""),
        (GuardRule.NETWORK, network),
        (GuardRule.NETWORK_REFUSED, network),
        (GuardRule.NETWORK_COUNTRIES, network),
    )
    if any(project.findings.get(finding, 0.0) > now for finding in about_the_caller):
        return True
    return any(rule == GuardRule.SAME_GUESS and end > now for (rule, _), end in project.findings.items())


def is_recipient_suspicious(policy: RecipientPolicy) -> bool:
    """Return whether there is a finding about the number's prefix or country, or one may come soon.

    Only a phone number costs a question to the database.
    """
    terms = None if policy.sandbox.is_simulated else policy._replace(is_unlimited=False).guard_terms()
    return terms is not None and bool(sql.value("guard_is_wary", project=policy.project.id, guard=terms))


def _is_known(policy: RecipientPolicy) -> bool:
    """Return whether the customer's server proved the recipient, as the traffic guard counts it."""
    project, days = policy.project, policy.project.guard.known_days
    if not days:
        return False
    to = policy.address.text
    return bool(sql.value("is_known_address", project=project.id, address=to, days=days))


def ask(policy: RecipientPolicy) -> None:
    """Raise ``challenge_required`` with what a widget needs, unless the project never asks this caller for one."""
    if policy.may_be_challenged and policy.project.challenge is not None:
        _require(policy.project.challenge)


def verify(policy: RecipientPolicy, token: str | None, *, is_required: bool) -> bytes | None:
    """Return the digest by which a right answer is to be used up; None where none was needed or none could be judged.

    A token that was not asked for is judged too: it frees the session from what others' wrong codes impose.

    Raises ``challenge_required``, ``challenge_failed`` and ``challenge_unavailable``. Raises ``rate_limited`` for an
    address that failed so many challenges that the vendor is no longer asked.
    """
    challenge, project = policy.challenge, policy.project
    if challenge is None or not policy.may_be_challenged:
        return None
    if token is None:
        if is_required:
            _require(challenge)
        return None
    if challenge.provider == ChallengeProvider.ALTCHA:
        return _verify_puzzle(project, token)
    return _verify_by_vendor(project, challenge, token, policy.client_address or "", is_required=is_required)


def _verify_puzzle(project: ProjectConfig, token: str) -> bytes:
    read = (altcha.read_answer(token, project=project.public_id, key=key) for key in puzzle_keys())
    solved = next(filter(None, read), None)
    if solved is None:
        _fail(project, "the answer is wrong, too old or not for this project")
    return stored_digest(solved.puzzle, kind=ANSWER)


def _verify_by_vendor(
    project: ProjectConfig, challenge: ChallengeConfig, token: str, client_address: str, *, is_required: bool
) -> bytes | None:
    """Return as :func:`verify` does; None where the vendor told nothing and the caller is let in without it."""
    limits.require_few_failed_challenges(project, client_address)
    try:
        result = _ask_vendor(project, challenge, token)
    except BulkheadFull:
        # Whoever sends many answers at once brings this about. It tells nothing of the vendor, and so opens nothing.
        log.warning("project %s: too many requests are waiting for an answer already.", project.id)
        if is_required:
            raise ApiError("challenge_unavailable") from None
        return None
    if result == PASSED_BY_TEST_SECRET:
        log.warning("project %s: %s: %s.", project.id, challenge.provider, result.reason)
        token = secrets.token_hex()  # test widgets make one token again and again, and an answer works once
    if result.outcome is ChallengeOutcome.PASSED:
        return stored_digest(token, kind=ANSWER)
    if result.outcome is ChallengeOutcome.FAILED:
        limits.count_failed_challenge(project, client_address)
        _fail(project, result.reason)
    is_let_in = challenge.fails_open or not is_required
    level = logging.ERROR if result.outcome is ChallengeOutcome.MISCONFIGURED else logging.WARNING
    log.log(
        level,
        "project %s: %s is %s: %s; the caller is %s.",
        project.id,
        challenge.provider,
        result.outcome.value,
        result.reason,
        "let in unchallenged" if is_let_in else "refused",
    )
    if not is_let_in:
        raise ApiError("challenge_unavailable")
    return None


def hand_out_puzzle(public_id: str, client_address: str) -> tuple[dict[str, Any], frozenset[str]]:
    """Return a puzzle of our own challenge, and the origins that may read it.

    Raises ``rate_limited``, and ``not_found`` where no enabled project with this challenge has the id.
    """
    limits.count_puzzle(client_address)
    project = _puzzle_projects.get(public_id, lambda: load_public_project(public_id))
    if project is None or not project.hands_out_puzzles:
        raise ApiError("not_found", "No project with this id hands out puzzles.")
    puzzle = altcha.make_puzzle(project=project.public_id, cost=settings.ALTCHA_COST, key=puzzle_keys()[0])
    return puzzle, project.origins


def _ask_vendor(project: ProjectConfig, challenge: ChallengeConfig, token: str) -> ChallengeResult:
    if challenge.sealed_secret is None:
        return ChallengeResult(ChallengeOutcome.MISCONFIGURED, "there is no secret")
    try:
        secret = decrypt(challenge.sealed_secret, binding=crypto.challenge_secret_binding(project.public_id))
    except DecryptionFailed:
        return ChallengeResult(
            ChallengeOutcome.MISCONFIGURED, "its secret cannot be decrypted; is a key of ENCRYPTION_KEYS missing?"
        )
    if not settings.IS_EMBEDDED and is_dummy_secret(challenge.provider, secret):
        return ChallengeResult(ChallengeOutcome.MISCONFIGURED, PASSED_BY_TEST_SECRET.reason)
    site = Site(challenge.api_key, secret, challenge.hosts, challenge.min_score)
    return _ask_unless_away((project.id, challenge.provider), site, token)


def _ask_unless_away(vendor: tuple[int, str], site: Site, token: str) -> ChallengeResult:
    """Ask the vendor, or answer for it while it is down: then one caller asks every few seconds, the others do not.

    Raises :class:`BulkheadFull` where too many of our requests wait for vendors already.
    """
    if not _away.allow(vendor):
        return ChallengeResult(ChallengeOutcome.UNAVAILABLE, "it did not answer a moment ago")
    project_id, provider = vendor
    url = settings.CHALLENGE_VERIFY_URLS.get(provider, "")
    with bulkhead(project_id, Wait.CHALLENGE_VENDOR):
        result = VENDORS[provider].verify(site, token, http=http_client(), url=url)
    if result.outcome is ChallengeOutcome.UNAVAILABLE:
        _away.record_failure(vendor)
    else:
        _away.record_success(vendor)
    return result


def _require(challenge: ChallengeConfig) -> NoReturn:
    raise ApiError("challenge_required", provider=challenge.provider, api_key=challenge.api_key)


def _fail(project: ProjectConfig, reason: str) -> NoReturn:
    if not _logged.left(project.id):
        _logged.begin(project.id, seconds=LOGGED_SECONDS)
        log.info("project %s: a challenge was not passed: %s", project.id, reason)
    raise ApiError("challenge_failed")
