"""Which kind of key an endpoint takes."""

from __future__ import annotations

from typing import ClassVar, cast

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from verification.core.errors import ApiError
from verification.models import KeyKind
from verification.services.projects.keys import Caller


class HasKeyKind(BasePermission):
    """Lets callers in whose key is of this kind. Raises ``wrong_key_kind`` for the other."""

    kind: ClassVar[KeyKind]
    otherwise: ClassVar[str]

    def has_permission(self, request: Request, view: APIView) -> bool:
        caller = cast("Caller | None", request.auth)
        if caller is not None and caller.kind != self.kind:
            raise ApiError("wrong_key_kind", self.otherwise)
        return caller is not None


class HasApiKey(HasKeyKind):
    kind = KeyKind.API
    otherwise = "This is a secret key; the endpoint takes an API key (ww_api_...)."


class HasSecretKey(HasKeyKind):
    kind = KeyKind.SECRET
    otherwise = "This is an API key; the endpoint takes a secret key (ww_secret_...), and only from your server."
