"""Amounts of money in tiles and tables. What nobody knows is a word or a dash and no 0."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.utils.translation import gettext as _

from verification.core.formats import grouped

AT_LEAST = "≥ "  # marks a sum that some messages are missing from


def amount(money: Decimal | None) -> str:
    """Write an amount of money; what nobody knows is a word and no 0."""
    return _("Unknown") if money is None else grouped(money)


def money_cell(money: Decimal | None, unknown: int) -> str:
    """Write an amount in a table that names the currency."""
    return "–" if money is None else f"{AT_LEAST if unknown else ''}{grouped(money)}"


def has_at_least(cells: Iterable[str]) -> bool:
    """Return whether one of these amounts has the mark, which the page then explains."""
    return any(cell.startswith(AT_LEAST) for cell in cells)


def signed(value: Decimal) -> str:
    """Write a difference: with its sign, or 0 where there is none."""
    if not value:
        return "0"
    return f"+{grouped(value)}" if value > 0 else grouped(value).replace("-", "−")
