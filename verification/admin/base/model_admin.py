"""A page of the panel: the base class of all, and what it asks, shows and writes into the audit log."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.contrib import messages
from django.contrib.admin import ShowFacets, SimpleListFilter
from django.contrib.admin.exceptions import DisallowedModelAdminLookup, DisallowedModelAdminToField
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import translation
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from verification.admin.auth import form_tokens
from verification.admin.base import csv_export
from verification.admin.base.current_project import (
    ALL,
    PARAMETER,
    choose,
    current_project_id,
    follow_address,
    lists_by_project,
    return_address,
)
from verification.admin.base.display import page_address
from verification.admin.base.navigation import menu_title
from verification.admin.base.pagination import CappedChangeList, CappedPaginator
from verification.admin.base.permissions import Scoped, has_right, own_project_ids
from verification.admin.list_tools.columns import chosen_columns
from verification.core.errors import UserError
from verification.models import Project, Right
from verification.services.records import audit

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

TERM_MAX_LENGTH = 254  # characters that are searched for, as the longest address has: each word is a condition.
LOOKUPS = ("", "__exact", "__isnull", "__gte", "__lt", "__in")  # what the filters of a list write into its address


class ScopedAdmin(Scoped, ModelAdmin):
    """The base of every page of the panel.

    A list's action gets rows of the user's alone: Django looks up the selected ids through ``get_queryset``, so forged
    ids of other projects drop out.
    """

    deleted_along: StrOrPromise = ""  # the words for what is deleted with a row, for the page that asks.
    intro: StrOrPromise = ""  # the note above the list; it may hold HTML, and so no text of a user's
    empty_text: StrOrPromise = ""  # what an empty list tells: where its rows come from, or that none is good news.
    more_columns: tuple[str, ...] = ()  # that a list has beyond its usual ones, for who chooses them
    searches_people = False  # whether the search of the list is for recipients, whom no saved view may name
    has_history = True  # False where people change no rows, so that the audit log has no lines about them
    paginator = CappedPaginator
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # counting every choice of a filter reads the table once for each
    list_filter_sheet = False
    list_before_template = "admin/verification/list_intro.html"
    warn_unsaved_form = True

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns that the user chose, without the project where the list is of one. Files have it."""
        columns = chosen_columns(self, request)
        is_one = current_project_id(request) is not None and lists_by_project(self)
        is_only = not request.user.is_superuser and len(own_project_ids(request)) == 1
        if csv_export.is_asked_for(request) or not (is_one or is_only):
            return columns
        return tuple(column for column in columns if column not in ("project", "owner"))

    def of_chosen_project(self, rows: Any, request: HttpRequest) -> Any:
        """Narrow the rows of a list to those of the project that the user chose in the menu."""
        chosen = current_project_id(request)
        return rows if chosen is None or not lists_by_project(self) else rows.filter(**{self.project_path: chosen})

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Begin a new row with the chosen project, where the user may add to it."""
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        chosen = current_project_id(request)
        if field is not None and db_field.related_model is Project and field.queryset.filter(pk=chosen).exists():
            field.initial = chosen
        return field

    def get_intro(self, request: HttpRequest) -> StrOrPromise:
        """Return the note above the list, for a page whose note has links or depends on what there is."""
        return self.intro

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedChangeList]:
        return CappedChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if lists_by_project(self) and (redirect := follow_address(request)):
            return redirect
        if request.method == "GET" and (full := _without_empty(request)):
            return full
        try:
            if csv_export.PARAMETER in request.GET and request.method == "GET":
                return self._file(request)
            title = menu_title(request.path, default=str(capfirst(self.opts.verbose_name_plural)))
            context = {"title": title, "intro": self.get_intro(request), "most_csv_rows": csv_export.MAX_ROWS}
            context |= extra_context or {}
            response: HttpResponse = super().changelist_view(request, context)
        except (DisallowedModelAdminLookup, DisallowedModelAdminToField):
            return self._no_such_filter(request)
        return response

    def _file(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            return cast(HttpResponse, csv_export.list_file(self, request))  # a streamed one, which Django takes as well
        except IncorrectLookupParameters:
            return self._no_such_filter(request)

    def _no_such_filter(self, request: HttpRequest) -> HttpResponse:
        context = self.page_context(
            request,
            _("This list does not have this filter."),
            text=_("The page's URL may be mistyped or out of date. Open the list and choose a filter there."),
            status=HTTPStatus.BAD_REQUEST,
            layout="admin/base_site.html",
            list_address=request.path,
        )
        return TemplateResponse(request, "admin/verification/failure.html", context, status=HTTPStatus.BAD_REQUEST)

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the form. A refusal that only the service knows, such as "no room", is shown as a message.

        Django saves all columns of the row, also those that the form does not show. So the row is locked before it is
        read, and nobody changes it between.
        """
        extra_context = {
            "show_history": self.has_history and has_right(request, Right.READ_AUDIT),
            **(extra_context or {}),
        }
        try:
            with transaction.atomic() if request.method == "POST" else nullcontext():
                if request.method == "POST" and object_id:
                    self._lock(request, object_id)
                response: HttpResponse = super().changeform_view(request, object_id, form_url, extra_context)
        except UserError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        if isinstance(response, TemplateResponse) and response.context_data:
            row = response.context_data.get("original")
            project = self.project_of(row) if row is not None else None
            response.context_data["is_sandbox"] = project is not None and project.is_sandbox
        return response

    def _lock(self, request: HttpRequest, object_id: str) -> None:
        """Lock the project, then the row, until the transaction ends."""
        row = self.get_object(request, unquote(object_id))
        if row is None or not self.has_change_permission(request, row):
            return
        project = self.project_of(row)
        for each in (row,) if project is None or project == row else (project, row):
            type(each)._base_manager.select_for_update(no_key=True).filter(pk=each.pk).first()

    def response_post_save_add(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return self._way_back(request) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return self._way_back(request) or super().response_post_save_change(request, obj)

    def _way_back(self, request: HttpRequest) -> HttpResponse | None:
        """Lead to the page from which the form was opened, where its address names one."""
        address = return_address(request)
        return HttpResponseRedirect(address) if address else None

    def response_action(self, request: HttpRequest, queryset: Any) -> Any:
        """Leave out the selected rows of projects in which the user may look and not act. Deleting judges each row.

        Raises :class:`BadRequest` for a selected id that is none: Django looks up what the form sends.
        """
        for text in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(text, None)
            except ValidationError:
                raise BadRequest("A selected row's id is none.") from None
        if isinstance(self.actors, Right) and not request.user.is_superuser:
            queryset = queryset.filter(**{f"{self.project_path}__in": own_project_ids(request, self.actors)})
        return super().response_action(request, queryset)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Lead to the row's lines of the audit log. Django's own page knows only what was done in these forms."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return HttpResponseRedirect(reverse("admin:index"))
        query = {"about": f"{self.opts.label_lower}:{row.pk}"}
        if self.project_of(row) is None:
            query[PARAMETER] = ALL  # a list of the chosen project alone would have no line of it
        return HttpResponseRedirect(reverse("admin:verification_auditentry_changelist", query=query))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        result: tuple[Any, bool] = super().get_search_results(request, queryset, search_term[:TERM_MAX_LENGTH])
        return result

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        allowed: set[str] = set()
        for item in self.get_list_filter(request) if request else ():
            if isinstance(item, type) and issubclass(item, SimpleListFilter):
                allowed.add(str(item.parameter_name))
            else:
                name = item[0] if isinstance(item, list | tuple) else item
                allowed |= {f"{name}{suffix}" for suffix in LOOKUPS}
        return lookup in allowed

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List the rows alone. Django would list all that is deleted along, which may be millions of messages."""
        refused = {self.opts.verbose_name for row in objs if not self.has_delete_permission(request, row)}
        names = [f"{row}{self.deleted_along}" for row in objs]
        return names, {self.opts.verbose_name_plural: len(names)}, refused, list(filter(None, map(self.why_kept, objs)))

    def why_kept(self, row: Any) -> str:
        """Return why a row cannot be deleted here, which its page then says; empty where it can."""
        return ""

    def project_of(self, row: Any) -> Project | None:
        """Return the row's project; None for a row of the whole service, such as a system provider."""
        for name in self.project_path.split("__") if self.project_path != "pk" else ():
            row = getattr(row, name, None)  # a kill switch, for one, has none
        return row if isinstance(row, Project) else None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Write a message in words into the audit log, too. What a form changed stands there already."""
        if isinstance(message, str):
            with translation.override("en"):  # the log is in one language, and its pages translate the acts
                audit.record(message, row=obj, project=self.project_of(obj), label=str(obj))
        return super().log_change(request, obj, message)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row. Where another project is chosen, the menu goes over to the row's, whose page is shown.

        Find no row by an id with a NUL: PostgreSQL's texts hold none, and asking for one is an error.
        """
        row = None if "\0" in object_id else super().get_object(request, object_id, from_field)
        if row is not None and request.method == "GET":
            self.follow(request, row)
        return row

    def follow(self, request: HttpRequest, row: Any) -> None:
        if current_project_id(request) is not None and (project := self.project_of(row)):
            choose(request, project.pk)

    def find(self, request: HttpRequest, object_id: str) -> Any:
        """Return one of the user's rows, for a page of its own. Raises ``Http404``."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        return row

    def page_context(self, request: HttpRequest, title: str, **more: Any) -> dict[str, Any]:
        """Return the context that the panel's frame needs around a page that is none of Django's."""
        request.current_app = self.admin_site.name
        return {**self.admin_site.each_context(request), "opts": self.opts, "title": title, **more}

    def ask(
        self,
        request: HttpRequest,
        title: str,
        *,
        intro: str,
        submit: str,
        row: Model | None = None,
        form: forms.Form | None = None,
        back: str = "",
        hidden: Iterable[tuple[str, str]] = (),
        is_dangerous: bool = False,
        acts_once: bool = False,
    ) -> HttpResponse:
        """Show one question with its ``form``, or with none a confirmation. The answer is a POST to the same address.

        "Cancel" leads ``back``, by default to the page of the ``row``. The view of a question that ``acts_once`` calls
        :func:`form_tokens.spend`.
        """
        context = self.page_context(
            request,
            title,
            object=row,
            form=form,
            intro=intro,
            submit_text=submit,
            back=back or (page_address(row) if row else ""),
            hidden=hidden,
            variant="danger" if is_dangerous else "primary",
            once=form_tokens.issue(request) if acts_once else "",
        )
        return TemplateResponse(request, "admin/verification/form_page.html", context)

    def ask_about_selected(
        self, request: HttpRequest, rows: Iterable[Model], title: str, *, action: str, **more: Any
    ) -> HttpResponse:
        """Ask before a list's ``action`` on its selected ``rows``. The answer comes to the action, as ``confirmed``."""
        hidden = [("action", action), *((ACTION_CHECKBOX_NAME, str(row.pk)) for row in rows)]
        back = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        return self.ask(request, title, back=back, hidden=hidden, **more)

    def refuse(self, request: HttpRequest, row: Model, reason: object) -> HttpResponse:
        """Lead back to the row's page, with the reason why nothing was done."""
        self.message_user(request, str(reason), messages.WARNING)
        return HttpResponseRedirect(page_address(row))

    def show_secrets(
        self,
        request: HttpRequest,
        row: Model,
        *,
        title: str,
        warning: StrOrPromise,
        secrets: list[tuple[str, str, str]],
    ) -> HttpResponse:
        """Show ``secrets``, each a name, the text and a note. It is the answer to a POST, never to a GET."""
        context = self.page_context(
            request, title, object=row, warning=warning, secrets=secrets, back=page_address(row)
        )
        response = TemplateResponse(request, "admin/verification/secret_page.html", context)
        response["Cache-Control"] = "no-store"
        return response


def _without_empty(request: HttpRequest) -> HttpResponseRedirect | None:
    """Return a redirect to the list without the filters that its form left empty; None where there are none."""
    query = request.GET.copy()
    for name in [name for name, value in query.items() if not value and name not in (SEARCH_VAR, csv_export.PARAMETER)]:
        del query[name]
    if len(query) == len(request.GET):
        return None
    return HttpResponseRedirect(f"{request.path}?{query.urlencode()}" if query else request.path)
