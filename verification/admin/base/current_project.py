"""The project that the panel is about, which the switcher at the head of the menu shows.

A list's address names it, so that a link shows a colleague the same. The session remembers it for the addresses that
name none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.http import url_has_allowed_host_and_scheme

from verification.admin.base.display import NEXT, page_address
from verification.admin.base.permissions import Scoped, own_project_ids, own_projects
from verification.core.numbers import whole_number
from verification.models import Project, Right

PARAMETER = "project"  # in the address
SECTION = "section"  # in the address of a project's page: which of its settings
OF_PROJECT = "admin:verification_project_"  # begins the URL names of a project's pages
ALL = "all"  # in place of an id in the address
REMEMBERED = "project"  # in the session
KEPT_PARAMETERS = ("range", "from", "to", "since", "between")  # of a list, where another project is chosen
MOST_SHOWN = 100  # projects in the switcher; the list of projects has the others


def current_project_id(request: HttpRequest) -> int | None:
    """Return the id of the chosen project; None for all of them, and for a user who has one at most."""
    own = own_project_ids(request)
    chosen: int | None = request.session.get(REMEMBERED)
    return chosen if len(own) > 1 and chosen in own else None


def current_project_ids(request: HttpRequest, right: Right = Right.SEE) -> list[int]:
    """Return the ids of :func:`current_projects`, for statements that shall hold them."""
    chosen = current_project_id(request)
    return [pk for pk in own_project_ids(request, right) if chosen in (None, pk)]


def current_projects(request: HttpRequest, right: Right = Right.SEE) -> QuerySet[Project]:
    """Return the projects that a page is about, of those in which the user has a right."""
    chosen, own = current_project_id(request), own_projects(request.user, right)
    return own if chosen is None else own.filter(pk=chosen)


def choose(request: HttpRequest, project_id: int | None) -> None:
    """Remember the choice. The same again writes nothing: a page that reloads itself must not prolong the session."""
    if request.session.get(REMEMBERED) != project_id:
        request.session[REMEMBERED] = project_id


def follow_address(request: HttpRequest) -> HttpResponseRedirect | None:
    """Choose the project that a list's address names. Raises ``Http404`` for one that is not the user's.

    Where the address names none and one is chosen, return a redirect to the address that names it.
    """
    named = request.GET.get(PARAMETER)
    if not named:
        chosen = current_project_id(request)
        if chosen is None or request.method != "GET":
            return None
        query = request.GET.copy()
        query[PARAMETER] = str(chosen)
        return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")
    project_id = None if named == ALL else whole_number(named)
    if named != ALL and project_id not in own_project_ids(request):
        raise Http404
    choose(request, project_id)
    return None


def form_link(name: str, project: Project, *args: Any, back: str = "") -> str:
    """Return the address of a form from which one comes ``back``, by default to the project's page."""
    query = {PARAMETER: project.pk, NEXT: back or page_address(project)}
    return reverse(f"admin:verification_{name}", args=args, query=query)


def section_address(project: Project, slug: str = "") -> str:
    """Return the address of one of a project's sections, by default of the first."""
    return reverse("admin:verification_project_change", args=(project.pk,), query={SECTION: slug} if slug else None)


def page_is_of_one_project(name: str) -> bool:
    """Return whether the page of this URL name shows the rows of the chosen project alone."""
    if name in ("admin:index", "admin:verification_figures", "admin:verification_costs", "admin:verification_inbox"):
        return True
    page = page_of_list(name)
    return page is not None and lists_by_project(page)


def lists_by_project(page: Scoped) -> bool:
    """Return whether the page's rows belong to projects. Those of the whole service, and the projects, do not."""
    return isinstance(page.viewers, Right) and page.project_path != "pk"


def link(request: HttpRequest, name: str) -> str:
    """Return the address of a page, with the chosen project where the page is about one."""
    if not page_is_of_one_project(name) or len(own_project_ids(request)) < 2:
        return reverse(name)
    return reverse(name, query={PARAMETER: current_project_id(request) or ALL})


