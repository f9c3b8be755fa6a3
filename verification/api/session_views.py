"""The session endpoints, and verify. Each view reads its fields, calls one service, and answers."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from verification.api.base import REPLAYED_HEADER, ApiKeyView, ApiView, SecretKeyView
from verification.api.reference import operations
from verification.api.serializers import session as serializers
from verification.core import request_ids
from verification.core.addresses import AddressKind
from verification.core.client_address import client_address
from verification.services.protection import challenges
from verification.services.sessions import channels, check, create, describe, send

# The body of verify may hold the phone number or the e-mail address and nothing else, so these headers say the rest.
SESSION_HEADER = "X-Session-Id"
CHANNEL_HEADER = "X-Channel"
TEST_LOGIN_HEADER = "X-Test-Login"


class SessionCreateView(ApiKeyView):
    @operations.create_session
    def post(self, request: Request) -> Response:
        fields = self.body(request, serializers.SessionCreateRequest, self.project)
        options = create.CreateOptions(
            channel_type=fields.get("channel"),
            send=fields.get("send") is not False,
            reference=fields.get("reference"),
            preferred_languages=request.META.get("HTTP_ACCEPT_LANGUAGE", ""),
            challenge_token=fields.get("challenge_token"),
            client_address=self.client_address,
            request_id=request_ids.request_id_of(request),
        )
        session = create.create_session(self.project, fields["to"], options)
        return self.answer(serializers.SessionCreateResponse, session)


class SessionSendView(ApiKeyView):
    @operations.send_session
    def post(self, request: Request) -> Response:
        fields = self.body(request, serializers.SessionSendRequest)
        options = send.ResendOptions(
            channel_type=fields["channel"],
            challenge_token=fields.get("challenge_token"),
            client_address=self.client_address,
            request_id=request_ids.request_id_of(request),
        )
        sent = send.resend_code(self.project, fields["session_id"], options)
        return self.answer(serializers.SessionSendResponse, sent)


class SessionChannelsView(ApiKeyView):
    @operations.list_channels
    def get(self, request: Request) -> Response:
        session_id = self.query(request, serializers.SessionQuery).get("session_id")
        found = (
            channels.project_channels(self.project)
            if session_id is None
            else describe.describe_channels(project=self.project, session_id=session_id)
        )
        return self.answer(serializers.SessionChannel, found)


class SessionCheckView(ApiKeyView):
    @operations.check_code
    def post(self, request: Request) -> Response:
        fields = self.body(request, serializers.SessionCheckRequest)
        checked = check.check_code(
            project=self.project,
            session_id=fields["session_id"],
            code=fields["code"],
            client_address=self.client_address,
            request_id=request_ids.request_id_of(request),
        )
        return self.answer(serializers.SessionCheckResponse, checked)


class SessionSettingsView(ApiKeyView):
    @operations.read_settings
    def get(self, request: Request) -> Response:
        found = describe.describe_settings(
            project=self.project,
            session_id=self.query(request, serializers.SessionQuery).get("session_id"),
            preferred_languages=request.META.get("HTTP_ACCEPT_LANGUAGE", ""),
            client_address=self.client_address,
        )
        return self.answer(serializers.SessionSettings, found)


class SessionChallengeView(ApiView):
    @operations.read_puzzle
    def get(self, request: Request) -> Response:
        fields = self.query(request, serializers.PuzzleQuery)
        puzzle, origins = challenges.hand_out_puzzle(fields["project"], client_address(request))
        request._request.origins = origins  # type: ignore[attr-defined]  # who may read the answer
        return self.answer(serializers.Puzzle, puzzle)


class SessionDeliveryView(ApiKeyView):
    @operations.read_delivery
    def get(self, request: Request) -> Response:
        session_id = self.query(request, serializers.DeliveryQuery)["session_id"]
        ways = describe.describe_delivery(project=self.project, session_id=session_id)
        return self.answer(serializers.SessionDelivery, {"channels": ways})


class SessionVerifyView(SecretKeyView):
    @operations.verify_session
    def post(self, request: Request) -> Response:
        fields = self.body(request, serializers.SessionVerifyRequest)
        verified = check.redeem_verify_token(
            project=self.project,
            token=fields["verify_token"],
            key=self.idempotency_key,
            request_id=request_ids.request_id_of(request),
        )
        member = "email" if verified.kind is AddressKind.EMAIL else "phone"
        response = self.answer(serializers.SessionVerifyResponse, {member: verified.text})
        response[SESSION_HEADER] = verified.session_id
        response[CHANNEL_HEADER] = verified.channel
        if verified.is_test:
            response[TEST_LOGIN_HEADER] = "true"
        if verified.is_replayed:
            response[REPLAYED_HEADER] = "true"
        return response
