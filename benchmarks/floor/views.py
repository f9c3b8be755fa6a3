"""Create and check as any service with these libraries has them: a serializer each way, and one statement.

Nothing is looked up, limited, hashed or logged, and the code is stored as it is.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.db import connection
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.floor.tasks import deliver


class CreateRequest(serializers.Serializer):  # type: ignore[type-arg]
    to = serializers.CharField(max_length=254)
    type = serializers.CharField(required=False)


class CreateResponse(serializers.Serializer):  # type: ignore[type-arg]
    session_id = serializers.CharField()


class CheckRequest(serializers.Serializer):  # type: ignore[type-arg]
    session_id = serializers.CharField(max_length=40)
    code = serializers.CharField(max_length=10)


class CheckResponse(serializers.Serializer):  # type: ignore[type-arg]
    verify_token = serializers.CharField()


class CreateView(APIView):
    def post(self, request: Request) -> Response:
        fields = validated(CreateRequest(data=request.data))
        session_id, code = secrets.token_hex(16), f"{secrets.randbelow(10**6):06d}"
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO flow (session_id, address, code) VALUES (%s, %s, %s) RETURNING id",
                [session_id, fields["to"], code],
            )
            (flow_id,) = cursor.fetchone()
        deliver.send(flow_id)
        return Response(CreateResponse({"session_id": session_id}).data)


class CheckView(APIView):
    def post(self, request: Request) -> Response:
        fields = validated(CheckRequest(data=request.data))
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE flow SET attempts = attempts + 1, token = CASE WHEN code = %s THEN %s END"
                " WHERE session_id = %s RETURNING token",
                [fields["code"], secrets.token_hex(16), fields["session_id"]],
            )
            (token,) = cursor.fetchone()
        return Response(CheckResponse({"verify_token": token}).data, status=200 if token else 400)


def validated(serializer: serializers.Serializer) -> dict[str, Any]:  # type: ignore[type-arg]
    serializer.is_valid(raise_exception=True)
    fields: dict[str, Any] = serializer.validated_data
    return fields


urlpatterns = [path("session/create", CreateView.as_view()), path("session/check", CheckView.as_view())]
