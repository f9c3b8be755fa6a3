"""A test event to the customer's server, from the project's page."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from providers.http.ssrf import MAX_URL_LENGTH
from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.display import page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.errors import UserError
from verification.models import EventType, Project, WebhookEvent
from verification.services.notifications import events
from verification.services.projects.settings import check_called_url


class TestEventForm(forms.Form):
    __test__ = False  # not a test class, whatever its name says

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=MAX_URL_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://shop.example/watchword", "inputmode": "url"}),
    )

    event = forms.ChoiceField(
        label=gettext_lazy("Event"), choices=EventType.choices, required=False, widget=UnfoldAdminSelectWidget
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        try:
            check_called_url(url)
        except UserError as error:
            raise forms.ValidationError(str(error)) from None
        return url


@skip_reauthentication
@action(description=gettext_lazy("Send a test event"), icon="send", permissions=["change"], url_path="test-event")
def test_event(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the form on the address, and under it how the customer's server has answered."""
    project: Project = model_admin.find(request, object_id)
    form = TestEventForm(request.POST if request.method == "POST" else None, initial={"url": _last_url(project)})
    context = model_admin.page_context(
        request,
        _("Send a test event"),
        object=project,
        form=form,
        back=page_address(project),
        **(_send(model_admin, request, project, form) if form.is_valid() else {}),
    )
    return TemplateResponse(request, "admin/verification/project/test_event.html", context)


def _send(model_admin: ScopedAdmin, request: HttpRequest, project: Project, form: TestEventForm) -> dict[str, Any]:
    url, started_at = form.cleaned_data["url"], time.monotonic()
    event_type = form.cleaned_data["event"] or EventType.MESSAGE_FINISHED
    try:
        tried = events.send_test_event(project=project, url=url, event_type=event_type)
    except UserError as error:
        form.add_error(None, str(error))
        return {}
    model_admin.log_change(request, project, f"Sent a test event to {urlsplit(url).hostname}")
    return {"tried": tried, "took": round((time.monotonic() - started_at) * 1000)}


def _last_url(project: Project) -> str:
    if project.event_url:
        return project.event_url
    last = WebhookEvent.objects.filter(project=project, message__isnull=False).first()
    return last.url if last else ""
