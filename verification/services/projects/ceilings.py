"""The operator's ceilings: what an owner may set at the most. Run time goes by the lower of the two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.core.numbers import whole_number
from verification.models import DailySpend, Platform

CEILINGS = {  # the ceiling over each setting of a project
    "sends_per_day": "max_sends_per_day",
    "requests_per_second": "max_requests_per_second",
    "creates_per_address": "max_creates_per_address",
}
PLATFORM_SETTABLE = ("sms_per_recipient_a_day", "max_daily_budget", *CEILINGS.values())

ACCOUNT_CURRENCY = "account_currency"
PLATFORM_NAMES = (*PLATFORM_SETTABLE, ACCOUNT_CURRENCY)  # what the operator sets: ceilings, and the currency of costs

NO_CEILINGS = dict.fromkeys(PLATFORM_SETTABLE, 0)


def platform() -> Platform:
    """The one row, or what holds while there is none."""
    return Platform.objects.filter(pk=1).first() or Platform(pk=1)


def set_platform(values: Mapping[str, str]) -> Platform:
    """Set values by the names of :data:`PLATFORM_NAMES`. Raises :class:`UserError`; then nothing is changed."""
    row = platform()
    for name, text in values.items():
        if name == ACCOUNT_CURRENCY:
            row.account_currency = text
            continue
        if name not in PLATFORM_SETTABLE:
            raise UserError(
                _("There is no platform limit {name!r}. Platform limits: {names}.").format(
                    name=name, names=", ".join(PLATFORM_NAMES)
                )
            )
        number = whole_number(text)
        if number is None:
            raise UserError(_("{name}: enter a whole number.").format(name=name))
        setattr(row, name, number)
    try:
        row.full_clean()
    except ValidationError as error:
        raise UserError("; ".join(f"{name}: {texts[0]}" for name, texts in error.message_dict.items())) from None
    row.save()
    return row


def spent_today(projects: Any) -> dict[tuple[int, str], int]:
    """Return the messages that the budgets of these projects count today (UTC), by project and channel."""
    spends = DailySpend.objects.filter(project__in=projects, day=timezone.now().date())
    return {(spend.project_id, spend.channel): spend.messages for spend in spends}


def bounded(limit: int, ceiling: int) -> int:
    """The lower of a limit and its ceiling; 0 stands for none of either."""
    return min(limit, ceiling) if limit and ceiling else limit or ceiling


def lower_budget(own: int | None, ceiling: int) -> int | None:
    """Return the daily budget that holds for a channel: its own or the operator's ceiling. None stands for no limit."""
    if not ceiling:
        return own
    return ceiling if own is None else min(own, ceiling)


def require_below_ceiling(name: str, limit: int) -> None:
    """Judge what an owner sets. Raises :class:`UserError`."""
    if name in CEILINGS:
        ceiling = getattr(platform(), CEILINGS[name])
        if bounded(limit, ceiling) != limit:
            raise UserError(_("The operator allows at most {ceiling}.").format(ceiling=grouped(ceiling)))


def require_budget_below_ceiling(budget: int | None) -> None:
    """Judge a channel's daily budget, 0 for no limit; an empty one goes by the ceiling. Raises :class:`UserError`."""
    ceiling = platform().max_daily_budget
    if budget is not None and bounded(budget, ceiling) != budget:
        raise UserError(_("The operator allows at most {ceiling}.").format(ceiling=grouped(ceiling)))
