"""Test logins: recipients with a fixed code, for app reviewers and automated tests."""

from __future__ import annotations

import contextlib
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.admin.base.current_project import form_link
from verification.admin.base.display import label, monospace, time_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.pagination import CappedChangeList
from verification.admin.base.permissions import own_project_ids
from verification.core.addresses import AddressInvalid, AddressKind, kind_of, parse_test_address
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.models import Right, TestLogin
from verification.services.projects.snapshot import load_project
from verification.services.projects.test_logins import CODE_FORM, add_test_login, clean_test_code, code_of

CODE_HELP = format_lazy(
    gettext_lazy("{code_form} Anyone who knows it can log in as this recipient."), code_form=CODE_FORM
)


class TestLoginForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=6,
        help_text=CODE_HELP,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )

    class Meta:
        labels = {"expires_at": gettext_lazy("Expires")}
        help_texts = {
            "to": gettext_lazy(
                "A phone number such as +4915112345678 (it doesn't have to exist) or an e-mail address."
            ),
            "expires_at": gettext_lazy("In your time zone. Leave empty for no expiry."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            with contextlib.suppress(DecryptionFailed):  # then there is none to keep
                code_of(self.instance)
                self.fields["code"].required = False
                self.fields["code"].help_text = _("Leave empty to keep the code. ") + CODE_HELP

    def clean_to(self) -> str:
        try:
            return parse_test_address(self.cleaned_data["to"]).text
        except AddressInvalid as error:
            raise forms.ValidationError(str(error)) from None

    def clean_code(self) -> str:
        given = self.cleaned_data["code"]
        try:
            return clean_test_code(given) if given else code_of(self.instance)
        except UserError as error:
            raise forms.ValidationError(str(error)) from None


class TestLoginList(CappedChangeList):
    """Reads the channels of each project once."""

    def prefetch(self, rows: list[Any]) -> None:
        configs = {project_id: load_project(project_id) for project_id in {row.project_id for row in rows}}
        for row in rows:
            row.config = configs[row.project_id]


def lacks_channel(login: Any) -> bool:
    """Return whether the API refuses the login, because its project has no active channel for such recipients."""
    config = login.config if hasattr(login, "config") else load_project(login.project_id)
    return config is not None and not config.channels_for(kind_of(login.to))


@admin.register(TestLogin)
class TestLoginAdmin(ScopedAdmin):
    viewers = adders = changers = deleters = Right.USE_KEYS
    form = TestLoginForm
    fields = ("project", "to", "code", "expires_at")
    list_display = ("recipient", "project", "hidden_code", "expires", "state")
    list_select_related = ("project",)
    intro = gettext_lazy(
        "Recipients with a fixed code that never receive messages, for app reviewers and automated tests."
        " Anyone who knows the code can log in as that recipient. Up to 50 per project."
    )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[TestLoginList]:
        return TestLoginList

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return (*self.fields, "state") if obj else self.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "to", "state") if obj else ()

    def save_model(self, request: HttpRequest, obj: TestLogin, form: Any, change: bool) -> None:
        given = form.cleaned_data
        obj.pk = add_test_login(project=obj.project, to=obj.to, code=given["code"], expires_at=obj.expires_at).pk
        if lacks_channel(obj):
            self._warn_of_channel(request, obj)

    def _warn_of_channel(self, request: HttpRequest, login: TestLogin) -> None:
        text = (
            _("This project has no active channel for e-mail addresses. The login works once you add one.")
            if kind_of(login.to) is AddressKind.EMAIL
            else _("This project has no active channel for phone numbers. The login works once you add one.")
        )
        if request.user.is_superuser or login.project_id in own_project_ids(request, Right.CHANGE):
            way = form_link("provider_add", login.project)
            text = format_html('{} <a href="{}"><u>{}</u></a>', text, way, _("Add a provider"))
        self.message_user(request, text, messages.WARNING)

    @admin.display(description=gettext_lazy("Recipient"), ordering="to")
    def recipient(self, login: TestLogin) -> str:
        return monospace(login.to)

    @admin.display(description=gettext_lazy("Code"))
    def hidden_code(self, login: TestLogin) -> str:
        return "••••••"

    @admin.display(description=gettext_lazy("Expires"), ordering="expires_at")
    def expires(self, login: TestLogin) -> str:
        return time_label(login.expires_at) if login.expires_at else _("Never")

    @admin.display(description=gettext_lazy("State"))
    def state(self, login: TestLogin) -> str:
        if not login.project.test_logins_enabled:
            return label(_("Off in the project"))
        if login.expires_at and login.expires_at <= timezone.now():
            return label(_("Expired"), "warning")
        if lacks_channel(login):
            return label(_("No channel"), "warning")
        return label(_("Active"), "success")
