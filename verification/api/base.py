"""The base of all endpoints: one way through every view, and the caller that a key stands for."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from rest_framework.views import APIView

from verification.api import exceptions
from verification.api.authentication import identify
from verification.api.fields import Fields
from verification.api.parsing import read_body
from verification.errors import FieldError, FieldsInvalid, Refusal
from verification.models import KeyKind
from verification.services.projects.callers import Caller


class ApiView(APIView):
    """An endpoint. Its methods get Django's request and answer with Django's response.

    It is a view of REST framework because drf-spectacular describes only those. Our ``dispatch`` replaces all that the
    framework does with a request.
    """

    is_server_only: ClassVar[bool]  # browsers get no CORS headers from such an endpoint
    served: ClassVar[tuple[str, ...]]  # methods, without OPTIONS: the middleware answers preflights
    allow: ClassVar[str]  # the Allow header, which lists them

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        names = {name for name in cls.http_method_names if hasattr(cls, name)} - {"options"}
        if "get" in names:
            names.add("head")  # Django's View.setup answers it as GET
        cls.served = tuple(name.upper() for name in cls.http_method_names if name in names)
        cls.allow = ", ".join(cls.served)

    @property
    def allowed_methods(self) -> list[str]:
        """The methods of the Allow header."""
        return list(self.served)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Look at the key, then at the method, and answer. Every failure becomes a problem document."""
        try:
            self.identify(request)
            if request.method not in self.served:
                detail = f"{request.method} is not served here. See the Allow header."
                raise Refusal("method_not_allowed", detail)
            response: HttpResponse = getattr(self, request.method.lower())(request, *args, **kwargs)
        except Exception as error:
            response = exceptions.handle(error, request)
        response["Allow"] = self.allow
        return response

    def identify(self, request: HttpRequest) -> None:
        """Find out who calls. An endpoint without a key asks nobody."""


class KeylessView(ApiView):
    is_server_only = False


class KeyView(ApiView):
    """An endpoint behind a key. The key is looked at before the method and the body."""

    kind: ClassVar[KeyKind]
    caller: Caller  # whose key this is; set before the method runs

    def identify(self, request: HttpRequest) -> None:
        self.caller = identify(request, self.kind)


class ApiKeyView(KeyView):
    kind = KeyKind.API
    is_server_only = False


class SecretKeyView(KeyView):
    """An endpoint that only the customer's server may call."""

    kind = KeyKind.SECRET
    is_server_only = True


def body_fields(request: HttpRequest) -> Fields:
    """Return the fields of a JSON body."""
    return Fields(read_body(request))


def query_fields(request: HttpRequest) -> Fields:
    """Return the fields of a query string, each of which may stand there once."""
    for name in request.GET:
        if len(request.GET.getlist(name)) > 1:
            raise FieldsInvalid(FieldError(name, "repeated", "Give this parameter once."))
    return Fields(request.GET.dict())
