"""The base of all endpoints: what they share of a view of REST framework."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from verification.api.authentication import KeyAuthentication
from verification.api.parsers import StrictJSONParser
from verification.api.permissions import HasApiKey, HasSecretKey
from verification.core.errors import FieldError, FieldsInvalid
from verification.services.projects.callers import Caller
from verification.services.projects.snapshot import ProjectConfig


class ApiView(APIView):
    """An endpoint. REST framework looks at the key, then at the method, and the view at the body."""

    http_method_names = ["get", "post", "head"]  # OPTIONS is for preflights alone, and the middleware answers those
    authentication_classes: Sequence[type[BaseAuthentication]] = ()
    permission_classes: Sequence[type[BasePermission]] = ()

    def body(self, request: Request, serializer: type[Serializer[Any]], **context: Any) -> dict[str, Any]:
        """Return the fields of a JSON body. Raises what the parser raises, and ``ValidationError``."""
        if request.stream is None:  # REST framework takes an empty body for an empty object
            StrictJSONParser().parse(request, request.content_type, request.parser_context)
        reader = serializer(context=context) if context else shared(serializer)
        fields: dict[str, Any] = reader.run_validation(request.data)
        return fields

    def query(self, request: Request, serializer: type[Serializer[Any]]) -> dict[str, Any]:
        """Return the fields of a query string, each of which may stand there once. Raises ``ValidationError``."""
        for name, values in request.query_params.lists():
            if len(values) > 1:
                raise FieldsInvalid(FieldError(name, "repeated", "Give this parameter once."))
        fields: dict[str, Any] = shared(serializer).run_validation(request.query_params.dict())
        return fields

    def answer(self, serializer: type[Serializer[Any]], answer: object) -> Response:
        """Answer 200 with what the serializer writes: an object, or a list where it is given one."""
        write = shared(serializer).to_representation
        return Response([write(item) for item in answer] if isinstance(answer, list) else write(answer))


@cache
def shared(serializer: type[Serializer[Any]]) -> Serializer[Any]:
    """Return the one serializer of its class in this process. It keeps nothing of what it reads and writes.

    A serializer copies its fields when it is made, which takes longer than to read or write them. So REST framework
    makes a nested one once, and calls the same two methods of it for each item.
    """
    return serializer()


class KeyView(ApiView):
    """An endpoint behind a key."""

    authentication_classes = (KeyAuthentication,)

    @property
    def caller(self) -> Caller:
        """Whose key this is."""
        return cast(Caller, self.request.auth)

    @property
    def project(self) -> ProjectConfig:
        return self.caller.project


class ApiKeyView(KeyView):
    permission_classes = (HasApiKey,)


class SecretKeyView(KeyView):
    """An endpoint that only the customer's server may call."""

    permission_classes = (HasSecretKey,)
