"""The scope of a user: a superuser sees everything, a member what their role in each project has a right to.

This is decided here and nowhere else. Django's own permissions play no part: a page's class names the right that each
kind of use takes, and ``RIGHTS`` says which roles have it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from django.contrib.admin.options import BaseModelAdmin
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet, URLField
from django.http import HttpRequest
from unfold.admin import TabularInline

from verification.admin.base.fields import ChosenField, LinesField
from verification.admin.base.pickers import CountriesField, LanguageInput, LanguagesField, TimeZoneInput
from verification.models import RIGHTS, Project, Right, Role, roles_with
from verification.models.fields import CountryField, LanguageField, ListField, TimeZoneField

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Who(Enum):
    """The users of a page that no role has a right to. Elsewhere a page names a ``Right``."""

    NOBODY = "nobody"
    SUPERUSERS = "superusers"


def own_projects(user: Any, right: Right = Right.SEE) -> QuerySet[Project]:
    """Return the projects in which a user of the panel has a right."""
    if user.is_superuser:
        return Project.objects.filter(deleted_at=None)
    return Project.objects.filter(deleted_at=None, memberships__user=user, memberships__role__in=roles_with(right))


def own_project_ids(request: HttpRequest, right: Right = Right.SEE) -> list[int]:
    """Return the ids of the projects in which the user has a right. They are read once in a request.

    A statement that holds the ids lets PostgreSQL walk the index of their newest rows. With a subquery in their place
    it joins whole tables.
    """
    memberships: list[tuple[int, str]] | None = getattr(request, "_own_projects", None)
    if memberships is None:
        memberships = _projects_and_roles(request.user)
        request._own_projects = memberships  # type: ignore[attr-defined]  # kept where Django keeps its own
    return [pk for pk, role in memberships if right in RIGHTS[Role(role)]]


def has_right(request: HttpRequest, right: Right) -> bool:
    """Return whether the user has a right in any project.

    A superuser has each without a project. Who has no project yet sees that the pages are empty, and why.
    """
    user: Any = request.user
    return bool(user.is_superuser or own_project_ids(request, right) or right is Right.SEE)


def _projects_and_roles(user: Any) -> list[tuple[int, str]]:
    projects = own_projects(user)
    if user.is_superuser:
        return [(pk, Role.OWNER) for pk in projects.values_list("pk", flat=True)]
    return list(projects.values_list("pk", "memberships__role"))


def _list_field(field: ListField) -> type[LinesField]:
    """Return the form field for a list, which picks from what is known where that can be."""
    if isinstance(field.base_field, CountryField):
        return CountriesField
    return LanguagesField if isinstance(field.base_field, LanguageField) else LinesField


class Scoped(BaseModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """The scope that pages and inlines share. ``project_path`` is the lookup from the model to its project.

    ``actors`` may use the buttons of a row and of a list that ask for the permission ``act``.
    """

    project_path = "project"
    viewers: Who | Right = Right.SEE
    adders: Who | Right = Who.NOBODY
    changers: Who | Right = Who.NOBODY
    deleters: Who | Right = Who.NOBODY
    actors: Who | Right = Who.NOBODY

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        if not isinstance(self.viewers, Right):
            return rows.none()
        return rows.filter(**{f"{self.project_path}__in": own_project_ids(request, self.viewers)})

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.viewers, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.adders, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.changers, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.deleters, obj)

    def has_act_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, self.actors, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._may(request, self.viewers, None)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow no lookup; a page allows those of its filters. By Django's, on any column, digests can be guessed."""
        return False

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        return bool(self.opts.pk) and to_field == self.opts.pk.name

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Project:
            kwargs.setdefault("queryset", self._projects_to_add_to(request))
        kwargs.setdefault("queryset", self._choices(db_field.related_model, request))
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None and field.required:
            only = list(kwargs["queryset"][:2])
            if len(only) == 1:
                field.initial = only[0].pk  # most users run one project, so the only choice is made for them
        return field

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self._choices(db_field.related_model, request))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, URLField):
            kwargs.setdefault("assume_scheme", "https")
        if isinstance(db_field, ListField):
            choices = db_field.base_field.choices
            kwargs |= (
                {"form_class": ChosenField, "choices": choices} if choices else {"form_class": _list_field(db_field)}
            )
        elif isinstance(db_field, LanguageField):
            kwargs.setdefault("widget", LanguageInput)
        elif isinstance(db_field, TimeZoneField):
            kwargs.setdefault("widget", TimeZoneInput)
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is None:
            return None
        if isinstance(field.widget, RelatedFieldWidgetWrapper):
            field.widget = field.widget.widget  # the bare field: unfold's buttons beside it open windows over the form
        return field

    def _may(self, request: HttpRequest, who: Who | Right, obj: Any) -> bool:
        user = request.user
        if not (user.is_active and user.is_staff):
            return False
        if user.is_superuser:
            return who is not Who.NOBODY
        if not isinstance(who, Right):
            return False
        return has_right(request, who) if obj is None else self._is_in_reach(request, who, obj)

    def _is_in_reach(self, request: HttpRequest, right: Right, obj: Any) -> bool:
        """Return whether a row, given itself or by its key, is of a project in which the user has the right."""
        within = {f"{self.project_path}__in": own_project_ids(request, right)}
        try:
            row = self.get_queryset(request).filter(pk=obj.pk if isinstance(obj, Model) else obj)
            return row.filter(**within).exists()
        except (ValueError, ValidationError):
            return False

    def _projects_to_add_to(self, request: HttpRequest) -> QuerySet[Project]:
        return own_projects(request.user, self.adders if isinstance(self.adders, Right) else Right.SEE)

    def _choices(self, model: type[Model], request: HttpRequest) -> QuerySet[Any]:
        """Return what a foreign key may point at: the rows that the user sees on the other model's page.

        Of a model without a page that is nothing, but for superusers.
        """
        page = self.admin_site.get_model_admin(model) if self.admin_site.is_registered(model) else None
        if isinstance(page, Scoped):
            return page.get_queryset(request)
        rows = model._default_manager.all()
        return rows if request.user.is_superuser else rows.none()


class ScopedInline(Scoped, TabularInline):
    """Rows on the page of the row that they belong to; read-only unless the class says otherwise."""

    add_text: StrOrPromise = ""  # of the link below the rows, for those who may add one
    extra = 0
    hide_title = True

    def _is_in_reach(self, request: HttpRequest, right: Right, obj: Any) -> bool:
        """Judge the project of ``obj``, the row that the page is of. That page has looked it up among the user's."""
        project_id = obj.pk if isinstance(obj, Project) else obj.project_id
        return project_id in own_project_ids(request, right)
