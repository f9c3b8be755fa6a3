"""The traffic guard: what a send is compared with, what was found, and taking a finding back."""

from __future__ import annotations

from typing import Any

from verification import sql
from verification.addresses import AddressKind, country_of, kind_of
from verification.models import GuardMode, GuardRule
from verification.services.configuration import ProjectConfig

SUBSCRIBER_DIGITS = 4  # numbers are alike if all but so many of their last digits are the same


def case_of(project: ProjectConfig, to: str, country: str | None = None, *, is_manual: bool = False) -> Any:
    """What the SQL functions need to judge a send to this address, or None where the guard has no say.

    Manual sends are counted apart and only observed, unless the project enforces them too.
    """
    guard = project.guard
    if guard.mode == GuardMode.OFF or kind_of(to) is not AddressKind.PHONE or project.lists.is_safe(to):
        return None
    is_apart = is_manual and not guard.enforces_manual
    return sql.json(
        {
            "enforce": guard.mode == GuardMode.ENFORCE and not is_apart,
            "rule": GuardRule.MANUAL_PREFIX if is_apart else GuardRule.PREFIX,
            "counts_all": guard.enforces_manual,
            "prefix": to[:-SUBSCRIBER_DIGITS],
            "country": country_of(to) if country is None else country,
            "numbers": guard.prefix_numbers,
            "window": guard.prefix_seconds,
            "block": guard.block_seconds,
            "block_max": guard.block_max_seconds,
            "quiet": guard.quiet_seconds,
        }
    )
