"""Numbers as the reader's language writes them: 1,234.5 in English, 1 234,5 in Russian."""

from __future__ import annotations

from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import get_language


def grouped(value: float | Decimal, *, places: int | None = None) -> str:
    """Write a number with its thousands apart, and with so many ``places`` after the point."""
    if get_language() is None:  # as makemigrations has it, which compares help texts
        return f"{value:,}" if places is None else f"{value:,.{places}f}"
    return number_format(value, decimal_pos=places, force_grouping=True)
