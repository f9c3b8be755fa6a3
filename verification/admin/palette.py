"""The entries of the command palette, the search box in the menu: pages, projects, providers, and a project's settings
and pages.

Recipients, sessions and messages are found by ``traffic/search.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from verification.admin.base.current_project import Switcher, current_project_id
from verification.admin.base.display import page_address
from verification.admin.base.navigation import account, sidebar
from verification.admin.base.permissions import own_project_ids, own_projects
from verification.models import Channel, Project, Provider, Right

PROVIDERS_SHOWN = 200
SEPARATOR = " · "  # between what an entry is and where it stands


@require_GET
def palette_view(request: HttpRequest) -> JsonResponse:
    """Return all that the box may offer, which the browser narrows while somebody types."""
    entries = [*_pages(request), *_projects(request), *_providers(request), *_of_project(request)]
    response = JsonResponse({"entries": entries})
    response["Cache-Control"] = "no-store"
    return response


def _entry(title: object, hint: object, icon: str, link: str) -> dict[str, str]:
    return {"title": str(title), "hint": str(hint), "icon": icon, "link": link}


def _pages(request: HttpRequest) -> Iterator[dict[str, str]]:
    for group in sidebar(request):
        for item in group["items"]:
            yield _entry(item["title"], group["title"] or "", item["icon"], item["link"])
    for item in account(request):
        yield _entry(item["title"], _("Account"), "person", item["link"])


def _projects(request: HttpRequest) -> Iterator[dict[str, str]]:
    switcher = Switcher(request)
    for choice in switcher.choices if switcher else ():
        if choice.project is not None:
            yield _entry(choice.project, _("Project"), "folder_open", page_address(choice.project))


def _providers(request: HttpRequest) -> Iterator[dict[str, str]]:
    model_admin: Any = admin.site._registry[Provider]
    kind = _("Provider") + SEPARATOR
    if model_admin.has_view_permission(request):
        rows = model_admin.of_chosen_project(model_admin.get_queryset(request), request).select_related("project")
        for row in rows.order_by("name", "pk")[:PROVIDERS_SHOWN]:
            yield _entry(row.name, kind + str(row.project or _("System")), "hub", page_address(row))


def _of_project(request: HttpRequest) -> Iterator[dict[str, str]]:
    """Yield the settings and pages of the chosen project, or of the user's only one."""
    own = own_project_ids(request, Right.CHANGE)
    chosen = current_project_id(request) or (own[0] if len(own) == 1 else None)
    project = own_projects(request.user, Right.CHANGE).filter(pk=chosen).first() if chosen else None
    if project is None:
        return
    model_admin: Any = admin.site._registry[Project]
    kind = _("Setting") + SEPARATOR
    for name, part, link in model_admin.settings_of(project):
        title = capfirst(str(label_for_field(name, Project)))
        yield _entry(title, kind + part, "settings", link)
    for page in model_admin.pages_of(request, project):
        yield _entry(page.title, project, page.icon, page.link)
        if page.name == "show_people":
            yield _entry(_("Invite someone"), page.title, page.icon, page.link)
    if admin.site._registry[Channel].has_view_permission(request):
        yield _entry(
            _("Budgets"), _("Channels"), "account_balance_wallet", reverse("admin:verification_channel_changelist")
        )
