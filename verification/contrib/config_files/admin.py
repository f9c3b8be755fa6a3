"""A project's set-up as a file: downloaded, and taken back once the difference was seen."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.decorators import action
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.display import page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.projects.project import ProjectAdmin
from verification.admin.projects.sections import PROJECT
from verification.contrib.config_files.export import SCHEMA_PATH, file_of, write
from verification.contrib.config_files.load import FileRefused, read
from verification.contrib.config_files.plan import Plan, PlanChanged, apply, plan, secret_names
from verification.contrib.config_files.schema import SECRET_NAME
from verification.core import crypto
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.models import Project, sees_addresses

MAX_BYTES = 64 * 1024  # Bytes of a file: it travels encrypted in two forms, and a request has 256 KiB.
MAX_SECRETS = 50  # Secrets that are asked for beside a difference; more than any project has providers in use.
PREFIX = "secret_"  # before the name of a secret, so that none meets another field
WORDS = {
    "+": (gettext_lazy("Added"), "ww-success"),
    "~": (gettext_lazy("Changed"), "ww-info"),
    "-": (gettext_lazy("Removed"), "ww-danger"),
}
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


class FileForm(forms.Form):
    """Takes a file by upload or pasted, and the secrets that it names."""

    upload = forms.FileField(required=False, label=gettext_lazy("File"), widget=UnfoldAdminFileFieldWidget)
    text = forms.CharField(
        required=False,
        strip=False,
        label=gettext_lazy("Or paste it"),
        widget=UnfoldAdminTextareaWidget(
            attrs={"rows": 12, "spellcheck": "false", "autocomplete": "off", "class": "ww-lines ww-file"}
        ),
    )

    def __init__(self, *arguments: Any, names: Iterable[str] = (), **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name in names:
            self.fields[PREFIX + name] = forms.CharField(
                required=False,
                label=_("Secret {name}").format(name=name),
                help_text=_("Leave empty to keep the stored value."),
                widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
            )

    def clean(self) -> dict[str, Any]:
        """Put the file's text under ``text``, whichever way it came."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if upload := values.get("upload"):
            try:
                values["text"] = upload.read(MAX_BYTES + 1).decode("utf-8-sig")
            except UnicodeDecodeError:
                raise forms.ValidationError(_("The file is not text in UTF-8.")) from None
        text = values.get("text", "").replace("\r\n", "\n")
        if not text.strip():
            raise forms.ValidationError(_("Choose a file, or paste its text."))
        if len(text.encode()) > MAX_BYTES:
            raise forms.ValidationError(
                _(
                    "The file is larger than {number} kB. The operator can apply larger ones with manage.py apply."
                ).format(number=MAX_BYTES // 1024)
            )
        values["text"] = text
        return values


@skip_reauthentication
@action(description=gettext_lazy("Configuration file"), icon="description", permissions=["change"], url_path="file")
def show_file(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the page, or what a file would change. Nothing is changed here."""
    project: Project = model_admin.find(request, object_id)
    if request.method != "POST":
        return _download(project) if "download" in request.GET else _page(model_admin, request, project)
    form = FileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(model_admin, request, project, form=form)
    text = form.cleaned_data["text"]
    secrets = {
        name.removeprefix(PREFIX): value
        for name, value in request.POST.items()
        if name.startswith(PREFIX) and isinstance(value, str) and value
    }
    return _show_changes(model_admin, request, project, text, secrets)


@action(description=gettext_lazy("Apply the file"), permissions=["change"], url_path="apply-file")
def apply_file(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Apply the file whose difference was shown, if the difference is still the same."""
    project: Project = model_admin.find(request, object_id)
    if request.method != "POST":
        return HttpResponseRedirect(_address(project))
    try:
        held = decrypt(base64.b64decode(request.POST.get("held", "")), binding=_binding(request, project))
        text, secrets, digest = json.loads(held)
    except (DecryptionFailed, ValueError):
        model_admin.message_user(
            request, _("This page belongs to another session. Choose the file again."), messages.WARNING
        )
        return HttpResponseRedirect(_address(project))
    try:
        done = apply(read(text), shown=digest, **_options(request, project, secrets))
    except PlanChanged as error:
        model_admin.message_user(request, str(error), messages.WARNING)
        return _show_changes(model_admin, request, project, text, secrets)
    except FileRefused:
        return _show_changes(model_admin, request, project, text, secrets)
    number = len(done.projects[0].changes)
    done_text = ngettext("File applied: {number} change.", "File applied: {number} changes.", number)
    model_admin.message_user(request, done_text.format(number=number))
    return HttpResponseRedirect(page_address(project))


def _show_changes(
    model_admin: ScopedAdmin, request: HttpRequest, project: Project, text: str, secrets: dict[str, str]
) -> HttpResponse:
    """Show what a file would change, or why it cannot be applied."""
    names: list[str] = []
    context: dict[str, Any] = {}
    try:
        file = read(text)
        names = [name for name in secret_names(file) if re.fullmatch(SECRET_NAME, name)][:MAX_SECRETS]
        planned = plan(file, **_options(request, project, secrets))
    except FileRefused as error:
        context["faults"] = error.faults
    else:
        found = planned.projects[0]
        (other_name,) = file["projects"]
        context = {
            "plan": found,
            "changes": [(*WORDS[change.sign], change) for change in found.changes],
            "loses_credentials": any(
                change.sign == "-" and change.path.startswith("providers.") for change in found.changes
            ),
            "other_name": "" if other_name == project.name else other_name,
            "held": "" if planned.is_empty else _seal(request, project, text, secrets, planned),
        }
    form = FileForm(initial={"text": text}, names=names)
    return _page(model_admin, request, project, form=form, given=sorted(secrets), asks_secrets=bool(names), **context)


def _options(request: HttpRequest, project: Project, secrets: dict[str, str]) -> dict[str, Any]:
    """Return what a file may do that this user brings."""
    return {
        "find_secret": secrets.get,
        "only": project,
        "sees_addresses": sees_addresses(request.user, project.pk),
    }


def _page(
    model_admin: ScopedAdmin, request: HttpRequest, project: Project, *, form: FileForm | None = None, **more: Any
) -> HttpResponse:
    context = model_admin.page_context(
        request,
        _("Configuration file"),
        object=project,
        form=form or FileForm(),
        back=page_address(project),
        address=_address(project),
        apply_address=reverse("admin:verification_project_apply_file", args=(project.pk,)),
        schema=SCHEMA_PATH,
        **more,
    )
    response = TemplateResponse(request, "admin/verification/project/file.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _download(project: Project) -> HttpResponse:
    name = _NOT_IN_A_NAME.sub("-", project.name).strip("-").lower() or f"project-{project.pk}"
    return HttpResponse(
        write(file_of(project)),
        content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.yaml"', "Cache-Control": "no-store"},
    )


def _address(project: Project) -> str:
    return reverse("admin:verification_project_show_file", args=(project.pk,))


def _seal(request: HttpRequest, project: Project, text: str, secrets: dict[str, str], planned: Plan) -> str:
    """Return the file with its secrets as the page carries it to the next step: encrypted, for this session alone."""
    held = encrypt(json.dumps([text, secrets, planned.digest], ensure_ascii=False), binding=_binding(request, project))
    return base64.b64encode(held).decode()


def _binding(request: HttpRequest, project: Project) -> str:
    return crypto.held_form_binding(request.session.session_key, _address(project))


ProjectAdmin.add_actions(show_file, apply_file, part=PROJECT)
