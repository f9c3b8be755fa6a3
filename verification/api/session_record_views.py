"""Sessions as the customer's own server handles them: read, listed, cancelled."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from verification.api.base import SecretKeyView
from verification.api.reference import session_record_operations as operations
from verification.api.serializers.session_record import SessionList, SessionListQuery, SessionRecord
from verification.models import SessionState
from verification.services.sessions import session_records
from verification.services.sessions.session_records import SessionFilter


class SessionListView(SecretKeyView):
    @operations.list_sessions
    def get(self, request: Request) -> Response:
        query = self.query(request, SessionListQuery, self.project)
        state = query.get("state")
        wanted = SessionFilter(
            limit=query["limit"],
            after=query.get("after"),
            address=query.get("to"),
            reference=query.get("reference"),
            state=None if state is None else SessionState(state),
        )
        return self.answer(SessionList, session_records.list_sessions(self.project, wanted))


class SessionRecordView(SecretKeyView):
    @operations.read_session
    def get(self, request: Request, session_id: str) -> Response:
        return self.answer(SessionRecord, session_records.read(self.project, session_id))


class SessionCancelView(SecretKeyView):
    @operations.cancel_session
    def post(self, request: Request, session_id: str) -> Response:
        session_records.close(self.project, session_id)
        return self.answer(SessionRecord, session_records.read(self.project, session_id))
