"""Projects: their defaults and limits, and the first keys of a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.text import slugify
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from verification.admin.base.current_project import choose, form_link
from verification.admin.base.display import label, page_address, time_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import Who, own_projects, sees_addresses
from verification.admin.base.template_tags import HEADING
from verification.admin.projects import deleting
from verification.admin.projects.example_code import show_code
from verification.admin.projects.form import ProjectForm
from verification.admin.projects.inlines import ChannelInline, FallbackInline, KeyInline, ProviderInline
from verification.admin.projects.issuing import issue_key
from verification.admin.projects.onboarding import checklist
from verification.admin.projects.people import MembershipInline, show_people
from verification.admin.projects.test_event import send_test_event
from verification.admin.projects.webhook_secret import webhook_secret
from verification.core.formats import grouped
from verification.models import Project, Right
from verification.models.channels import DEFAULT_DAILY_BUDGET
from verification.models.project_settings import SECRETS, SETTABLE, SETTABLE_GROUPS
from verification.services.projects.projects import equip

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def _group(name: str, description: StrOrPromise, *more: str, tab: str = "") -> Any:
    """The settings of one group, each secret as the field that takes a new one, and what else stands with them.

    It has a tab to itself, or stands on ``tab`` with others.
    """
    fields = tuple(f"new_{field}" if field in SECRETS else field for field in SETTABLE_GROUPS[name])
    title = f"{tab}{HEADING}{name}" if tab else name
    return title, {"fields": (*fields, *more), "description": description, "classes": ["tab"]}


@admin.register(Project)
class ProjectAdmin(ScopedAdmin):
    project_path = "pk"
    adders = deleters = Who.SUPERUSERS
    changers = Right.CHANGE
    actors = Right.USE_KEYS
    form = ProjectForm
    inlines = (ChannelInline, FallbackInline, ProviderInline, KeyInline, MembershipInline)
    list_display = ("name", "state", "code", "channel_names", "created")
    search_fields = ("name",)
    readonly_fields = ("public_id_text", "created")
    actions = None
    actions_detail: tuple[str, ...] = (
        "show_people",
        "issue_key",
        "show_code",
        "webhook_secret",
        "test_event",
    )
    inner_steps: tuple[str, ...] = ()  # by their paths: those that another page leads to
    change_form_outer_before_template = "admin/verification/project/onboarding.html"
    change_form_before_template = "admin/verification/project/short_code.html"
    delete_view = deleting.delete_view
    issue_key = issue_key
    webhook_secret = webhook_secret
    test_event = send_test_event
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
    fieldsets = (
        _group(
            gettext_noop("Basics"),
            gettext_lazy("What the project is called, and whether anything of it works."),
            *("public_id_text", "created"),
        ),
        _group(
            gettext_noop("Codes & texts"),
            gettext_lazy(
                "How a code looks, in which languages it is sent, and how devices fill it in. Your own wording is under"
                " Message texts."
            ),
        ),
        _group(
            gettext_noop("Channels & countries"),
            gettext_lazy("What a code goes out over where the caller names no channel, and which numbers get one."),
            tab=gettext_noop("Sending"),
        ),
        _group(
            gettext_noop("Limits"),
            gettext_lazy("Requests beyond a limit are refused with 429 and told when to come back."),
            tab=gettext_noop("Sending"),
        ),
        _group(
            gettext_noop("Traffic guard"),
            gettext_lazy(
                "Refuses SMS and calls that somebody only asks for to earn from them. What it found is under Traffic"
                " guard in the menu."
            ),
            tab=gettext_noop("Protection"),
        ),
        _group(
            gettext_noop("Guessing"),
            gettext_lazy(
                "Finds out when many codes are guessed at once, across recipients. The limits on wrong codes of one"
                " recipient hold besides."
            ),
            tab=gettext_noop("Protection"),
        ),
        _group(
            gettext_noop("Challenges"),
            gettext_lazy(
                "Callers prove that they are no bots before a session is created or a code is sent. On suspicion only"
                " those are asked who look like one, such as an address from which very many come."
            ),
            tab=gettext_noop("Protection"),
        ),
        _group(
            gettext_noop("Access"),
            gettext_lazy("Who may call the API with this project's keys."),
            tab=gettext_noop("Access & events"),
        ),
        _group(
            gettext_noop("Events"),
            gettext_lazy(
                "What your server is told of sessions, each time one is opened, verified and so on. Calls are signed"
                " with the webhook secret, tried again for a day, and listed under Events in the menu."
            ),
            tab=gettext_noop("Access & events"),
        ),
        _group(
            gettext_noop("Alerts"),
            gettext_lazy(
                "Who is told of spent budgets, blocks and the like. They also stand under Alerts in the menu."
            ),
            tab=gettext_noop("Alerts & retention"),
        ),
        _group(
            gettext_noop("Retention"),
            gettext_lazy("How long what went through is kept."),
            tab=gettext_noop("Alerts & retention"),
        ),
    )

    @classmethod
    def add_actions(cls, *actions: Any, inner_steps: tuple[str, ...] = ()) -> None:
        """Add pages of a project that an app brings, each with a button unless its path is among the inner steps."""
        for action in actions:
            setattr(cls, action.__name__, action)
        cls.actions_detail = (*cls.actions_detail, *(action.__name__ for action in actions))
        cls.inner_steps = (*cls.inner_steps, *inner_steps)

    @admin.display(description=gettext_lazy("Public id"))
    def public_id_text(self, project: Project) -> str:
        return str(project.public_id)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Offer one way to save: whichever it were, the answer shows the first keys."""
        one_way = {"show_save_and_add_another": False, "show_save_and_continue": False}
        response: HttpResponse = super().add_view(request, form_url, {**one_way, **(extra_context or {})})
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the checklist above the form, until a real user was verified."""
        project = self.get_object(request, unquote(object_id)) if request.method == "GET" else None
        may_do = project is not None and self.has_change_permission(request, project)
        more = {**(checklist(project) if project and may_do else {}), **(extra_context or {})}
        response: HttpResponse = super().change_view(request, object_id, form_url, more)
        return response

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Leave out the inner steps: a button for them would lead nowhere."""
        return [each for each in super().get_actions_detail(request, object_id) if each.path not in self.inner_steps]

    def get_readonly_fields(self, request: HttpRequest, obj: Project | None = None) -> tuple[str, ...]:
        """A project that the operator has stopped is not for its members to start again."""
        return self.readonly_fields if request.user.is_superuser else (*self.readonly_fields, "is_enabled")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.neighbours = own_projects(request.user)
        form.sees_addresses = sees_addresses(request.user, obj.pk if obj else None)
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Project | None = None) -> Any:
        """Leave out the field for a new secret where nothing can be changed."""
        groups = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return groups
        typed = {f"new_{name}" for name in SECRETS}
        return [
            (name, {**options, "fields": [each for each in options["fields"] if each not in typed]})
            for name, options in groups
        ]

    def settings_of(self, request: HttpRequest, project: Project) -> list[tuple[str, str, str]]:
        """Return each setting with the part of the page where it stands, and the address of that."""
        found = []
        for name, options in self.get_fieldsets(request, project):
            tab, _heading, part = name.partition(HEADING)
            link = f"{page_address(project)}#{slugify(tab)}"
            found += [(each, gettext(part or tab), link) for each in options["fields"] if each in SETTABLE]
        return found

    def get_inlines(self, request: HttpRequest, obj: Project | None) -> Any:
        return self.inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Project, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.has_short_codes and "code_length" in form.changed_data:
            self.message_user(
                request,
                _("{obj} now uses codes of {code_length}: lower security.").format(
                    obj=obj, code_length=obj.code_length
                ),
                messages.WARNING,
            )

    def response_add(self, request: HttpRequest, obj: Project, post_url_continue: str | None = None) -> HttpResponse:
        """Show its first keys and its webhook secret, as createproject prints them. A reload finds the name taken."""
        choose(request, obj.pk)
        new = equip(obj, by=request.user)  # type: ignore[arg-type]  # a page of the panel has a user
        self.log_change(request, obj, gettext_noop("Issued the first API key, secret key and webhook secret"))
        text = format_html(
            _(
                'The project {} is there. Next: <a href="{}"><u>a provider</u></a>.'
                " SMS and voice calls each stop at {} messages a day until you set another budget on the channel's"
                " page."
            ),
            obj,
            form_link("provider_add", obj),
            grouped(DEFAULT_DAILY_BUDGET),
        )
        self.message_user(request, text, messages.SUCCESS)
        return self.show_secrets(
            request,
            obj,
            title=_("First keys"),
            warning=_("Copy both keys now. They are not stored and cannot be shown again."),
            secrets=[
                (_("API key"), new.api_key, _("For browsers and apps. Valid until it is revoked.")),
                (_("Secret key"), new.secret_key, _("For your server alone. Valid until it is revoked.")),
                (_("Webhook secret"), new.webhook_secret, _("Callbacks are signed with it. Its page shows it again.")),
            ],
        )

    @admin.display(description=gettext_lazy("State"), ordering="is_enabled")
    def state(self, project: Project) -> str:
        return label(_("Enabled"), "success") if project.is_enabled else label(_("Disabled"))

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

    @admin.display(description=gettext_lazy("Created"), ordering="created_at")
    def created(self, project: Project) -> str:
        return time_label(project.created_at)

    def follow(self, request: HttpRequest, row: Project) -> None:
        """Choose the project whose page is opened, also where all were looked at."""
        choose(request, row.pk)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(deleted_at=None).prefetch_related("channels")
