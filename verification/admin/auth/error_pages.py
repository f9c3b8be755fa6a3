"""The pages that people see where the panel fails. They say what to do, in place of the API's JSON."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.db import DatabaseError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _

PAGES = {
    HTTPStatus.FORBIDDEN: (
        _("You don't have permission"),
        _(
            "Your account does not have permission for this; ask the operator. If you were saving a form, it"
            " may have been open too long: go back, reload it and save again."
        ),
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


def render(request: HttpRequest, response: HttpResponseBase) -> None:
    """Write the page into ``response``, whose status and headers stay. If the database fails, leave it as it is."""
    if response.status_code not in PAGES or response.streaming:
        return
    title, text = PAGES[HTTPStatus(response.status_code)]
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
