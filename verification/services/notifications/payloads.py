"""The ids and bodies of events, as customers' servers get them and as the API lists them."""

from __future__ import annotations

from typing import Any

from verification.core import formats
from verification.core.addresses import mask
from verification.sql.rows import DescribedEvent


def webhook_id(row: DescribedEvent) -> str:
    """Return the event's id as customers see it, stable across retries."""
    return f"evt_{row.id}" if row.message_id is None else f"msg_{row.message_id}"


def body_of(row: DescribedEvent) -> dict[str, Any]:
    """Return the body of an event. It holds no code, and no whole recipient unless its row says so."""
    return _message(row) if row.message_id is not None else _session(row)


def _message(row: DescribedEvent) -> dict[str, Any]:
    assert row.finished_at is not None  # an event of a message is written when the message ends
    body = {
        "id": row.message_id,
        "channel": row.channel,
        "status": row.status,
        "error": row.error,
        "finished_at": formats.iso_time(row.finished_at),
    }
    if row.session_id is not None:
        body |= {"session_id": row.session_id, "reference": row.reference or None}
    return body


def _session(row: DescribedEvent) -> dict[str, Any]:
    recipient = row.subject
    if row.address is not None:
        recipient = row.address if row.shows_recipient else mask(row.address)
    return {
        "type": row.type,
        "timestamp": formats.iso_time(row.created_at),
        "data": {
            "session_id": row.session_id,
            "reference": row.reference or None,
            "recipient": recipient,
            "channel": row.channel or None,
            "reason": row.reason or None,
            "language": row.language,
            "is_test": bool(row.is_test),
            "created_at": row.opened_at and formats.iso_time(row.opened_at),
            "expires_at": row.expires_at and formats.iso_time(row.expires_at),
        },
    }
