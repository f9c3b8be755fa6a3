"""How long things live, in seconds. A test compares SQL, pages, clients and guides, which cannot read this file."""

from __future__ import annotations

from typing import Final

SESSION_SECONDS: Final = 180  # a session: time for a code to arrive and be typed, and little for guessing
VERIFY_TOKEN_SECONDS: Final = 60  # a verify token: time for the customer's server to redeem it
CHANNEL_BLOCK_SECONDS: Final = 60  # between two codes of sessions over one channel: most codes have come by then
