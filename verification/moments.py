"""How we write a moment for programs: ISO 8601 in UTC with a Z."""

from datetime import UTC, datetime


def iso(moment: datetime, timespec: str = "milliseconds") -> str:
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
