"""The entries of the command palette, the search box in the menu: pages, projects, providers, and a project's settings
and pages.

Recipients, sessions and messages are found by ``traffic/search.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from verification.admin.base.current_project import Switcher, current_project_id
from verification.admin.base.display import page_address
from verification.admin.base.navigation import account, sidebar
from verification.admin.base.permissions import own_project_ids, own_projects
from verification.models import Channel, Project, Provider, Right

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PROVIDERS_SHOWN = 200
SEPARATOR = " · "  # between what an entry is and where it stands
ALSO_CALLED: dict[str, StrOrPromise] = {  # by the page's name: what people search for who do not know its title
    "admin:verification_costs": gettext_lazy("invoice bill price spending money currency"),
    "admin:verification_channel_changelist": gettext_lazy("budget fallback country SMS WhatsApp"),
    "admin:verification_provider_changelist": gettext_lazy("price balance vendor account credentials"),
    "admin:verification_apikey_changelist": gettext_lazy("API key secret key rotate revoke token"),
    "admin:verification_listentry_changelist": gettext_lazy("block country number network ban allow"),
    "admin:verification_guardblock_changelist": gettext_lazy("fraud attack SMS pumping bots"),
    "admin:verification_exchangerate_changelist": gettext_lazy("currency"),
    "show_hosted_page": gettext_lazy("colour color logo brand"),
    "show_people": gettext_lazy("members team roles users"),
    "webhook_secret": gettext_lazy("rotate signature"),
}


@require_GET
def palette_view(request: HttpRequest) -> JsonResponse:
    """Return all that the box may offer, which the browser narrows while somebody types."""
    response = JsonResponse({"entries": list(_entries(request))})
    response["Cache-Control"] = "no-store"
    return response


def matching(request: HttpRequest, term: str) -> list[dict[str, str]]:
    """Return the entries that have all words of the term, as the box in the browser finds them."""
    words = term.casefold().split()
    return [
        entry
        for entry in (_entries(request) if words else ())
        if all(word in f"{entry['title']} {entry['hint']} {entry['words']}".casefold() for word in words)
    ]


def _entries(request: HttpRequest) -> Iterator[dict[str, str]]:
    yield from _pages(request)
    yield from _projects(request)
    yield from _providers(request)
    yield from _of_project(request)


def _entry(title: object, hint: object, icon: str, link: str, words: object = "") -> dict[str, str]:
    return {"title": str(title), "hint": str(hint), "icon": icon, "link": link, "words": str(words)}


def _pages(request: HttpRequest) -> Iterator[dict[str, str]]:
    also = {reverse(name): words for name, words in ALSO_CALLED.items() if name.startswith("admin:")}
    for group in sidebar(request):
        for item in group["items"]:
            words = also.get(item["link"].partition("?")[0], "")
            yield _entry(item["title"], group["title"] or "", item["icon"], item["link"], words)
    for item in account(request):
        yield _entry(item["title"], _("Account"), "person", item["link"])


def _projects(request: HttpRequest) -> Iterator[dict[str, str]]:
    switcher = Switcher(request)
    for choice in switcher.choices if switcher else ():
        if choice.project is not None:
            yield _entry(choice.project, _("Project"), "folder_open", page_address(choice.project))


def _providers(request: HttpRequest) -> Iterator[dict[str, str]]:
    model_admin: Any = admin.site.get_model_admin(Provider)
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
    model_admin: Any = admin.site.get_model_admin(Project)
    kind = _("Setting") + SEPARATOR
    for name, part, link in model_admin.settings_of(project):
        title = capfirst(str(label_for_field(name, Project)))
        yield _entry(title, kind + part, "settings", link)
    for page in model_admin.pages_of(request, project):
        yield _entry(page.title, project, page.icon, page.link, ALSO_CALLED.get(page.name, ""))
        if page.name == "show_people":
            yield _entry(_("Invite someone"), page.title, page.icon, page.link)
    if admin.site.get_model_admin(Channel).has_view_permission(request):
        yield _entry(
            _("Message and cost limits"),
            _("Channels"),
            "account_balance_wallet",
            reverse("admin:verification_channel_changelist"),
        )
