"""The recipient that a redeemed verify token stands for."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verified:
    """A verified phone number (E.164) or e-mail address (lower case). ``repr`` shows neither."""

    phone: str | None = field(repr=False)
    email: str | None = field(repr=False)
    is_test: bool
    session_id: str | None = None
    channel: str | None = None

    @property
    def recipient(self) -> str:
        """The one of the two that was verified."""
        return self.phone or self.email or ""
