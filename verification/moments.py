"""Times as programs read them: ISO 8601 in UTC with a Z."""

from datetime import UTC, datetime


def iso(moment: datetime, timespec: str = "milliseconds") -> str:
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
