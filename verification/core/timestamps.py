"""Times as programs read them: ISO 8601 in UTC with a Z."""

from datetime import UTC, datetime


def iso(at: datetime, timespec: str = "milliseconds") -> str:
    return at.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
