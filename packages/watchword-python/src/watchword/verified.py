"""The recipient that a redeemed verify token proves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, repr=False)
class Verified:
    """A verified phone number (E.164) or e-mail address (lower case). ``repr`` shows only its ends, for logs."""

    phone: str | None
    email: str | None
    is_test: bool
    session_id: str | None = None
    channel: str | None = None

    @property
    def recipient(self) -> str:
        """The one of the two that was verified."""
        return self.phone or self.email or ""

    def __repr__(self) -> str:
        ends = f"{self.recipient[:1]}…{self.recipient[-2:]}"
        return (
            f"{type(self).__name__}(recipient={ends!r}, is_test={self.is_test!r}, session_id={self.session_id!r}, "
            f"channel={self.channel!r})"
        )
