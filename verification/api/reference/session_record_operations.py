"""The operations on sessions that the customer's server calls, in words and examples."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter

from verification.api.reference import examples
from verification.api.reference.schema import RECORDS, SECRET_KEY, operation
from verification.api.serializers import session_record
from verification.api.serializers.fields import ULID

_SESSION_ID = OpenApiParameter(
    "session_id",
    {"type": "string", "pattern": ULID},
    OpenApiParameter.PATH,
    description="The session. What is no such id is 404.",
)
_RECORD = {
    "session_id": examples.SESSION_ID,
    "state": "verified",
    "recipient": "+46701740605",
    "channel": "sms",
    "reference": "login-4711",
    "language": "sv",
    "is_test": False,
    "attempts": 1,
    "created_at": "2026-05-04T09:30:00.000Z",
    "expires_at": examples.EXPIRY,
    "verified_at": "2026-05-04T09:31:12.418Z",
    "redeemed_at": "2026-05-04T09:31:12.655Z",
    "cancelled_at": None,
    "messages": [
        {
            "id": 5125890120348313,
            "channel": "sms",
            "status": "success",
            "error": None,
            "created_at": "2026-05-04T09:30:00.000Z",
            "finished_at": "2026-05-04T09:30:04.381Z",
        }
    ],
}

list_sessions = operation(
    "listSessions",
    tag=RECORDS,
    key=SECRET_KEY,
    summary="List sessions",
    description="""Lists the project's sessions, the newest first: all of them, those of one recipient (`to`), those of
one `reference` of yours, or those in one `state`.

Ask again with the `after` of the answer for as long as it `has_more`. Sessions are kept as long as the project's
retention says; where the one that `after` names is gone, the answer is 404.""",
    parameters=[session_record.SessionListQuery],
    answer=session_record.SessionList,
    answer_description="The sessions.",
    answer_example={"sessions": [_RECORD], "has_more": False, "after": None},
    errors=("validation_error", "session_not_found"),
)

read_session = operation(
    "readSession",
    tag=RECORDS,
    key=SECRET_KEY,
    summary="Read a session",
    description="""Reads a session in whatever state it is, with its messages and what became of each.

**It proves nobody's address**: that is for session/verify alone, which the user's side cannot reach without the right
code. A session of another project is 404.""",
    parameters=[_SESSION_ID],
    answer=session_record.SessionRecord,
    answer_description="The session.",
    answer_example=_RECORD,
    errors=("session_not_found", "not_found"),
)

cancel_session = operation(
    "cancelSession",
    tag=RECORDS,
    key=SECRET_KEY,
    summary="Cancel a session",
    description="""Ends an open or locked session before its time. From then on session/check and session/send answer
`session_expired`, what waits to be sent is not sent, and a create opens a new session.

It can be repeated: a cancelled session stays as it is. One that is verified is 409, one whose time ran out 410. The
body may be left out.""",
    parameters=[_SESSION_ID],
    answer=session_record.SessionRecord,
    answer_description="The session, cancelled.",
    answer_example={
        **_RECORD,
        "state": "cancelled",
        "attempts": 0,
        "expires_at": "2026-05-04T09:30:41.007Z",
        "verified_at": None,
        "redeemed_at": None,
        "cancelled_at": "2026-05-04T09:30:41.007Z",
    },
    errors=("session_not_found", "not_found", "session_verified", "session_expired"),
)
