"""The session endpoints, and verify. Each view reads its fields, calls one service, and answers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse

from verification import request_ids, timestamps
from verification.addresses import AddressKind
from verification.api.base import ApiKeyView, KeylessView, SecretKeyView, body_fields, query_fields
from verification.api.reference import operations
from verification.api.rendering import json_response
from verification.client_address import client_address
from verification.services.projects.snapshot import ChallengeConfig
from verification.services.protection import challenges
from verification.services.sessions import channels, check, create, describe, send
from verification.services.sessions.channels import SessionChannel

TEST_LOGIN_HEADER = "X-Test-Login"


class SessionCreateView(ApiKeyView):
    @operations.create_session
    def post(self, request: HttpRequest) -> HttpResponse:
        project = self.caller.project
        fields = body_fields(request)
        address = fields.address("to", test_addresses=project.test_logins)
        channel_type = fields.channel("type", required=False)
        send = fields.boolean("send", default=True)
        challenge_token = fields.challenge_token("challenge_token")
        fields.check()
        assert address is not None
        session = create.create_session(
            project=project,
            address=address,
            channel_type=channel_type,
            send=send,
            accept_language=request.META.get("HTTP_ACCEPT_LANGUAGE", ""),
            challenge_token=challenge_token,
            client_address=client_address(request),
            request_id=request_ids.of(request),
        )
        return json_response(
            {
                "session_id": session.session_id,
                "session_expired_at": timestamps.iso(session.expires_at),
                "sent_to": session.sent_to,
                "channels": [channel_data(channel) for channel in session.channels],
            }
        )


class SessionSendView(ApiKeyView):
    @operations.send_session
    def post(self, request: HttpRequest) -> HttpResponse:
        fields = body_fields(request)
        session_id = fields.session_id("session_id")
        channel_type = fields.channel("type", required=True)
        challenge_token = fields.challenge_token("challenge_token")
        fields.check()
        assert session_id is not None and channel_type is not None
        sent = send.resend_code(
            project=self.caller.project,
            session_id=session_id,
            channel_type=channel_type,
            challenge_token=challenge_token,
            client_address=client_address(request),
            request_id=request_ids.of(request),
        )
        return json_response(
            {
                "session_id": sent.session_id,
                "session_expired_at": timestamps.iso(sent.expires_at),
                "channel": channel_data(sent.channel),
            }
        )


class SessionChannelsView(ApiKeyView):
    @operations.list_channels
    def get(self, request: HttpRequest) -> HttpResponse:
        project = self.caller.project
        fields = query_fields(request)
        session_id = fields.session_id("session_id", required=False)
        fields.check()
        found = (
            channels.project_channels(project)
            if session_id is None
            else describe.describe_channels(project=project, session_id=session_id)
        )
        return json_response([channel_data(channel) for channel in found])


class SessionCheckView(ApiKeyView):
    @operations.check_code
    def post(self, request: HttpRequest) -> HttpResponse:
        fields = body_fields(request)
        session_id = fields.session_id("session_id")
        code = fields.guess("code")
        fields.check()
        assert session_id is not None and code is not None
        checked = check.check_code(
            project=self.caller.project,
            session_id=session_id,
            code=code,
            client_address=client_address(request),
            request_id=request_ids.of(request),
        )
        return json_response({"verify_token": checked.verify_token, "is_test": checked.is_test})


class SessionSettingsView(ApiKeyView):
    @operations.read_settings
    def get(self, request: HttpRequest) -> HttpResponse:
        fields = query_fields(request)
        session_id = fields.session_id("session_id", required=False)
        fields.check()
        found = describe.describe_settings(
            project=self.caller.project,
            session_id=session_id,
            accept_language=request.META.get("HTTP_ACCEPT_LANGUAGE", ""),
            client_address=client_address(request),
        )
        return json_response(
            {
                "language": found.language,
                "project": {"name": found.project_name},
                "code": asdict(found.code),
                "challenge": challenge_data(found.challenge),
            }
        )


class SessionChallengeView(KeylessView):
    @operations.read_puzzle
    def get(self, request: HttpRequest) -> HttpResponse:
        fields = query_fields(request)
        public_id = fields.public_id("project")
        fields.check()
        assert public_id is not None
        puzzle, origins = challenges.hand_out_puzzle(public_id, client_address(request))
        request.origins = origins  # type: ignore[attr-defined]
        return json_response(puzzle)


class SessionVerifyView(SecretKeyView):
    @operations.verify_session
    def post(self, request: HttpRequest) -> HttpResponse:
        fields = body_fields(request)
        token = fields.verify_token("verify_token")
        fields.check()
        assert token is not None
        verified = check.redeem_verify_token(
            project=self.caller.project, token=token, request_id=request_ids.of(request)
        )
        member = "email" if verified.kind is AddressKind.EMAIL else "phone"
        response = json_response({member: verified.text})
        if verified.is_test:
            response[TEST_LOGIN_HEADER] = "true"
        return response


def channel_data(channel: SessionChannel) -> dict[str, Any]:
    return {
        "name": channel.name,
        "type": channel.type,
        "is_active": channel.is_active,
        "timeout": channel.timeout,
        "image_url": channel.image_url,
        "link": channel.link,
    }


def challenge_data(challenge: ChallengeConfig | None) -> dict[str, Any]:
    if challenge is None:
        return {"enabled": False, "api_key": None}
    return {"enabled": True, "api_key": challenge.api_key, "provider": challenge.provider}
