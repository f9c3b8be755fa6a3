"""Checking a code, which gives a verify token, and redeeming the token, which gives the address that it proves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verification import sql
from verification.core import ids, request_ids
from verification.core.addresses import AddressKind, kind_of
from verification.core.crypto import code_digests, guess_digest, stored_digest
from verification.core.errors import ApiError, refusal
from verification.core.session_rules import VERIFY_TOKEN_SECONDS
from verification.models import Session
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection.client_networks import counted_network
from verification.services.protection.eligibility import refusal_of
from verification.services.protection.guard import guessing
from verification.services.protection.recipient import sandbox_policy
from verification.services.sessions.request_columns import request_columns


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """A right code. ``verify_token`` is the token's text; only its digest is kept."""

    verify_token: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class VerifiedAddress:
    """What a token proves. ``is_replayed``: an earlier request with this key has used the token up."""

    text: str
    kind: AddressKind
    is_test: bool
    session_id: str
    channel: str
    is_replayed: bool


def check_code(
    *, project: ProjectConfig, session_id: str, code: str, client_address: str | None, request_id: str = ""
) -> CheckedCode:
    """Spend one try and compare. The count is committed before this returns or raises. ``code`` is a plain one.

    A ``client_address`` of None stands for the customer's own server, for all of whose users no network can be counted.

    Raises ``invalid_code`` (with ``attempts_left``), ``too_many_attempts``, and what a session that is not open raises.
    Raises ``rate_limited`` for a client network that seems to guess; that spends no try.
    """
    network = "" if client_address is None else counted_network(project, client_address)
    columns = request_columns(project, request_id, client_address)
    guessing.require_no_guesser(project, network)
    token = ids.generate_verify_token()
    row = sql.call(
        "spend_attempt",
        project=project.id,
        session=session_id,
        code_digest=_digests_of_guess(code, session_id),
        token_digest=_digest(token),
        token_seconds=VERIFY_TOKEN_SECONDS,
        terms=_terms(project, session_id),
        network=network,
        guess=guess_digest(code.upper(), project_id=project.id),
        **columns._asdict(),
    )
    if row.outcome == "verified":
        return CheckedCode(token, row.is_test)
    if row.outcome == "invalid_code":
        raise ApiError("invalid_code", attempts_left=row.attempts_left)
    if row.outcome == "stranger_refused":
        raise guessing.subnet_refusal(project, columns.subnet, row.retry_after, row.figures)
    raise refusal_of(project, row.outcome, row.retry_after, to=row.address or "", channel=None)


def _terms(project: ProjectConfig, session_id: str) -> Any:
    """Return the terms of the session's recipient. Only a test project needs to look the recipient up."""
    if not project.is_sandbox:
        return project.terms_of_check
    to = Session.objects.filter(pk=session_id, project=project.id).values_list("recipient__address", flat=True).first()
    is_simulated = to is not None and sandbox_policy(project, to).is_simulated
    return project.terms_of_simulated_check if is_simulated else project.terms_of_check


def redeem_verify_token(
    *, project: ProjectConfig, token: str, key: str | None = None, request_id: str = ""
) -> VerifiedAddress:
    """Use up a token. With the ``key`` that used it up, as long as it would be good, the same is returned again.

    Raises ``verify_token_not_found`` and ``verify_token_expired``.
    """
    request, caller_request = request_ids.request_id_columns(request_id)
    row = sql.call(
        "redeem_verify_token",
        project=project.id,
        digest=_digest(token),
        key=None if key is None else stored_digest(key, kind="idempotency key"),
        request=request,
        caller_request=caller_request,
    )
    if row.outcome != "redeemed":
        raise refusal(row.outcome)
    return VerifiedAddress(
        row.address, kind_of(row.address), row.is_test, row.session_id, row.channel, is_replayed=row.is_replayed
    )


def _digest(token: str) -> bytes:
    return stored_digest(token, kind="verify token")


def _digests_of_guess(code: str, session_id: str) -> bytes | None:
    """Return the digests to compare, in a row, or None: only ASCII letters and digits can be a code."""
    is_possible = code.isascii() and code.isalnum()
    return b"".join(code_digests(code.upper(), session_id=session_id)) if is_possible else None
