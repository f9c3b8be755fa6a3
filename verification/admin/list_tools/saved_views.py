"""The views of a list that a user saved, as tabs above it, and what is done with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR, SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db.models.functions import Lower
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base import current_project
from verification.admin.list_tools import columns
from verification.core.numbers import whole_number
from verification.models import SavedView
from verification.models.accounts import VIEW_NAME_MAX_LENGTH, VIEW_QUERY_MAX_LENGTH

MAX_VIEWS = 20  # saved by one user for one list; nobody could tell more tabs apart


@dataclass(frozen=True, slots=True)
class ViewTab:
    view: SavedView
    link: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ListTools:
    """What stands above a list. ``query`` is what saving keeps; empty where there is nothing to keep."""

    address: str  # where the forms go
    all: str
    tabs: list[ViewTab]
    query: str
    here: str  # the list's whole query, to come back to
    columns: list[tuple[str, str, bool]]

    @property
    def current(self) -> SavedView | None:
        return next((tab.view for tab in self.tabs if tab.is_current), None)

    @property
    def may_save(self) -> bool:
        return bool(self.query) and self.current is None and len(self.tabs) < MAX_VIEWS


def tools_of(changelist: Any, request: HttpRequest) -> ListTools:
    model_admin = changelist.model_admin
    plain, query = _kept(model_admin, request.GET.dict()), _query_of(model_admin, request)
    views = _views(model_admin, request)
    shown = columns.chosen_columns(model_admin, request)
    return ListTools(
        address=reverse("admin:list_tools", args=(model_admin.opts.app_label, model_admin.opts.model_name)),
        all=_link(request, ""),
        tabs=[
            ViewTab(view, _link(request, view.query), bool(plain) and view.query in (plain, query)) for view in views
        ],
        query=query if plain else "",
        here=request.GET.urlencode(),
        columns=columns.column_choices(model_admin, shown),
    )


@skip_reauthentication  # nothing but what the user sees depends on it
def list_tools_view(request: HttpRequest, app: str, model: str) -> HttpResponse:
    """Save, rename or delete a view, or remember the columns, and lead back to the list."""
    model_admin = current_project.page_of_list(f"admin:{app}_{model}_changelist")
    if model_admin is None or request.method != "POST":
        raise Http404
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    address = reverse(f"admin:{app}_{model_admin.opts.model_name}_changelist")
    query = STEPS.get(request.POST.get("step", ""), _nothing)(model_admin, request)
    return HttpResponseRedirect(f"{address}?{query}" if query else address)


def _save(model_admin: Any, request: HttpRequest) -> str:
    """Save the view under a name. The same name again replaces what it held."""
    here, name = request.POST.get("here", ""), _name(request)
    query = _kept(model_admin, dict(parse_qsl(request.POST.get("query", ""))))
    mine = _views(model_admin, request)
    same = mine.alias(lower=Lower("name")).filter(lower=name.lower()).first() if name else None
    if not name or not query or len(query) > VIEW_QUERY_MAX_LENGTH:
        messages.warning(request, _("Choose filters or columns, and enter a name."))
    elif same is not None:
        mine.filter(pk=same.pk).update(query=query, name=name)
    elif mine.count() >= MAX_VIEWS:
        said = ngettext(
            "You can save at most {number} view per list. Delete one first.",
            "You can save at most {number} views per list. Delete one first.",
            MAX_VIEWS,
        )
        messages.warning(request, said.format(number=MAX_VIEWS))
    else:
        user: Any = request.user
        SavedView.objects.create(user=user, page=model_admin.opts.label_lower, name=name, query=query)
        messages.success(request, _("The view {name} is saved.").format(name=name))
    return _with_project(here, query)


def _rename(model_admin: Any, request: HttpRequest) -> str:
    name, mine = _name(request), _views(model_admin, request)
    view = mine.filter(pk=whole_number(request.POST.get("view", "")) or 0).first()
    if view is not None and name:
        if mine.exclude(pk=view.pk).alias(lower=Lower("name")).filter(lower=name.lower()).exists():
            messages.warning(request, _("Another view has this name."))
        else:
            mine.filter(pk=view.pk).update(name=name)
    return request.POST.get("here", "")


def _delete(model_admin: Any, request: HttpRequest) -> str:
    _views(model_admin, request).filter(pk=whole_number(request.POST.get("view", "")) or 0).delete()
    return request.POST.get("here", "")


def _columns(model_admin: Any, request: HttpRequest) -> str:
    """Remember the columns. They are removed from the URL, which would take precedence."""
    chosen = [] if "usual" in request.POST else request.POST.getlist("column")
    columns.remember(model_admin, request, chosen)
    here = dict(parse_qsl(request.POST.get("here", "")))
    return urlencode({name: value for name, value in here.items() if name != columns.PARAMETER})


def _nothing(model_admin: Any, request: HttpRequest) -> str:
    raise Http404


STEPS = {"save": _save, "rename": _rename, "delete": _delete, "columns": _columns}


def _views(model_admin: Any, request: HttpRequest) -> Any:
    return SavedView.objects.filter(user=request.user.pk, page=model_admin.opts.label_lower)


def _name(request: HttpRequest) -> str:
    return " ".join(request.POST.get("name", "").replace("\0", "").split())[:VIEW_NAME_MAX_LENGTH]


def _query_of(model_admin: Any, request: HttpRequest) -> str:
    """Return what a view of this address would keep, with the columns where they are not the usual ones."""
    shown = columns.chosen_columns(model_admin, request)
    named = {} if shown == tuple(model_admin.list_display) else {columns.PARAMETER: columns.SEPARATOR.join(shown)}
    return _kept(model_admin, {**request.GET.dict(), **named})


def _kept(model_admin: Any, query: dict[str, str]) -> str:
    """Leave out the project, which the switcher chooses, and where a person is searched for also the search.

    Searches for people are never stored, so that nothing is left of a recipient who was forgotten.
    """
    left_out = {PAGE_VAR, ERROR_FLAG, current_project.PARAMETER} | (
        {SEARCH_VAR} if model_admin.searches_people else set()
    )
    return urlencode(sorted((name, value) for name, value in query.items() if name not in left_out and value))


def _link(request: HttpRequest, query: str) -> str:
    return f"?{_with_project(request.GET.urlencode(), query)}"


def _with_project(here: str, query: str) -> str:
    chosen = dict(parse_qsl(here)).get(current_project.PARAMETER)
    return urlencode([*parse_qsl(query), *([(current_project.PARAMETER, chosen)] if chosen else [])])
