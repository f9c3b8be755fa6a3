"""Events as the description shows them, to be made up. Written by packages/generate_clients.py."""

from typing import Any

SAMPLES: dict[str, dict[str, Any]] = {
    "session.opened": {
        "type": "session.opened",
        "timestamp": "2026-05-04T09:31:12.418Z",
        "data": {
            "session_id": "01K5V9QW3M7D8N4R2T6Y0ZB1CX",
            "recipient": "+467******05",
            "channel": "sms",
            "reason": None,
            "language": "sv",
            "is_test": False,
            "created_at": "2026-05-04T09:30:00.000Z",
            "expires_at": "2026-05-04T09:33:00.000Z",
        },
    },
    "session.verified": {
        "type": "session.verified",
        "timestamp": "2026-05-04T09:31:12.418Z",
        "data": {
            "session_id": "01K5V9QW3M7D8N4R2T6Y0ZB1CX",
            "recipient": "+467******05",
            "channel": "sms",
            "reason": None,
            "language": "sv",
            "is_test": False,
            "created_at": "2026-05-04T09:30:00.000Z",
            "expires_at": "2026-05-04T09:33:00.000Z",
        },
    },
    "session.locked": {
        "type": "session.locked",
        "timestamp": "2026-05-04T09:31:12.418Z",
        "data": {
            "session_id": "01K5V9QW3M7D8N4R2T6Y0ZB1CX",
            "recipient": "+467******05",
            "channel": "sms",
            "reason": None,
            "language": "sv",
            "is_test": False,
            "created_at": "2026-05-04T09:30:00.000Z",
            "expires_at": "2026-05-04T09:33:00.000Z",
        },
    },
    "session.expired": {
        "type": "session.expired",
        "timestamp": "2026-05-04T09:31:12.418Z",
        "data": {
            "session_id": "01K5V9QW3M7D8N4R2T6Y0ZB1CX",
            "recipient": "+467******05",
            "channel": "sms",
            "reason": None,
            "language": "sv",
            "is_test": False,
            "created_at": "2026-05-04T09:30:00.000Z",
            "expires_at": "2026-05-04T09:33:00.000Z",
        },
    },
    "session.refused": {
        "type": "session.refused",
        "timestamp": "2026-05-04T09:31:12.418Z",
        "data": {
            "session_id": None,
            "recipient": "+467******05",
            "channel": None,
            "reason": "too_many_sends",
            "language": None,
            "is_test": False,
            "created_at": None,
            "expires_at": None,
        },
    },
    "message.finished": {
        "id": 5125890120348313,
        "channel": "sms",
        "status": "success",
        "error": None,
        "finished_at": "2026-05-04T09:30:04.381Z",
    },
}
