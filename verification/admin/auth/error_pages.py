"""The pages that people see where the panel fails. They say what to do, in place of the API's JSON."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import REASON_NO_CSRF_COOKIE, REASON_NO_REFERER
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.csrf import csrf_failure as django_csrf_failure

PROBLEM_JSON = "application/problem+json"  # how the API answers, and Django's handlers with it
PAGES = {
    HTTPStatus.FORBIDDEN: (
        _("You don't have permission"),
        _("Your account does not have permission for this; ask the operator."),
    ),
    HTTPStatus.BAD_REQUEST: (
        _("The request cannot be read"),
        _("Nothing was saved. If you chose many rows, go back and choose fewer of them."),
    ),
    HTTPStatus.NOT_FOUND: (
        _("Page not found"),
        _("The page does not exist, or belongs to a project you are not a member of."),
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        _("Too much text"),
        _("The form is larger than allowed, and nothing was saved. Go back, shorten the longest field and save again."),
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        _("Something went wrong"),
        _(
            "Check whether your last change was saved before you repeat it. The operator can find the cause"
            " in the log by the ID below."
        ),
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        _("The database is busy"),
        _("Wait a moment and try again. If this persists, give the operator the ID below."),
    ),
}


NOT_SAVED = _("The form was not accepted")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form whose origin or token is not ours. This is Django's ``CSRF_FAILURE_VIEW``."""
    request.form_fault = why_not_ours(request, reason)  # type: ignore[attr-defined]  # the page tells it
    return django_csrf_failure(request, reason)


def why_not_ours(request: HttpRequest, reason: str) -> str:
    """Tell a person why a form of theirs was refused, and what helps."""
    origin = request.META.get("HTTP_ORIGIN", "")
    if reason == REASON_NO_CSRF_COOKIE:
        text = _(
            "The browser sent no cookie with it. Allow cookies for this site, and open it at {base_url}: only there"
            " does the browser keep them."
        )
    elif origin == "null" or reason == REASON_NO_REFERER:
        text = _(
            "The browser hid where it came from, as it does where a proxy in front of this service, or an extension of"
            " the browser, sets “Referrer-Policy: no-referrer”. The operator has to remove that header from the proxy;"
            " this service sends its own."
        )
    elif reason.startswith(("Origin", "Referer")):
        text = _(
            "It came from {origin}, and this service is at {base_url}. Open it there. If that is where you are, the"
            " operator has to correct BASE_URL, or make the proxy pass on Host and X-Forwarded-Proto."
        )
    else:
        text = _("It was open too long, or you logged in again meanwhile. Go back, reload the page and save again.")
    return text.format(origin=origin or request.META.get("HTTP_REFERER", ""), base_url=settings.BASE_URL)


def render(request: HttpRequest, response: HttpResponseBase) -> None:
    """Write the page into ``response``, whose status and headers stay. If the database fails, leave it as it is."""
    if response.status_code not in PAGES or response.streaming:
        return
    if response.status_code == HTTPStatus.BAD_REQUEST and response["Content-Type"] != PROBLEM_JSON:
        return  # a page of the panel's own
    form_fault: str = getattr(request, "form_fault", "")
    title, text = (NOT_SAVED, form_fault) if form_fault else PAGES[HTTPStatus(response.status_code)]
    try:
        request.current_app = admin.site.name
        is_inside = admin.site.has_permission(request)
        context: dict[str, Any] = {
            **admin.site.each_context(request),
            "title": title,
            "text": text,
            "status": response.status_code,
            "layout": "admin/base_site.html" if is_inside else "unfold/layouts/unauthenticated.html",
        }
        page = render_to_string("admin/verification/failure.html", context, request)
    except DatabaseError:
        return
    response.content = page  # type: ignore[attr-defined]  # only a streamed one has none
    response["Content-Type"] = "text/html; charset=utf-8"
