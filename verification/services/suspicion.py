"""Who looks like a bot: the callers whom a project that asks for challenges "on suspicion" asks for one."""

from __future__ import annotations

from verification.addresses import Address
from verification.services import limits
from verification.services.configuration import ProjectConfig


def is_suspected(project: ProjectConfig, address: Address | None, client_address: str) -> bool:
    """Whether this caller has to prove that they are no bot. Counts nothing; ``address`` is None where none is known.

    So far for one reason: more sessions came from the client address than the project allows in ten minutes.
    """
    return limits.is_over_creates(project, client_address)
