"""Alert services: the chats and services beside mail that a project's alerts are written to."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action
from unfold.widgets import UnfoldAdminPasswordWidget

from verification.admin.auth.reauthentication import without_asking
from verification.admin.base.display import label, page_address, time_ago_label, yes_or_no
from verification.admin.base.model_admin import ScopedAdmin
from verification.models import AlertService, Right
from verification.services.notifications import alert_services

SECRET_MAX_LENGTH = 2_000  # characters of an Apprise URL or a webhook's address


class AlertServiceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    new_secret = forms.CharField(
        label=gettext_lazy("Token or address"),
        max_length=SECRET_MAX_LENGTH,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy(
            "Telegram: the bot's token, from BotFather. Slack, Mattermost and Discord: the address of an incoming"
            " webhook (at Discord with /slack at its end). Others: an Apprise URL, such as gotify://host/token. It is"
            " stored encrypted and not shown again."
        ),
    )

    class Meta:
        labels = {"chat": gettext_lazy("Chat"), "kind": gettext_lazy("Service")}
        help_texts = {
            "name": gettext_lazy("By which you know it, such as Ops chat."),
            "chat": gettext_lazy("Telegram alone: the number of the chat that the bot is in, such as -1001234567890."),
        }

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self.instance.pk:
            self.fields["new_secret"].required = False
            self.fields["new_secret"].help_text = _("Left empty, what is stored stays.")

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
    list_display = ("name_label", "kind_label", "enabled", "state", "project")
    list_select_related = ("project",)
    intro = gettext_lazy(
        "Each alert of a project is written to its services here, beside mail and the signed call. Quiet hours and"
        " the weekly digest are set on the project's page, under <em>Alerts &amp; retention</em>."
    )
    empty_text = gettext_lazy("Alerts go by mail alone so far.")
    actions_detail = ("send_test",)

    @admin.display(description=gettext_lazy("Enabled"))
    def enabled(self, service: AlertService) -> str:
        return yes_or_no(service.is_enabled)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "kind") if obj else ()

    def save_model(self, request: HttpRequest, obj: AlertService, form: Any, change: bool) -> None:
        """Store the row. One that is one too many is refused before the insert, in the same transaction."""
        if not change:
            alert_services.require_place(obj.project)
        if secret := form.cleaned_data.get("new_secret"):
            obj.secret = alert_services.seal(obj, secret)
        super().save_model(request, obj, form, change)

    @admin.display(description=gettext_lazy("Name"), ordering="name")
    def name_label(self, service: AlertService) -> str:
        return service.name

    @admin.display(description=gettext_lazy("Service"))
    def kind_label(self, service: AlertService) -> str:
        return service.get_kind_display()

    @admin.display(description=gettext_lazy("State"))
    def state(self, service: AlertService) -> str:
        if service.error:
            return label(service.error, "danger")
        return time_ago_label(service.told_at) if service.told_at else label(_("Not told yet"))

    @without_asking
    @action(description=gettext_lazy("Send a test alert"), icon="send", permissions=["change"], url_path="test")
    def send_test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask on a GET; on a POST write to the service at once, and show how it answered."""
        service: AlertService = self.find(request, object_id)
        error = None
        if request.method == "POST":
            error = alert_services.send(
                service, title=f"[{service.project.name}] A test alert", text=_("Alerts of this project arrive here.")
            )
            self.log_change(request, service, gettext_noop("Sent a test alert"))
        context = self.page_context(
            request, _("Send a test alert"), object=service, error=error, back=page_address(service)
        )
        return TemplateResponse(request, "admin/verification/alertservice/test.html", context)
