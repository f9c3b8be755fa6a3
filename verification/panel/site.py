"""The site that all pages hang on. Every request to one of them passes :meth:`PanelSite.has_permission`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from unfold.sites import UnfoldAdminSite

from verification.panel import factor_views, login
from verification.panel.confirmation import confirmed, without_asking
from verification.panel.session import is_let_in


class PanelSite(UnfoldAdminSite):
    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and is_let_in(request)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        guarded: Callable[..., Any] = super().admin_view(confirmed(view), cacheable)
        return guarded

    def extra_urls(self) -> list[URLPattern]:
        return [
            path("login/code/", login.second_step, name="second_step"),
            path("login/enrol/", login.enrol, name="enrol"),
            path("second-factor/", self.admin_view(factor_views.own), name="second_factor"),
        ]

    @method_decorator(never_cache)
    @login_not_required
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        return login.first_step(request)

    @without_asking
    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response: HttpResponse = super().logout(request, extra_context)
        return response

    @without_asking  # it asks for the old one itself
    def password_change(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response: HttpResponse = super().password_change(request, extra_context)
        return response
