"""The site of all pages. Every request to one of them passes :meth:`PanelSite.has_permission`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from django.contrib.auth import authenticate
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.i18n import set_language
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.sites import UnfoldAdminSite

from verification.admin.auth import invitations, login, logins, second_factor
from verification.admin.auth.reauthentication import reauthenticated, skip_reauthentication
from verification.admin.auth.session import is_allowed
from verification.admin.base.current_project import Switcher, follow_address
from verification.admin.base.permissions import has_right
from verification.admin.list_tools.saved_views import list_tools_view
from verification.admin.palette import palette_view
from verification.models import Right


class OwnPasswordForm(AdminOwnPasswordChangeForm):
    """The form for one's own password. A wrong old one counts as a failed login.

    After too many, the old password is refused unread.
    """

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        if authenticate(self.request, username=self.user.get_username(), password=old) != self.user:
            raise ValidationError(self.error_messages["password_incorrect"], code="password_incorrect")
        return old


class PanelSite(UnfoldAdminSite):
    empty_value_display = "–"  # as the pages' own columns write it

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and is_allowed(request)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Tell every page whether its user may follow links to the traffic, and of which project it is."""
        sees_traffic = request.user.is_authenticated and has_right(request, Right.SEE_TRAFFIC)
        return {**super().each_context(request), "sees_traffic": sees_traffic, "switcher": Switcher(request)}

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        guarded: Callable[..., Any] = super().admin_view(reauthenticated(view), cacheable)
        return guarded

    def extra_urls(self) -> list[URLPattern]:
        return [
            path("login/code/", login.second_step, name="second_step"),
            path("login/enrol/", login.enrol, name="enrol"),
            path("invitation/<str:token>/", invitations.open_link, name="invitation"),
            path("invitation/", invitations.join, name="join"),
            path("logins/", self.admin_view(logins.own), name="logins"),
            path("logins/<int:user_id>/", self.admin_view(logins.of_user), name="logins_of"),
            path("palette/", self.admin_view(palette_view), name="palette"),
            path("lists/<str:app>/<str:model>/", self.admin_view(list_tools_view), name="list_tools"),
            path("language/", set_language, name="language"),
            path("second-factor/", self.admin_view(second_factor.own), name="second_factor"),
            path("second-factor/app/", self.admin_view(second_factor.own_app), name="second_factor_app"),
        ]

    def index(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return follow_address(request) or super().index(request, extra_context)

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Any = None) -> HttpResponse:
        """Lead to the overview: every page's first breadcrumb points here, and Django would list bare tables."""
        return HttpResponseRedirect(reverse("admin:index"))

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> NoReturn:
        """Answer that there is no such page: unfold's search of tables by name is needless beside the menu."""
        raise Http404

    @method_decorator(never_cache)
    @login_not_required
    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        return login.first_step(request)

    @skip_reauthentication
    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        response: HttpResponse = super().logout(request, extra_context)
        return response

    @skip_reauthentication  # the form asks for the old password itself
    def password_change(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        view = PasswordChangeView.as_view(
            form_class=partial(OwnPasswordForm, request=request),
            success_url=reverse("admin:password_change_done"),
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        return view(request)
