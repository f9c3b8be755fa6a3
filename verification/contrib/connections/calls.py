"""A call of a system as it arrived, what is read from it, and what it is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class ProofInvalid(Exception):
    """The call does not prove that the system made it. The text says why, for the owner's log."""


class CallUnreadable(Exception):
    """The call holds no code for a recipient. The text says why, without anything of the call, for the owner's log."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it arrived. ``headers`` has lower-case names; signatures are computed over the raw ``body``.

    ``project_id`` is the project of the connection that is called.
    """

    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    project_id: int


@dataclass(frozen=True, slots=True)
class Handed:
    """One code in a call. ``to`` is as the system writes it.

    ``call`` is the system's own id, the same when it tries again; empty where it has none. ``language`` is written as
    in ``Accept-Language``. ``client_address`` is the end user's. ``channel`` is the one that the system asks for, which
    counts where the connection leaves the choice open.
    """

    to: str
    code: str = field(repr=False)
    call: str = ""
    language: str = ""
    client_address: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. A ``body`` of None is sent as nothing; a text is sent as plain text."""

    status: int = 200
    body: Mapping[str, Any] | str | None = None
