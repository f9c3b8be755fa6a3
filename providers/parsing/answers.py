"""Readers of vendors' JSON answers. No shape surprises them, and they never quote what may hold a recipient."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from providers.base import Health
from providers.http.client import HttpAnswer

_IDENTITY = re.compile(r"[\x21-\x7e]{1,200}")


def read_object(answer: HttpAnswer) -> dict[str, Any]:
    """Return the JSON object of an answer; empty if it has none."""
    try:
        data = answer.json()
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def objects(value: object) -> list[dict[str, Any]]:
    """Return the JSON objects of a list; empty for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def identity(value: object) -> str | None:
    """Return a vendor's id, without spaces and at most 200 characters long; None for anything else."""
    return value if isinstance(value, str) and _IDENTITY.fullmatch(value) else None


def number(value: object) -> int | None:
    """Return a vendor's status or error number, which some write as text; None for anything else."""
    is_number = isinstance(value, (int, str)) and re.fullmatch(r"[0-9]{1,6}", str(value), re.ASCII)
    return int(str(value)) if is_number else None


def balance_health(vendor: str, amount: object, unit: object) -> Health:
    """Judge an account by its balance: it is in order while any is left."""
    try:
        left = Decimal(str(amount))
    except InvalidOperation:
        left = Decimal("NaN")
    if not left.is_finite() or not isinstance(unit, str) or not re.fullmatch(r"[A-Z]{3}|credits", unit):
        return Health(False, f"{vendor} answered, but returned no balance.")
    balance = f"{left:f} {unit}"
    return Health(left > 0, f"{vendor} accepts the credentials; the balance is {balance}.", balance)
