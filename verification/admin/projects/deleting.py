"""Deleting a project: its name is typed, it stops at once, and workers remove its rows."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.admin.base.model_admin import ScopedAdmin
from verification.core.errors import UserError
from verification.models import Project
from verification.services.projects import deletion


class DeletionForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Enter its name to confirm"),
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )


def delete_view(
    model_admin: ScopedAdmin, request: HttpRequest, object_id: str, extra_context: Any = None
) -> HttpResponse:
    """Stand in for Django's page for deleting, which would load every row that goes with a project."""
    project: Project = model_admin.find(request, object_id)
    if not model_admin.has_delete_permission(request, project):
        raise PermissionDenied
    form = DeletionForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            deletion.mark(project, typed_name=form.cleaned_data["name"])
        except UserError as error:
            form.add_error("name", str(error))
        else:
            return _confirm(model_admin, request, project)
    return model_admin.ask(
        request,
        _("Delete the project"),
        row=project,
        form=form,
        intro=_(
            "Its keys stop working within a second. Its channels, providers, texts, recipients, sessions and"
            " messages are permanently deleted. The audit log is kept."
        ),
        submit=_("Delete the project"),
        is_dangerous=True,
    )


def _confirm(model_admin: ScopedAdmin, request: HttpRequest, project: Project) -> HttpResponse:
    model_admin.log_change(request, project, gettext_noop("Requested its deletion"))
    text = _(
        "{project} is stopped and hidden. Its data is deleted within minutes; after that, its name can be used again."
    ).format(project=project)
    model_admin.message_user(request, text, messages.SUCCESS)
    return HttpResponseRedirect(reverse("admin:verification_project_changelist"))
