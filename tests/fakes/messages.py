"""Messages to hand to adapters."""

from __future__ import annotations

from typing import Any

from providers.base import OutgoingMessage


def make_message(**changes: Any) -> OutgoingMessage:
    values: dict[str, Any] = {
        "id": 42,
        "to": "+4915112345678",
        "channel": "sms",
        "code": "4711",
        "text": "Your code is 4711",
        "language": "en",
        "expires_in": 180,
        "subject": "4711 is your code",
        "project": "Shop",
    }
    return OutgoingMessage(**{**values, **changes})
