"""Messages to hand to adapters, and what must come of it."""

from __future__ import annotations

from typing import Any

import pytest

from providers import registry
from providers.base import OutgoingMessage
from providers.errors import ProviderError

HOOK_URL = "https://codes.example/hooks/1/2"


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


def make_sms(**changes: Any) -> OutgoingMessage:
    """One that may be reported on."""
    return make_message(**{"hook_url": HOOK_URL, **changes})


def error_of(adapter: Any, message: OutgoingMessage | None = None) -> ProviderError:
    """Return the error that refuses the message; it gives away neither code nor recipient nor secret."""
    sent = message or make_sms()
    with pytest.raises(ProviderError) as caught:
        adapter.send(sent)
    error = caught.value
    for secret in secrets_of(adapter, sent):
        assert secret not in f"{error!r} {error.provider_status}"
    return error


def secrets_of(adapter: Any, message: OutgoingMessage) -> list[str]:
    """Return what no error, record or log may hold: the code, plain and spelled, the recipient, the secrets."""
    _, secret = registry.split_secrets(adapter.type, adapter.settings)
    found = [message.code, ", ".join(message.code), message.to[3:], *map(str, secret.values())]
    return [value for value in found if value]
