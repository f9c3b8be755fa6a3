"""Deleting a project: its name is typed, it stops at once, and workers remove its rows."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.errors import Misuse
from verification.models import Project
from verification.panel.frame.page import ScopedAdmin
from verification.services.projects import deletion


class NameForm(forms.Form):
    name = forms.CharField(
        label="Its name, to be sure", widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"})
    )


class DeletingAdmin(ScopedAdmin):
    """Replaces Django's page for deleting, which would load every row that goes with a project."""

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).filter(deleted_at=None)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        project: Project = self.find(request, object_id)
        if not self.has_delete_permission(request, project):
            raise PermissionDenied
        form = NameForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                deletion.mark(project, typed_name=form.cleaned_data["name"])
            except Misuse as error:
                form.add_error("name", str(error))
            else:
                self.log_change(request, project, "Asked for its deletion")
                self.message_user(
                    request,
                    f"{project} is stopped and out of sight. Workers remove its rows within the next minutes; its name"
                    " is free after that.",
                    messages.SUCCESS,
                )
                return HttpResponseRedirect(reverse("admin:verification_project_changelist"))
        context = self.page_context(
            request,
            "Delete the project",
            object=project,
            form=form,
            intro="Its keys stop working within a second. Its channels, providers, texts, recipients, sessions and"
            " messages go, and do not come back. The audit log stays.",
            submit_text="Delete the project",
            variant="danger",
            back=reverse("admin:verification_project_change", args=(project.pk,)),
        )
        return TemplateResponse(request, "admin/verification/form_page.html", context)
