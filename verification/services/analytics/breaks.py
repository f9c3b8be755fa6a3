"""What an alert of a provider that collapsed in a country is about, as its key says it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from verification.core.ids import whole_number

AT = "%Y-%m-%dT%H:%M"  # of the break, in UTC


class Break(NamedTuple):
    """A provider, the country where it fails, and the hour since which it does."""

    provider: int
    country: str
    at: datetime


def key_of(found: Break) -> str:
    return f"{found.provider} {found.country} {found.at.astimezone(UTC):{AT}}"


def read_key(key: str) -> Break | None:
    """Return what a key says; None where it is none of ours."""
    provider, country, at = ([*key.split(" "), "", "", ""])[:3]
    number = whole_number(provider)
    try:
        return Break(number, country, datetime.strptime(at, AT).replace(tzinfo=UTC)) if number else None
    except ValueError:
        return None
