"""What stands in a recipient's place once their address is gone: a keyed hash, which only who has the key can match.

The key is derived from ``SECRET_KEY``. With another one a hash is matched no more, and stays a number.
"""

from __future__ import annotations

from verification.crypto import address_digest

HASHED = "hashed:"  # the old rows of a project that keeps its rows without addresses
FORGOTTEN = "forgotten:"  # what a day's limits and an opt-out need of somebody who was erased


def hashed(project_id: int, address: str) -> str:
    return HASHED + address_digest(address, purpose=f"{HASHED}{project_id}")


def forgotten(project_id: int, address: str) -> str:
    return FORGOTTEN + address_digest(address, purpose=f"{FORGOTTEN}{project_id}")
