"""The draw that decides which of two texts a session gets."""

from __future__ import annotations

import hashlib

OF_HUNDRED = 100  # draws that are alike: a share is written in percent
_OCTETS = 4  # of the digest: 4 thousand million values, so a hundredth is off by less than 3 in 100 million


def draw(variant_id: int, session_id: str) -> int:
    """Return the session's number from 0 to 99 in this trial, as ``text_draw`` in sql/records does.

    Those below the trial's share get the second text. A session keeps its number, and in another trial it has another.
    """
    digest = hashlib.sha256(f"{variant_id}:{session_id}".encode()).digest()
    return int.from_bytes(digest[:_OCTETS]) % OF_HUNDRED
