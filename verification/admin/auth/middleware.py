"""The middleware around every request to the panel, and the limit of all forms.

The panel speaks the language that the reader chose, else the first of their browser's that it has, and writes times in
their zone. Both are cookies, so that the pages before the login have them too. Only the panel's requests ask for them:
the API and the hosted pages pass this by, and a thread is back at English and UTC when its request ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone, translation

from verification.admin.auth import error_pages, session
from verification.admin.base import database_router
from verification.admin.base.time_zone import reader_zone
from verification.core.client_address import client_ip
from verification.core.request_bodies import announced_length
from verification.services.records import audit

FORM_AROUND_FILE = 64 * 1024  # bytes of the fields and boundaries around an invoice
NUL = "%00"  # as an address writes it: no text of PostgreSQL holds it, and asking for one is an error


@cache
def _root() -> str:
    """Return the panel's address, which every request is asked for."""
    return reverse("admin:index")


def _longest_form(request: HttpRequest) -> int:
    """Return the bytes that a form may have.

    Only logged-in users may upload an invoice, which is larger than any other form.
    """
    is_invoice = request.path == reverse("admin:verification_invoice") and request.user.is_authenticated
    most: int = settings.INVOICE_MAX_BYTES + FORM_AROUND_FILE if is_invoice else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return most


class FormLengthMiddleware:
    """Refuses a form that is announced as too long, on every page, before Django's look for its token reads all of it.

    A view without that look has a limit of its own.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: object) -> None:
        if not getattr(view, "csrf_exempt", False) and announced_length(request) > _longest_form(request):
            raise RequestDataTooBig("The form is larger than allowed.")


class PanelMiddleware:
    """Renews the session, speaks as the reader wants, names them to the audit log, and renders failures as pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(_root()):
            return self.get_response(request)
        session.renew(request)
        database_router.record_form(request)
        language = translation.get_language_from_request(request)
        with translation.override(language), timezone.override(reader_zone(request)):
            with audit.acting(request.user.get_username() or "nobody", client_ip(request)):
                response = self._answer(request)
            error_pages.render(request, response)
        response.headers.setdefault("Content-Language", language)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        if NUL in request.META["QUERY_STRING"]:
            return HttpResponse(status=HTTPStatus.NOT_FOUND)
        return self.get_response(request)
