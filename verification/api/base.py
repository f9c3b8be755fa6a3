"""The base of all endpoints: what they share of a view of REST framework."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
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
from verification.core.client_address import ToldAddress, client_address
from verification.core.errors import DecisionRecord, FieldError, FieldsInvalid
from verification.core.networks import is_neighbour, read_address
from verification.models import KeyKind
from verification.services.projects.keys import Caller
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import quotas
from verification.services.protection.client_networks import UNKNOWN_NETWORK
from verification.services.protection.quotas import Quota
from verification.services.records.decisions import note

# Serializers that a process remembers: about 20 that know no project, and those of the busiest projects.
MAX_SHARED = 128

CLIENT_ADDRESS = "X-Client-Address"
IDEMPOTENCY_KEY = "Idempotency-Key"
IDEMPOTENCY_KEY_FORM = re.compile("[!-~]{1,255}")
REPLAYED_HEADER = "Idempotency-Replayed"


class ApiView(APIView):
    """An endpoint. REST framework looks at the key, then at the method, and the view at the body."""

    http_method_names = ["get", "post", "head"]  # OPTIONS is for preflights alone, and the middleware answers those
    authentication_classes: Sequence[type[BaseAuthentication]] = ()
    permission_classes: Sequence[type[BasePermission]] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        quotas.begin()
        super().initial(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        answer = super().finalize_response(request, response, *args, **kwargs)
        if quotas.noted():  # then the key, if one is asked for, was found good
            is_server = isinstance(request.auth, Caller) and request.auth.kind == KeyKind.SECRET
            _set_rate_limit_headers(
                [quota for quota in quotas.noted() if is_server or quota.name not in quotas.FOR_SERVERS], answer
            )
        return answer

    def body(
        self, request: Request, serializer: type[Serializer[Any]], project: ProjectConfig | None = None
    ) -> dict[str, Any]:
        """Return the fields of a JSON body. Raises what the parser raises, and ``ValidationError``.

        ``project`` is for serializers that read a recipient.
        """
        if request.stream is None:  # REST framework takes an empty body for an empty object
            StrictJSONParser().parse(request, request.content_type, request.parser_context)
        fields: dict[str, Any] = shared_serializer(serializer, project).run_validation(request.data)
        return fields

    def query(
        self, request: Request, serializer: type[Serializer[Any]], project: ProjectConfig | None = None
    ) -> dict[str, Any]:
        """Return the fields of a query string, each of which may stand there once. Raises ``ValidationError``.

        ``project`` is as in :meth:`body`.
        """
        for name, values in request.query_params.lists():
            if len(values) > 1:
                raise FieldsInvalid(FieldError(name, "repeated", "Give this parameter once."))
        fields: dict[str, Any] = shared_serializer(serializer, project).run_validation(request.query_params.dict())
        return fields

    def answer(self, serializer: type[Serializer[Any]], answer: object) -> Response:
        """Answer 200 with what the serializer writes: an object, or a list where it is given one."""
        write = shared_serializer(serializer).to_representation
        return Response([write(item) for item in answer] if isinstance(answer, list) else write(answer))


def _set_rate_limit_headers(counted: list[Quota], answer: Response) -> None:
    """Write the headers of draft-ietf-httpapi-ratelimit-headers-10, two lists of structured fields (RFC 9651)."""
    if not counted:
        return
    answer["RateLimit-Policy"] = ", ".join(f'"{quota.name}";q={quota.amount};w={quota.seconds}' for quota in counted)
    answer["RateLimit"] = ", ".join(
        f'"{quota.name}";r={quota.left}' + (f";t={quota.opens_in}" if quota.opens_in else "") for quota in counted
    )


@lru_cache(maxsize=MAX_SHARED)
def shared_serializer(serializer: type[Serializer[Any]], project: ProjectConfig | None = None) -> Serializer[Any]:
    """Return the process's serializer of this class, which keeps nothing of what it reads and writes.

    A serializer copies its fields when it is made, which takes longer than to read or write them. So REST framework
    makes a nested one once, and calls the same two methods of it for each item. One that reads recipients is made for
    a project's snapshot, which is another every 0.8 seconds.
    """
    return serializer(context={"project": project})


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

    @property
    def client_address(self) -> str:
        """The address of the end user: the caller's, or the one that a server of the project's own names.

        Raises :class:`FieldsInvalid` where such a server names what is no address of the internet.
        """
        address, named = client_address(self.request), self.request.META.get("HTTP_X_CLIENT_ADDRESS")
        if named is None:
            return address
        if str(read_address(address)) not in self.project.server_addresses:
            note(DecisionRecord(self.project.id, "unlisted_server", address or UNKNOWN_NETWORK))
            return address
        user = read_address(named)
        if user is None or "%" in named or user.is_multicast or user.is_unspecified or is_neighbour(str(user)):
            raise FieldsInvalid(FieldError(CLIENT_ADDRESS, "invalid", "Give the public IP address of the end user."))
        return ToldAddress(user)

    @property
    def idempotency_key(self) -> str | None:
        """The caller's ``Idempotency-Key``, if there is one. Raises :class:`FieldsInvalid`."""
        key = self.request.META.get("HTTP_IDEMPOTENCY_KEY")
        if key is not None and not IDEMPOTENCY_KEY_FORM.fullmatch(key):
            raise FieldsInvalid(FieldError(IDEMPOTENCY_KEY, "invalid", "Give 1 to 255 visible ASCII characters."))
        return key


class ApiKeyView(KeyView):
    permission_classes = (HasApiKey,)


class SecretKeyView(KeyView):
    """An endpoint that only the customer's server may call."""

    permission_classes = (HasSecretKey,)
