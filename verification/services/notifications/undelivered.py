"""The event that a code did not go out."""

from __future__ import annotations

import logging

from django.db import DatabaseError, InterfaceError

from verification import sql
from verification.core.addresses import mask
from verification.core.errors import ApiError
from verification.models import EventType
from verification.services.projects.snapshot import ProjectConfig

log = logging.getLogger(__name__)

# Events of refusals that one project gets in a minute: more tell nothing that the decision log does not count, and
# whoever repeats refused requests must not have us call the customer's server as often.
PER_MINUTE = 60


class RecordedRefusals:
    """A context in which each refusal that is raised is recorded, as :func:`record_refused` does."""

    __slots__ = ("project", "session_id", "to")

    def __init__(self, project: ProjectConfig, *, to: str, session_id: str | None = None) -> None:
        self.project, self.to, self.session_id = project, to, session_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, ApiError):
            record_refused(self.project, error, to=self.to, session_id=self.session_id)


def record_refused(project: ProjectConfig, refusal: ApiError, *, to: str, session_id: str | None = None) -> None:
    """Note that a code for ``to`` did not go out, if a rule of the decision log refused it and the project wants that.

    Call this after the refusing transaction. It never raises: the refusal stands, whatever becomes of its event.
    """
    if refusal.decision is None or EventType.SESSION_REFUSED not in project.events:
        return
    try:
        sql.call(
            "note_refused_session",
            events=sql.json(project.event_terms),
            project=project.id,
            session=session_id,
            reason=refusal.decision.rule,
            subject="" if session_id else mask(to),
            per_minute=PER_MINUTE,
        )
    except (DatabaseError, InterfaceError) as error:
        log.warning("A refusal of project %s was not told as an event: %s", project.id, type(error).__name__)
