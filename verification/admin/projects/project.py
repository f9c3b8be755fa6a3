"""Projects: their defaults and limits, and the first keys of a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from verification.admin.base.current_project import choose, form_link, section_address
from verification.admin.base.display import column, label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import Who, own_projects
from verification.admin.base.pickers import show_prices
from verification.admin.projects import deleting
from verification.admin.projects.example_code import show_code
from verification.admin.projects.form import ProjectForm
from verification.admin.projects.issuing import issue_key
from verification.admin.projects.onboarding import checklist
from verification.admin.projects.people import show_people
from verification.admin.projects.presets import preset_context
from verification.admin.projects.sections import (
    INTEGRATION,
    PROJECT,
    SECTIONS,
    ProjectPage,
    lines,
    section_of,
)
from verification.admin.projects.test_event import test_event
from verification.admin.projects.units import with_unit_and_default
from verification.admin.projects.webhook_secret import webhook_secret
from verification.core.formats import grouped
from verification.models import Project, Right, sees_addresses
from verification.models.channels import DEFAULT_DAILY_BUDGET
from verification.models.project_settings import SECRETS, SETTABLE
from verification.services.projects.projects import create_first_keys

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@admin.register(Project)
class ProjectAdmin(ScopedAdmin):
    project_path = "pk"
    adders = deleters = Who.SUPERUSERS
    changers = Right.CHANGE
    actors = Right.USE_KEYS
    form = ProjectForm
    inlines = tuple(inline for section in SECTIONS for inline in section.inlines)
    list_display = ("name", "state", "code", "channel_names", "created")
    search_fields = ("name",)
    readonly_fields = ("public_id_text", "created")
    actions = None
    actions_detail: tuple[str, ...] = ("show_people", "issue_key", "show_code", "webhook_secret", "test_event")
    parts: dict[str, StrOrPromise] = {"show_people": PROJECT, "show_code": INTEGRATION}  # of the list of sections
    change_form_outer_before_template = "admin/verification/project/onboarding.html"
    change_form_before_template = "admin/verification/project/above_fields.html"
    delete_view = deleting.delete_view
    issue_key = issue_key
    webhook_secret = webhook_secret
    test_event = test_event
    show_code = show_code
    show_people = show_people
    add_fieldsets = (
        (
            None,
            {
                "fields": ("name", "site_url", "language"),
                "description": gettext_lazy("Everything else has a sensible default and can be set on the next page."),
            },
        ),
    )

    @classmethod
    def add_actions(cls, *actions: Any, part: StrOrPromise) -> None:
        """Add pages of a project that an app brings. The first stands in a part of the list of sections."""
        for action in actions:
            setattr(cls, action.__name__, action)
        cls.actions_detail = (*cls.actions_detail, *(action.__name__ for action in actions))
        cls.parts = {**cls.parts, actions[0].__name__: part}

    @admin.display(description=gettext_lazy("Public ID"))
    def public_id_text(self, project: Project) -> str:
        return str(project.public_id)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show one button to save: with any of Django's, the answer shows the first keys."""
        one_way = {"show_save_and_add_another": False, "show_save_and_continue": False}
        response: HttpResponse = super().add_view(request, form_url, {**one_way, **(extra_context or {})})
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show one section. Above the first stands the checklist, until a real user was verified."""
        project = self.get_object(request, unquote(object_id))
        section = section_of(request)
        more: dict[str, Any] = {
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
            "show_save": bool(section.all_fields),
            "show_delete": section is SECTIONS[0],
        }
        if project is not None:
            may_change = self.has_change_permission(request, project)
            add = section.adds if may_change else ""
            back = section_address(project, section.slug)
            more |= self.beside(request, project) | {
                "section": section,
                **(preset_context(project) if section.has_presets else {}),
                "add_link": form_link(f"{add}_add", project, back=back) if add else "",
            }
            if request.method == "GET" and section is SECTIONS[0] and may_change:
                more |= checklist(project)
        response: HttpResponse = super().change_view(request, object_id, form_url, {**more, **(extra_context or {})})
        return response

    def page_context(self, request: HttpRequest, title: str, **more: Any) -> dict[str, Any]:
        """Put the list of sections beside the pages of a project, too."""
        project = more.get("object")
        beside = self.beside(request, project) if isinstance(project, Project) else {}
        return {**super().page_context(request, title, **more), **beside}

    def pages_of(self, request: HttpRequest, project: Project) -> list[ProjectPage]:
        """Return the pages of the project that the user may open, such as its people."""
        return [
            ProjectPage(
                each.action_name.removeprefix("verification_project_"), each.description, each.icon or "", project
            )
            for each in super().get_actions_detail(request, project.pk)
        ]

    def beside(self, request: HttpRequest, project: Project) -> dict[str, Any]:
        """Return the context of the list of sections, for a page of the project."""
        pages = self.pages_of(request, project)
        return {
            "sections": lines(
                request, project, [(self.parts[each.name], each) for each in pages if each.name in self.parts]
            ),
            "steps": [each for each in pages if each.name in section_of(request).steps],
        }

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Return no buttons for the page's head: the list of sections leads everywhere."""
        return []

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        """Show the section again that was saved."""
        return self._way_back(request) or HttpResponseRedirect(request.get_full_path())

    def get_readonly_fields(self, request: HttpRequest, obj: Project | None = None) -> tuple[str, ...]:
        """A project that the operator has stopped is not for its members to start again."""
        return self.readonly_fields if request.user.is_superuser else (*self.readonly_fields, "is_enabled")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if obj and "countries" in form.base_fields:
            show_prices(form.base_fields["countries"], obj)
        form.has_presets = change and section_of(request).has_presets
        form.neighbours = own_projects(request.user)
        form.sees_addresses = sees_addresses(request.user, obj.pk if obj else None)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Project | None = None) -> Any:
        """Return the fields of the section, without the field for a new secret where nothing can be changed."""
        if obj is None:
            return self.add_fieldsets
        groups = section_of(request).fieldsets
        if self.has_change_permission(request, obj):
            return groups
        typed = {f"new_{name}" for name in SECRETS}
        return [
            (name, {**options, "fields": [each for each in options["fields"] if each not in typed]})
            for name, options in groups
        ]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Write unit and default of a setting beside its field, but of the project's state, which is no choice."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        has_default = db_field.name in SETTABLE and db_field.name != "is_enabled"
        return with_unit_and_default(field, db_field) if field and has_default else field

    def settings_of(self, project: Project) -> list[tuple[str, str, str]]:
        """Return each setting with the section where it stands, and the address of that."""
        return [
            (name, str(section.title), section.address(project))
            for section in SECTIONS
            for name in section.all_fields
            if name in SETTABLE
        ]

    def get_inlines(self, request: HttpRequest, obj: Project | None) -> Any:
        return section_of(request).inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.has_short_codes and "code_length" in form.changed_data:
            self.message_user(
                request,
                _("{obj} now uses codes of length {code_length}: lower security.").format(
                    obj=obj, code_length=obj.code_length
                ),
                messages.WARNING,
            )

    def response_add(self, request: HttpRequest, obj: Project, post_url_continue: str | None = None) -> HttpResponse:
        """Show its first keys and its webhook secret, as createproject prints them. A reload finds the name taken."""
        choose(request, obj.pk)
        new = create_first_keys(obj, by=request.user)  # type: ignore[arg-type]  # a page of the panel has a user
        self.log_change(request, obj, gettext_noop("Created the first API key, secret key and webhook secret"))
        text = format_html(
            _(
                'Project {} created. Next: <a href="{}"><u>add a provider</u></a>. SMS and voice calls each'
                " stop at {} messages per day until you set another limit on the channel's page."
            ),
            obj,
            form_link("provider_add", obj),
            grouped(DEFAULT_DAILY_BUDGET),
        )
        self.message_user(request, text, messages.SUCCESS)
        return self.show_secrets(
            request,
            obj,
            title=_("Your keys"),
            warning=_("Copy these keys now; you won't see them again."),
            secrets=[
                (_("API key"), new.api_key, _("For browsers and apps. Valid until revoked.")),
                (_("Secret key"), new.secret_key, _("Only for your server. Valid until revoked.")),
                (_("Webhook secret"), new.webhook_secret, _("Signs callbacks. You can view it again on its page.")),
            ],
        )

    @admin.display(description=gettext_lazy("State"), ordering="is_enabled")
    def state(self, project: Project) -> str:
        return label(_("Active"), "success") if project.is_enabled else label(_("Off"))

    @admin.display(description=gettext_lazy("Codes"))
    def code(self, project: Project) -> str:
        if project.code_digits and project.code_letters:
            words = _("{number} digits and letters")
        else:
            words = _("{number} digits") if project.code_digits else _("{number} letters")
        text = words.format(number=project.code_length)
        return label(_("{text}: lower security").format(text=text), "warning") if project.has_short_codes else text

    @admin.display(description=gettext_lazy("Channels"))
    def channel_names(self, project: Project) -> str:
        return ", ".join(channel.display_name for channel in project.channels.all() if channel.is_active) or "–"

    created = column("created_at", gettext_lazy("Created"), ordering="created_at")

    def follow(self, request: HttpRequest, row: Project) -> None:
        """Choose the project whose page is opened, also where all were looked at."""
        choose(request, row.pk)

    def get_intro(self, request: HttpRequest) -> str:
        if self.has_add_permission(request):
            return ""
        return _("The operator of this installation creates projects and adds you to them.")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(deleted_at=None).prefetch_related("channels")
