"""The refusals of checks from where codes are being guessed."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from verification.core.errors import ApiError, DecisionRecord
from verification.models import GuardRule
from verification.services.projects.snapshot import ProjectConfig

WRONG_CODES = "wrong_codes"  # the limit as a refusal names it, whichever rule it was


def require_no_guesser(project: ProjectConfig, network: str) -> None:
    """Raise ``rate_limited`` for a client network that is kept from checking codes."""
    end = project.findings.get((GuardRule.NETWORK_REFUSED, network))
    if end is not None and (left := end - time.monotonic()) > 0:
        raise ApiError(
            "rate_limited",
            "Too many wrong codes came from this client address.",
            retry_after=math.ceil(left),
            decision=DecisionRecord(project.id, GuardRule.NETWORK_REFUSED, network),
            limit=WRONG_CODES,
        )


def subnet_refusal(project: ProjectConfig, subnet: str, retry_after: int, figures: Mapping[str, object]) -> ApiError:
    """Return the refusal of a check from a subnet with more wrong codes than the project's state allows."""
    return ApiError(
        "rate_limited",
        "Too many wrong codes came from this client's network. If the address is your own server's, add it to the"
        " project's server addresses.",
        retry_after=retry_after,
        decision=DecisionRecord(project.id, GuardRule.STRANGERS, subnet, figures),
        limit=WRONG_CODES,
    )
