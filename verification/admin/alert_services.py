"""The page of alert destinations, and the form of the chats and services that are rows of their own."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.widgets import UnfoldAdminPasswordWidget

from verification.admin.alert_destinations import context_of, settings_view, test_service, test_view, toggle_view
from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.model_admin import ScopedAdmin
from verification.models import AlertService, Project, Right
from verification.services.notifications import alert_services

SECRET_MAX_LENGTH = 2_000  # characters of an Apprise URL or a webhook's address


class AlertServiceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    new_secret = forms.CharField(
        label=gettext_lazy("Token or URL"),
        max_length=SECRET_MAX_LENGTH,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy(
            "Telegram: the bot token from BotFather. Slack, Mattermost and Discord: the URL of an incoming"
            " webhook. Others: an Apprise URL, such as"
            " gotify://host/token. It is stored encrypted and not shown again."
        ),
    )

    class Meta:
        labels = {"chat": gettext_lazy("Chat"), "kind": gettext_lazy("Service")}
        help_texts = {
            "kind": gettext_lazy(
                'E-mail and a webhook of your own are set up in the <a class="ww-link" href="../">list</a>.'
            ),
            "name": gettext_lazy("Your name for it, such as Ops chat."),
            "chat": gettext_lazy("Telegram only: the ID of a chat the bot is in, such as -1001234567890."),
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self.instance.pk:
            self.fields["new_secret"].required = False
            self.fields["new_secret"].help_text = _("Leave empty to keep the stored value.")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        kind = values.get("kind", self.instance.kind)
        if not kind or self.errors:
            return values
        for name, text in alert_services.check_service(
            kind, values.get("new_secret", ""), values.get("chat", "")
        ).items():
            self.add_error("new_secret" if name == "secret" else name, text)
        return values


@admin.register(AlertService)
class AlertServiceAdmin(ScopedAdmin):
    viewers = adders = changers = deleters = Right.CHANGE
    form = AlertServiceForm
    fields = ("project", "kind", "name", "new_secret", "chat", "is_enabled")
    list_display = ("name", "kind", "is_enabled", "project")
    list_select_related = ("project",)
    intro = gettext_lazy(
        "Each alert goes to all active destinations of its project. E-mails and chat messages are held "
        "during quiet hours, unless a channel is down; webhooks are sent immediately. Sent alerts are "
        'listed under <a class="ww-link" href="../alert/">Alerts</a>.'
    )
    change_list_template = "admin/verification/alertservice/change_list.html"
    actions = None
    show_add_link = False  # each project has one, which says what it adds
    actions_detail = ("send_test",)

    def get_custom_urls(self) -> Any:
        return tuple(
            (f"of/<int:project_id>/<str:what>/{step}/", f"verification_alert_{step}", view)
            for step, view in (("settings", settings_view), ("toggle", toggle_view), ("test", test_view))
        )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        more = context_of(request) if self.has_view_permission(request) else {}
        projects = [group.project for group in more.get("groups", ())]
        if len(projects) == 1:
            page: Any = self.admin_site.get_model_admin(Project)
            more |= page.beside(request, projects[0])
        return super().changelist_view(request, {**more, **(extra_context or {})})

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "kind") if obj else ()

    def save_model(self, request: HttpRequest, obj: AlertService, form: Any, change: bool) -> None:
        """Store the row. One that is one too many is refused before the insert, in the same transaction."""
        if not change:
            alert_services.require_room_for_service(obj.project)
        if secret := form.cleaned_data.get("new_secret"):
            obj.secret = alert_services.seal(obj, secret)
        super().save_model(request, obj, form, change)

    @skip_reauthentication
    @action(description=gettext_lazy("Send a test"), icon="send", permissions=["change"], url_path="test")
    def send_test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask on a GET; on a POST write to the service at once, and show how it answered."""
        return test_service(request, self, self.find(request, object_id))
