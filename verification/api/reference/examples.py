"""The values that the examples of the API's description share."""

from __future__ import annotations

from django.conf import settings

SESSION_ID = "01K5V9QW3M7D8N4R2T6Y0ZB1CX"
EXPIRY = "2026-05-04T09:33:00.000Z"
TOKEN = "6f1c1c1e-8a54-4a9e-9b0f-3d5e0b9b7c11"  # noqa: S105  (an example)
PROJECT_ID = "0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4"

SMS = {
    "name": "SMS",
    "type": "sms",
    "is_active": True,
    "timeout": 60,
    "image_url": f"{settings.BASE_URL}/static/verification/channels/sms.svg",
    "link": "https://shop.example",
}
VOICE = {
    **SMS,
    "name": "Voice call",
    "type": "voice",
    "timeout": 0,
    "image_url": f"{settings.BASE_URL}/static/verification/channels/voice.svg",
}
PUZZLES_URL = f"{settings.BASE_URL}/session/challenge?project={PROJECT_ID}"
PUZZLE = {
    "parameters": {
        "algorithm": "PBKDF2/SHA-256",
        "cost": 5000,
        "keyLength": 32,
        "keyPrefix": "00",
        "nonce": "0bf5a1c2d3e4f5061728394a5b6c24ee",
        "salt": "e365b1c2d3e4f5061728394a5b6cafb3",
        "expiresAt": 1795195466,
        "data": {"project": PROJECT_ID},
    },
    "signature": "4538fe14c9e0a1b2c3d4e5f60718293a4b5c6d7e8f9012345678901234567890",
}
