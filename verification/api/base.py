"""What the views share: their kind of key, and the caller that it stands for."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, cast

from django.http import HttpRequest
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request
from rest_framework.views import APIView

from verification.api.authentication import ApiKeyAuthentication, SecretKeyAuthentication
from verification.api.fields import Fields
from verification.api.parsing import read_body
from verification.errors import FieldError, FieldsInvalid
from verification.services.projects.callers import Caller


class ApiView(APIView):
    """Any endpoint. Browsers get no CORS headers from one that is for servers only."""

    is_server_only: ClassVar[bool]

    @property
    def allowed_methods(self) -> list[str]:
        """For the Allow header. OPTIONS is answered to preflights alone."""
        return [method for method in super().allowed_methods if method != "OPTIONS"]

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> NoReturn:
        raise MethodNotAllowed("OPTIONS")


class KeylessView(ApiView):
    authentication_classes = ()
    is_server_only = False


class KeyView(ApiView):
    """A view behind a key, which is looked at before the method and the body."""

    def caller(self, request: Request) -> Caller:
        return cast(Caller, request.auth)


class ApiKeyView(KeyView):
    authentication_classes = (ApiKeyAuthentication,)
    is_server_only = False


class SecretKeyView(KeyView):
    """Must be called from the customer's server."""

    authentication_classes = (SecretKeyAuthentication,)
    is_server_only = True


def body_fields(request: Request) -> Fields:
    """The fields of a JSON body."""
    return Fields(read_body(request._request))


def query_fields(request: HttpRequest | Request) -> Fields:
    """The fields of a query string, each of which may stand there once."""
    for name in request.GET:
        if len(request.GET.getlist(name)) > 1:
            raise FieldsInvalid(FieldError(name, "repeated", "Give this parameter once."))
    return Fields(request.GET.dict())
