"""ALTCHA: a proof of work, handed out and verified here without any outside service.

The library's unprefixed names are its second protocol, which the widget solves from version 3 on. The library keeps no
record of solved puzzles, so an answer would pass until its puzzle expires: the caller has to note
:attr:`Solved.puzzle`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import altcha

ALGORITHM = "PBKDF2/SHA-256"  # the widget has it built in
LIFE_SECONDS = 120  # the life of a puzzle
MAX_TOKEN_CHARACTERS = 8192  # the longest answer that we read; ours have about 700


@dataclass(frozen=True, slots=True)
class Solved:
    """A right answer. ``puzzle`` is the puzzle's signature, the same however the answer is written."""

    puzzle: str


def make_puzzle(*, project: str, cost: int, key: bytes) -> dict[str, Any]:
    """Make a signed puzzle for one project, as the widget reads it.

    ``cost`` is the iterations of one try. A solution takes 256 tries on average.
    """
    _check(key)
    expires_at = int(time.time()) + LIFE_SECONDS
    data = {"project": project}
    puzzle: dict[str, Any] = altcha.create_challenge(
        ALGORITHM, cost, expires_at=expires_at, data=data, hmac_secret=key
    ).to_dict()
    return puzzle


def read_answer(token: str, *, project: str, key: bytes) -> Solved | None:
    """Read the widget's answer to one of our puzzles for this project; None for anything else."""
    _check(key)
    if len(token) > MAX_TOKEN_CHARACTERS:
        return None
    try:
        payload = altcha.Payload.from_base64(token)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    signature = payload.challenge.signature
    if signature is None or not altcha.verify_solution(payload, key).verified:
        return None
    data = payload.challenge.parameters.data or {}  # as we signed it
    return Solved(signature) if data.get("project") == project else None


def _check(key: bytes) -> None:
    """Refuse an empty key, with which the library makes puzzles without a signature."""
    if not key:
        raise ValueError("the key is empty")
