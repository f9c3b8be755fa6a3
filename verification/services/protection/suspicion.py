"""Who looks like a bot: the callers whom a project that asks for challenges "on suspicion" asks for one."""

from __future__ import annotations

from verification.addresses import Address
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import guard, limits


def is_suspected(project: ProjectConfig, address: Address | None, client_address: str) -> bool:
    """Whether this caller has to prove that they are no bot. Counts nothing; ``address`` is None where none is known.

    The reasons: more sessions came from the client address than the project allows in ten minutes; codes are being
    guessed, in the project or by that address; the traffic guard found something about the number's prefix or country,
    or soon may.
    """
    return limits.is_over_creates(project, client_address) or guard.is_wary(project, address, client_address)
