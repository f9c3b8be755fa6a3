"""Judging requests by the traffic guard: the terms of a send, the refusal of a check, and suspicion of a caller.

The SQL function that queues a send also judges it, by the terms from here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from verification import sql
from verification.core.errors import ApiError, DecisionRecord
from verification.models import GuardMode, GuardRule
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import limits
from verification.services.protection.recipient import RecipientPolicy

SUBSCRIBER_DIGITS = 4  # the last digits of a number, which a prefix leaves out: 10,000 numbers share one


def guard_terms(recipient: RecipientPolicy, *, is_manual: bool = False) -> Any:
    """Return what the SQL functions need to judge a send to this recipient, or None where the guard has no say.

    Manual sends are counted apart and only observed, unless the project enforces them too.
    """
    guard, address = recipient.project.guard, recipient.address
    if guard.mode == GuardMode.OFF or not address.is_phone or recipient.is_unlimited:
        return None
    is_apart = is_manual and not guard.enforces_manual
    return sql.json(
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
        }
    )


def require_no_guesser(project: ProjectConfig, network: str) -> None:
    """Raise ``rate_limited`` for a client network that is kept from checking codes."""
    end = project.findings.get((GuardRule.NETWORK_REFUSED, network))
    if end is not None and (left := end - time.monotonic()) > 0:
        raise ApiError(
            "rate_limited",
            "Too many wrong codes came from this client address.",
            retry_after=math.ceil(left),
            decision=DecisionRecord(project.id, GuardRule.NETWORK_REFUSED, network),
        )


def subnet_refusal(project: ProjectConfig, subnet: str, retry_after: int, figures: Mapping[str, object]) -> ApiError:
    """Return the refusal of a check from a subnet with more wrong codes than the project's state allows."""
    return ApiError(
        "rate_limited",
        "Too many wrong codes came from around this client address. If it is your own server's, list it among the"
        " project's server addresses.",
        retry_after=retry_after,
        decision=DecisionRecord(project.id, GuardRule.STRANGERS, subnet, figures),
    )


def suspects_caller(project: ProjectConfig, client_address: str) -> bool:
    """Return whether a finding makes this caller suspicious. It asks no database."""
    network, now = limits.counted_network(project, client_address), time.monotonic()
    about_the_caller = (
        (GuardRule.WRONG_CODES, ""),
        (GuardRule.STRANGERS, ""),
        (GuardRule.NETWORK, network),
        (GuardRule.NETWORK_REFUSED, network),
    )
    if any(project.findings.get(finding, 0.0) > now for finding in about_the_caller):
        return True
    return any(rule == GuardRule.SAME_GUESS and end > now for (rule, _), end in project.findings.items())


def suspects_recipient(recipient: RecipientPolicy) -> bool:
    """Return whether there is a finding about the number's prefix or country, or one may come soon.

    Only a phone number costs a question to the database.
    """
    terms = guard_terms(recipient)
    return terms is not None and bool(sql.call("guard_is_wary", project=recipient.project.id, guard=terms).is_wary)
