"""The address at which a provider reports back: ``/hooks/<provider uuid>/<secret>``."""

from __future__ import annotations

import logging

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from providers.base import HookRequest
from providers.errors import HookForged, HookUnreadable
from verification.api.base import ApiView
from verification.core.client_address import client_address
from verification.core.request_bodies import announced_length, read_body
from verification.services.delivery import receipts

log = logging.getLogger(__name__)


class ProviderHookView(ApiView):
    """A provider's hook. A wrong path is 404, a forged call 401, an unreadable one 400, a genuine one 200.

    HEAD at the right path, and a GET that says nothing, are 200 and have no effect. Vendors use them to validate the
    URL when it is entered, some before they show the key that they will sign with.

    Signatures are computed over our configured public address, never over the host that the caller names.
    """

    schema = None

    def head(self, request: Request, provider_uuid: str, secret: str) -> HttpResponse:
        receipts.find_provider(provider_uuid, secret, client_address=client_address(request))
        return HttpResponse()

    def get(self, request: Request, provider_uuid: str, secret: str) -> HttpResponse:
        return self._answer(request, provider_uuid, secret)

    def post(self, request: Request, provider_uuid: str, secret: str) -> HttpResponse:
        return self._answer(request, provider_uuid, secret)

    def _answer(self, request: Request, provider_uuid: str, secret: str) -> HttpResponse:
        provider = receipts.find_provider(
            provider_uuid, secret, client_address=client_address(request), size=announced_length(request)
        )
        body = read_body(request, request, settings.HOOK_MAX_BYTES)
        if request.method == "GET" and not body and not request.META.get("QUERY_STRING"):
            return HttpResponse()
        try:
            reply = receipts.handle_hook(provider, _hook_request(request, body))
        except HookForged:
            log.warning("A forged call for %s from %s was refused.", provider.name, _caller(request))
            return HttpResponse(status=401)
        except HookUnreadable as error:
            log.warning("A call of %s makes no sense: %s", provider.name, error)
            return HttpResponse(status=400)
        return HttpResponse(reply.body, status=reply.status, content_type=reply.content_type)


def _caller(request: Request) -> str:
    return client_address(request) or "an unknown address"


def _hook_request(request: Request, body: bytes) -> HookRequest:
    return HookRequest(
        method=request.method or "",
        url=settings.BASE_URL + request.path,
        query=request.META.get("QUERY_STRING", ""),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=body,
    )
