"""The base of all endpoints: what they share of a view of REST framework."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from verification.api.authentication import KeyAuthentication
from verification.api.permissions import HasApiKey, HasSecretKey
from verification.errors import FieldError, FieldsInvalid
from verification.services.projects.callers import Caller
from verification.services.projects.snapshot import ProjectConfig


class ApiView(APIView):
    """An endpoint. REST framework looks at the key, then at the method, and the view at the body."""

    http_method_names = ["get", "post", "head"]  # OPTIONS is for preflights alone, and the middleware answers those
    authentication_classes: ClassVar[Any] = []
    permission_classes: ClassVar[Any] = []

    def body(self, request: Request, serializer: type[BaseSerializer[Any]], **context: Any) -> dict[str, Any]:
        """Return the fields of a JSON body. Raises what the parser raises, and ``ValidationError``."""
        if request.stream is None:  # REST framework takes an empty body for an empty object
            request.parsers[0].parse(request, request.content_type, request.parser_context)
        return _valid(serializer(data=request.data, context=context))

    def query(self, request: Request, serializer: type[BaseSerializer[Any]]) -> dict[str, Any]:
        """Return the fields of a query string, each of which may stand there once. Raises ``ValidationError``."""
        for name, values in request.query_params.lists():
            if len(values) > 1:
                raise FieldsInvalid(FieldError(name, "repeated", "Give this parameter once."))
        return _valid(serializer(data=request.query_params.dict()))


def _valid(serializer: BaseSerializer[Any]) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    fields: dict[str, Any] = serializer.validated_data
    return fields


class KeyView(ApiView):
    """An endpoint behind a key."""

    authentication_classes = [KeyAuthentication]
    permission_classes: ClassVar[list[type[BasePermission]]]

    @property
    def caller(self) -> Caller:
        """Whose key this is."""
        caller: Caller = self.request.auth
        return caller

    @property
    def project(self) -> ProjectConfig:
        return self.caller.project


class ApiKeyView(KeyView):
    permission_classes = [HasApiKey]


class SecretKeyView(KeyView):
    """An endpoint that only the customer's server may call."""

    permission_classes = [HasSecretKey]
