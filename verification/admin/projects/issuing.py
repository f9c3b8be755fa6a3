"""Issuing a key, from the project's page: the answer is the one place where its text is shown."""

from __future__ import annotations

from typing import cast

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminSelectWidget

from verification.admin.auth import form_tokens
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.keys import COPY_NOW, LIFETIMES, KeyAdmin, seconds_of
from verification.core.errors import UserError
from verification.models import ApiKey, KeyKind, Project
from verification.services.projects import keys


class IssueKeyForm(forms.Form):
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=(
            (KeyKind.API, gettext_lazy("API key, for browsers and apps: the session endpoints")),
            (
                KeyKind.SECRET,
                gettext_lazy("Secret key, for your servers only: verify, manual send, and reading full recipients"),
            ),
        ),
        initial=KeyKind.API,
        widget=UnfoldAdminRadioSelectWidget,
    )
    lifetime = forms.ChoiceField(
        choices=LIFETIMES, required=False, label=gettext_lazy("Valid"), widget=UnfoldAdminSelectWidget
    )


@action(description=gettext_lazy("Create a key"), icon="key", permissions=["act"], url_path="issue-key")
def issue_key(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Issue a key. Its text is in the answer to the POST and nowhere else: no session, no cookie, no redirect."""
    project: Project = model_admin.find(request, object_id)
    form = IssueKeyForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return model_admin.ask(
            request,
            _("Create a key"),
            row=project,
            form=form,
            intro=_("The full key is shown once, right after this step. Store it with your other secrets."),
            submit=_("Create the key"),
            acts_once=True,
        )
    if fault := form_tokens.spend(request):
        return model_admin.refuse(request, project, _("{fault} No key was created.").format(fault=fault))
    kind, lifetime = KeyKind(form.cleaned_data["kind"]), seconds_of(form.cleaned_data["lifetime"])
    try:
        issued = keys.issue_key(project=project, kind=kind, expires_in=lifetime, created_by=request.user)
    except UserError as error:
        return model_admin.refuse(request, project, error)
    key = ApiKey.objects.get(pk=issued.id)
    key_admin = cast(KeyAdmin, model_admin.admin_site.get_model_admin(ApiKey))
    model_admin.log_change(request, project, f"Issued the {KeyKind(kind).label} {key}")
    return model_admin.show_secrets(
        request,
        project,
        title=_("New API key") if kind is KeyKind.API else _("New secret key"),
        warning=COPY_NOW,
        secrets=key_admin.new_secrets(key, issued.text),
    )
