"""The manual endpoints: a customer's server sends its own messages and reads what became of them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from verification import request_ids
from verification.api.authentication import HEADER
from verification.api.base import SecretKeyView
from verification.api.fields import Fields
from verification.api.parsing import read_body
from verification.api.reference import operations
from verification.api.rendering import json_response
from verification.crypto import seal_for_key
from verification.errors import Refusal
from verification.services.manual import messages
from verification.services.manual.idempotency import answer_once
from verification.whole_numbers import whole_number

REPLAYED_HEADER = "Idempotency-Replayed"


class ManualSendView(SecretKeyView):
    @operations.send_manual
    def post(self, request: HttpRequest) -> HttpResponse:
        caller = self.caller
        body = read_body(request)
        fields = Fields(body)
        address = fields.address("to", test_addresses=caller.project.test_logins)
        channel_type = fields.channel("channel", required=True)
        provider_id = fields.positive_id("provider_id")
        code = fields.manual_code("code")
        callback_url = fields.callback_url("callback_url")
        fields.check()
        assert address is not None and channel_type is not None

        def send() -> dict[str, Any]:
            sent = messages.send_message(
                project=caller.project,
                address=address,
                channel_type=channel_type,
                provider_id=provider_id,
                code=code,
                callback_url=callback_url or "",
                request_id=request_ids.of(request),
            )
            return {
                "message": "The message is queued.",
                "code": seal_for_key(sent.code, secret_key=request.META[HEADER]),
                "message_id": sent.message_id,
            }

        key = request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is None:
            return json_response(send())
        answer = answer_once(caller=caller, key=key, body=body, execute=send)
        response = json_response(answer.body)
        if answer.is_replayed:
            response[REPLAYED_HEADER] = "true"
        return response


class ManualMessageView(SecretKeyView):
    @operations.read_message
    def get(self, request: HttpRequest, id: str) -> HttpResponse:
        message = messages.read_message(project=self.caller.project, message_id=_read_id(id))
        return json_response(
            {"id": message.id, "channel": message.channel, "status": message.status, "error": message.error}
        )


class ManualChannelsView(SecretKeyView):
    @operations.list_manual_channels
    def get(self, request: HttpRequest) -> HttpResponse:
        return json_response(
            [
                {
                    "name": channel.name,
                    "type": channel.type,
                    "providers": [
                        {
                            "id": provider.id,
                            "name": provider.name,
                            "type": provider.type,
                            "is_system": provider.is_system,
                        }
                        for provider in channel.providers
                    ],
                }
                for channel in self.caller.project.channels.values()
            ]
        )


def _read_id(text: str) -> int:
    """Return the id in the path. Raises ``message_not_found`` for a text that cannot be one."""
    message_id = whole_number(text)
    if message_id is None:
        raise Refusal("message_not_found")
    return message_id
