"""The rows that one request made, found by its id."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q

from verification.core import ids
from verification.core.lifetimes import SESSION_SECONDS, VERIFY_TOKEN_SECONDS
from verification.models import Message, Session, VerifyToken, WrongCode

# The longest time from a session to the request that redeems its token.
SESSION_AND_TOKEN = timedelta(seconds=SESSION_SECONDS + VERIFY_TOKEN_SECONDS)


def made_by(request_id: str, projects: list[int], *, most: int) -> tuple[list[Session], list[Message]]:
    """Return the newest sessions that the request opened, or whose code or token it brought, and its messages.

    A caller's own id is in indexes. One that tells its time is looked for among the rows of that time. No index holds
    the id of the request that redeemed a token, so that one is found by its time alone.
    """
    sessions, messages = _of_callers_id(request_id, projects, most)
    if at := ids.time_of_request_id(request_id):
        near = (at - ids.REQUEST_ID_SLACK, at + ids.REQUEST_ID_SLACK)
        which = {"request": request_id, "created_at__range": near, "project__in": projects}
        sessions |= _ids(Session, "pk", most, **which) | _ids(WrongCode, "session", most, **which)
        messages |= _ids(Message, "pk", most, **which)
        # Tokens are looked for by their sessions, which an index has in the order of time.
        whose = Q(request=request_id) | Q(used_request=request_id)
        since = {"session__created_at__range": (near[0] - SESSION_AND_TOKEN, near[1]), "session__project__in": projects}
        tokens = VerifyToken.objects.filter(whose, **since).values_list("session", flat=True)
        sessions |= set(tokens[:most])
    of_sessions = Session.objects.filter(pk__in=sessions, project__in=projects).order_by("-created_at")
    of_messages = Message.objects.filter(pk__in=messages, project__in=projects).order_by("-created_at")
    return list(of_sessions[:most]), list(of_messages[:most])


def _of_callers_id(request_id: str, projects: list[int], most: int) -> tuple[set[Any], set[Any]]:
    which = {"caller_request": request_id, "project__in": projects}
    sessions = _ids(Session, "pk", most, **which)
    sessions |= _ids(WrongCode, "session", most, **which) | _ids(VerifyToken, "session", most, **which)
    return sessions, _ids(Message, "pk", most, **which)


def _ids(model: Any, column: str, most: int, **which: Any) -> set[Any]:
    return set(model.objects.filter(**which).order_by().values_list(column, flat=True)[:most])
