"""Pseudonyms: the keyed hash that stands in for a recipient's address once that is gone.

Only the holder of the key can match a hash with an address. The key is derived from ``SECRET_KEY``. With another key a
hash matches nothing any more.
"""

from __future__ import annotations

from verification.core.crypto import address_digest

HASHED = "hashed:"  # marks old rows of a project that keeps its rows without addresses.
FORGOTTEN = "forgotten:"  # marks what a day's limits and an opt-out need of a recipient who was erased


def hashed(project_id: int, address: str) -> str:
    return HASHED + address_digest(address, purpose=f"{HASHED}{project_id}")


def erased(address: str) -> str:
    """Return the hash without the project, by which the platform's limit still counts what was sent to the erased."""
    return address_digest(address, purpose="erased")


def forgotten(project_id: int, address: str) -> str:
    return FORGOTTEN + address_digest(address, purpose=f"{FORGOTTEN}{project_id}")
