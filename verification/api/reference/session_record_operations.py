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
    description="The session. Anything that is not a session id is 404.",
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
    description="""Lists the project's sessions, newest first: all of them, or only those of one recipient (`to`), with
one `reference`, or in one `state`.

While `has_more` is true, repeat the request with the `after` of the answer. The project's retention decides how long
sessions are kept; if the session that `after` names was deleted, the answer is 404.""",
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
    description="""Reads a session in any state, with its messages and the status of each.

**This does not prove that the user owns the address.** Only session/verify does, because it needs a token that a client
gets for the right code. A session of another project is 404.""",
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
    description="""Ends an open or locked session early. From then on session/check and session/send answer
`session_expired`, messages that are still queued are not sent, and a create opens a new session.

Cancelling again changes nothing. A verified session is 409, an expired one 410. The request needs no body.""",
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
