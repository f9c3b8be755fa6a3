"""Finding a session by its id, among those of the caller's project."""

from __future__ import annotations

from dataclasses import dataclass

from verification import sql
from verification.core.addresses import Address
from verification.core.errors import refusal
from verification.models import Session
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection.eligibility import refusal_of
from verification.services.sessions.code import CodeSettings

LIVE = ("open", "session_locked")  # states of a session that is neither verified nor over


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session of the project as it was read. ``state`` is ``open`` or the reason why it is not."""

    id: str
    recipient_id: int
    address: Address
    state: str
    language: str
    code: CodeSettings
    is_test: bool
    link_payload: str


def find(project: ProjectConfig, session_id: str) -> FoundSession:
    """Find a session in whatever state it is. Raises ``session_not_found``."""
    row = sql.call("find_session", project=project.id, session=session_id)
    if row is None:
        raise refusal("session_not_found")
    code = CodeSettings(row.code_length, row.code_digits, row.code_letters)
    return FoundSession(
        id=row.id,
        recipient_id=row.recipient_id,
        address=project.stored_address(row.address),
        state=row.state,
        language=row.language,
        code=code,
        is_test=row.is_test,
        link_payload=row.link_payload,
    )


def find_open(project: ProjectConfig, session_id: str) -> FoundSession:
    """Find a session whose code may still be sent. Otherwise raise why it may not."""
    session = find(project, session_id)
    if session.state != "open":
        raise refusal_of(project, session.state, None, to=session.address.text, channel=None)
    return session


def find_live(project: ProjectConfig, session_id: str) -> FoundSession:
    """Find a session that can be described: open, or locked by wrong codes and not over. Else raise why it cannot."""
    session = find(project, session_id)
    if session.state not in LIVE:
        raise refusal(session.state)
    return session


def record_session_refusal(session_id: str, rule: str) -> None:
    """Note on a session the rule that kept its code from going out. The same rule again writes nothing."""
    Session.objects.filter(pk=session_id).exclude(refusal=rule).update(refusal=rule)
