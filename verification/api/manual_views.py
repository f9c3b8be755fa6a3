"""The manual endpoints: a customer's server sends its own messages and reads what became of them."""

from __future__ import annotations

from typing import Any, cast

from rest_framework.request import Request
from rest_framework.response import Response

from verification.api.authentication import HEADER
from verification.api.base import REPLAYED_HEADER, SecretKeyView, shared_serializer
from verification.api.reference import manual_operations as operations
from verification.api.serializers import manual as serializers
from verification.core import request_ids
from verification.core.crypto import seal_for_key
from verification.core.errors import ApiError
from verification.core.numbers import whole_number
from verification.services.manual import messages
from verification.services.manual.idempotency import answer_once
from verification.services.manual.verified import report_verified


class ManualSendView(SecretKeyView):
    @operations.send_manual
    def post(self, request: Request) -> Response:
        fields = self.body(request, serializers.ManualSendRequest, self.project)

        def send() -> dict[str, Any]:
            sent = messages.send_message(
                project=self.project,
                address=fields["to"],
                channel_type=fields["channel"],
                provider_id=fields.get("provider_id"),
                code=fields.get("code"),
                callback_url=fields.get("callback_url") or "",
                request_id=request_ids.request_id_of(request),
            )
            sealed = seal_for_key(sent.code, secret_key=request.META[HEADER])
            answer = {"message": "The message is queued.", "code": sealed, "message_id": sent.message_id}
            return shared_serializer(serializers.ManualSendResponse).to_representation(answer)

        key = self.idempotency_key
        if key is None:
            return Response(send())
        answer = answer_once(caller=self.caller, key=key, body=cast(dict[str, Any], request.data), execute=send)
        return Response(answer.body, headers={REPLAYED_HEADER: "true"} if answer.is_replayed else None)


class ManualMessageView(SecretKeyView):
    @operations.read_message
    def get(self, request: Request, id: str) -> Response:
        message_id = whole_number(id)
        if message_id is None:
            raise ApiError("message_not_found")
        message = messages.read_message(project=self.project, message_id=message_id)
        return self.answer(serializers.ManualMessage, message)


class ManualVerifiedView(SecretKeyView):
    @operations.report_verified
    def post(self, request: Request) -> Response:
        fields = self.body(request, serializers.ManualVerifiedRequest, self.project)
        report_verified(project=self.project, message_id=fields.get("message_id"), address=fields.get("to"))
        return self.answer(serializers.ManualVerifiedResponse, {"verified": True})


class ManualChannelsView(SecretKeyView):
    @operations.list_manual_channels
    def get(self, request: Request) -> Response:
        return self.answer(serializers.ManualChannel, list(self.project.channels.values()))
