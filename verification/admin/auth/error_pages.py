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
        _("You may not do this"),
        _(
            "Your account is not allowed to open this page or to take this step; the operator decides that. If you were"
            " saving a form, it may have been open for too long: go back, load it again, and save once more."
        ),
    ),
    HTTPStatus.NOT_FOUND: (
        _("There is nothing here"),
        _("The page is gone, was never there, or belongs to a project that is not yours."),
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        _("This is too long"),
        _(
            "What you sent is longer than a form may be. Nothing of it was saved: go back, shorten the longest field,"
            " and save again."
        ),
    ),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        _("Something went wrong on our side"),
        _(
            "Look whether your last step was carried out before you repeat it. The operator finds what happened in the"
            " log by the id below."
        ),
    ),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        _("The database is busy"),
        _("Wait a moment and try again. If it stays so, tell the operator the id below."),
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