def may_open(request: HttpRequest, name: str) -> bool:
    """Return whether the user's role in the chosen project opens the page of this URL name."""
    chosen, page = current_project_id(request), page_of_list(name)
    return chosen is None or page is None or _opens(request, page, chosen)


def _opens(request: HttpRequest, page: Scoped, project_id: int) -> bool:
    return not isinstance(page.viewers, Right) or project_id in own_project_ids(request, page.viewers)


def page_of_list(name: str) -> Any:
    """Return the page whose list has this URL name; None where it is the name of no list."""
    app, _, model = name.removeprefix("admin:").removesuffix("_changelist").partition("_")
    try:
        page = admin.site.get_model_admin(apps.get_model(app, model))
    except (LookupError, NotRegistered):
        return None
    return page if name.endswith("_changelist") and isinstance(page, Scoped) else None


def return_address(request: HttpRequest) -> str:
    """Return the page that the address of a form says to go on to; empty without one, or for one that is not ours."""
    address = request.GET.get(NEXT, "")
    is_ours = url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_ours and address.startswith("/") else ""


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    """A line of the switcher. ``project`` is None for all projects."""

    project: Project | None
    link: str
    is_current: bool


class Switcher:
    """What the head of the menu shows of the user's projects; false for a user who has one at most."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    def __bool__(self) -> bool:
        user = self.request.user
        return bool(user.is_authenticated and user.is_staff and len(own_project_ids(self.request)) > 1)

    @cached_property
    def current(self) -> Project | None:
        chosen = current_project_id(self.request)
        return own_projects(self.request.user).filter(pk=chosen).first() if chosen else None

    @property
    def choices(self) -> list[ProjectChoice]:
        chosen = current_project_id(self.request)
        projects = own_projects(self.request.user).order_by("name", "pk").only("name")[:MOST_SHOWN]
        return [ProjectChoice(each, self._link(each.pk), each.pk == chosen) for each in projects]

    @property
    def all(self) -> ProjectChoice:
        return ProjectChoice(None, self._link(None), current_project_id(self.request) is None)

    @property
    def more(self) -> str:
        """Return the address of the list of projects where the switcher does not show all."""
        is_cut = len(own_project_ids(self.request)) > MOST_SHOWN
        return reverse("admin:verification_project_changelist") if is_cut else ""

    @property
    def may_add(self) -> bool:
        return bool(self.request.user.is_superuser)

    def _link(self, project_id: int | None) -> str:
        """Return where the same page shows another project: itself, or the list that its row is of."""
        match = self.request.resolver_match
        name = f"admin:{match.url_name}" if match and match.url_name else ""
        if match and name.startswith(OF_PROJECT) and "object_id" in match.kwargs and project_id is not None:
            return self._link_of_project(name, project_id)
        model = name.removesuffix("_changelist").removesuffix("_change").removesuffix("_add")
        wanted = name if page_is_of_one_project(name) else f"{model}_changelist"
        page = page_of_list(wanted)
        if not page_is_of_one_project(wanted) or (page and project_id and not _opens(self.request, page, project_id)):
            wanted = "admin:index"
        kept = {each: self.request.GET[each] for each in KEPT_PARAMETERS if each in self.request.GET}
        return f"{reverse(wanted)}?{urlencode({PARAMETER: project_id or ALL} | (kept if wanted == name else {}))}"

    def _link_of_project(self, name: str, project_id: int) -> str:
        """Return the same page of another project; its settings where the user may not open that page there."""
        project_page: Any = admin.site.get_model_admin(Project)
        may_change = project_id in own_project_ids(self.request, Right.CHANGE)
        if name.removeprefix(OF_PROJECT) in project_page.parts and may_change:
            return reverse(name, args=(project_id,))
        section = self.request.GET.get(SECTION)
        return reverse(f"{OF_PROJECT}change", args=(project_id,), query={SECTION: section} if section else None)
