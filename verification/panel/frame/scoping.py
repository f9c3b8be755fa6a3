"""Who sees what: a superuser everything, a staff member what belongs to their projects. Decided here and nowhere else.

Django's own permissions play no part: whoever may enter the panel and is a member of a project may do there what the
page's class allows.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from django.contrib import messages
from django.contrib.admin import ShowFacets, SimpleListFilter
from django.contrib.admin.exceptions import DisallowedModelAdminLookup, DisallowedModelAdminToField
from django.contrib.admin.options import BaseModelAdmin
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet, URLField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from unfold.admin import ModelAdmin, TabularInline

from verification.errors import Misuse
from verification.models import Project
from verification.panel.frame.navigation import title_of
from verification.panel.frame.paging import ShortCount, ShortList
from verification.services.records import audit

LOOKUPS = ("", "__exact", "__isnull", "__gte", "__lt", "__in")  # what the filters of a list write into its address


class Who(Enum):
    """Who may do a thing on a page."""

    NOBODY = "nobody"
    SUPERUSERS = "superusers"
    MEMBERS = "members"  # and superusers


def own_projects(user: Any) -> QuerySet[Project]:
    """The projects that a user of the panel may see."""
    if user.is_superuser:
        return Project.objects.filter(deleted_at=None)
    return Project.objects.filter(deleted_at=None, memberships__user=user)


def own_project_ids(request: HttpRequest) -> list[int]:
    """Their ids, asked for once in a request.

    A statement that holds the ids lets PostgreSQL walk the index of their newest rows. With a subquery in their place
    it joins whole tables.
    """
    held: list[int] | None = getattr(request, "_own_project_ids", None)
    if held is None:
        held = list(own_projects(request.user).values_list("pk", flat=True))
        request._own_project_ids = held  # type: ignore[attr-defined]  # kept where Django keeps its own
    return held


class Scoped(BaseModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """What pages and inlines share. ``project_path`` is the lookup from the model to its project."""

    project_path = "project"
    viewers = Who.MEMBERS
    adders = Who.NOBODY
    changers = Who.NOBODY
    deleters = Who.NOBODY

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        if self.viewers is not Who.MEMBERS:
            return rows.none()
        return rows.filter(**{f"{self.project_path}__in": own_project_ids(request)})

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.viewers, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.adders, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.changers, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.deleters, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request, self.viewers, None)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what the page's filters write. Django also lets any column be searched, and so digests be guessed."""
        return False

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        return bool(self.opts.pk) and to_field == self.opts.pk.name

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self._choices(db_field.related_model, request))
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None and field.required:
            only = list(kwargs["queryset"][:2])
            if len(only) == 1:
                field.initial = only[0].pk  # most users run one project
        return field

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self._choices(db_field.related_model, request))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, URLField):
            kwargs.setdefault("assume_scheme", "https")
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is None:
            return None
        if isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget  # no windows that open over the form
        if db_field.name.startswith("is_") and field.label:
            field.label = str(field.label).removeprefix("Is ").capitalize()
        return field

    def _may(self, request: HttpRequest, who: Who, obj: Any) -> bool:
        user = request.user
        if not (user.is_active and user.is_staff):
            return False
        if user.is_superuser:
            return who is not Who.NOBODY
        return who is Who.MEMBERS and (obj is None or self._is_in_reach(request, obj))

    def _is_in_reach(self, request: HttpRequest, obj: Any) -> bool:
        """Whether a row, or the row with this key, is one of the user's."""
        try:
            return self.get_queryset(request).filter(pk=obj.pk if isinstance(obj, Model) else obj).exists()
        except (ValueError, ValidationError):
            return False

    def _choices(self, model: type[Model], request: HttpRequest) -> QuerySet[Any]:
        """What a foreign key may point at: what the user sees on the other model's page, else nothing."""
        page = self.admin_site._registry.get(model)
        if isinstance(page, Scoped):
            return page.get_queryset(request)
        rows = model._default_manager.all()
        return rows if request.user.is_superuser else rows.none()


class ScopedAdmin(Scoped, ModelAdmin):
    """The base of every page of the panel."""

    goes_with_it = ""  # what is deleted with a row, for the page that asks
    empty_text = ""  # what a list without rows tells: where they come from, or that it is well so
    has_history = True  # whether people change its rows, so that the audit log has lines about them
    paginator = ShortCount
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # counting every choice of a filter reads the table once for each
    list_filter_sheet = False
    warn_unsaved_form = True

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ShortList]:
        return ShortList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        try:
            title = title_of(request.path, default=str(capfirst(self.opts.verbose_name_plural)))
            response: HttpResponse = super().changelist_view(request, {"title": title, **(extra_context or {})})
        except (DisallowedModelAdminLookup, DisallowedModelAdminToField):
            return HttpResponseBadRequest("This list has no such filter.", content_type="text/plain")
        return response

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """What only the service knows, under its lock (whether there is room for one more), comes as an exception."""
        extra_context = {"show_history": self.has_history, **(extra_context or {})}
        try:
            response: HttpResponse = super().changeform_view(request, object_id, form_url, extra_context)
        except Misuse as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """What the audit log has of the row. Django's own page knows only what was done in these forms."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return HttpResponseRedirect(reverse("admin:index"))
        about = f"{self.opts.label_lower}:{row.pk}"
        return HttpResponseRedirect(reverse("admin:verification_auditentry_changelist", query={"about": about}))

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
        """The rows alone: Django would list all that goes with them, which may be millions of messages."""
        refused = {self.opts.verbose_name for row in objs if not self.has_delete_permission(request, row)}
        names = [f"{row}{self.goes_with_it}" for row in objs]
        return names, {self.opts.verbose_name_plural: len(names)}, refused, []

    def project_of(self, row: Any) -> Project | None:
        """None for what is everybody's, such as a system provider."""
        for name in self.project_path.split("__") if self.project_path != "pk" else ():
            row = getattr(row, name)
        return row if isinstance(row, Project) else None

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """What is said in words goes into the audit log too; what a form changed stands there already."""
        if isinstance(message, str):
            audit.record(message, row=obj, project=self.project_of(obj), label=str(obj))
        return super().log_change(request, obj, message)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """PostgreSQL's texts hold no NUL, and asking for one is an error."""
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def find(self, request: HttpRequest, object_id: str) -> Any:
        """A row of the user's, for a page of its own. Raises ``Http404``."""
        found = self.get_object(request, unquote(object_id))
        if found is None:
            raise Http404
        return found

    def page_context(self, request: HttpRequest, title: str, **more: Any) -> dict[str, Any]:
        """What the panel's frame needs around a page that is none of Django's."""
        request.current_app = self.admin_site.name
        return {**self.admin_site.each_context(request), "opts": self.opts, "title": title, **more}

    def show_secrets(
        self,
        request: HttpRequest,
        row: Model,
        *,
        title: str,
        warning: str,
        secrets: list[tuple[str, str, str]],
        back: str,
    ) -> HttpResponse:
        """Each of ``secrets`` is a name, the text, and a note. Only ever the answer to a POST."""
        context = self.page_context(request, title, object=row, warning=warning, secrets=secrets, back=back)
        response = TemplateResponse(request, "admin/verification/secret_page.html", context)
        response["Cache-Control"] = "no-store"
        return response


class ScopedInline(Scoped, TabularInline):
    """Rows on the page of what they belong to; read-only unless the class says otherwise."""

    extra = 0
    hide_title = True

    def _is_in_reach(self, request: HttpRequest, obj: Any) -> bool:
        return True  # it is the parent, which its own page has looked up among the user's


class ProjectFilter(SimpleListFilter):
    """By project, of the user's own only; not shown to those who have one."""

    title = "project"
    parameter_name = "project"
    is_scope = True  # as what the user may see is: the newest rows of a project are found by an index

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.path: str = model_admin.project_path
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return list(own_projects(request.user).values_list("pk", "name"))

    def has_output(self) -> bool:
        return len(self.lookup_choices) > 1

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        return queryset.filter(**{self.path: int(value)}) if value.isascii() and value.isdigit() else queryset.none()
