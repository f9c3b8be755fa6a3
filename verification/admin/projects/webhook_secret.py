"""The webhook secret, from the project's page: shown, and replaced."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action

from verification.admin.auth import form_tokens
from verification.admin.base.display import format_time, page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.errors import UserError
from verification.models import Project
from verification.services.projects.webhook_secrets import live_webhook_secrets, rotate_webhook_secret


@action(description=gettext_lazy("Webhook secret"), icon="webhook", permissions=["act"], url_path="webhook-secret")
def webhook_secret(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Ask; a POST with ``step=reveal`` shows the secrets, one with ``step=rotate`` makes a new one, or the first."""
    project: Project = model_admin.find(request, object_id)
    step = request.POST.get("step") if request.method == "POST" else None
    has_secret = project.webhook_secrets.live().exists()
    if step == "rotate":
        if fault := form_tokens.spend(request):
            return model_admin.refuse(request, project, _("{fault} The secret was not rotated.").format(fault=fault))
        try:
            rotate_webhook_secret(project)
        except UserError as error:
            return model_admin.refuse(request, project, error)
        done = gettext_noop("Rotated the webhook secret") if has_secret else gettext_noop("Created the webhook secret")
        model_admin.log_change(request, project, done)
    elif step == "reveal":
        model_admin.log_change(request, project, gettext_noop("Viewed the webhook secret"))
    else:
        return TemplateResponse(
            request,
            "admin/verification/project/webhook_secret.html",
            model_admin.page_context(
                request,
                _("Webhook secret"),
                object=project,
                has_secret=has_secret,
                back=page_address(project),
                once=form_tokens.issue(request),
            ),
        )
    live = live_webhook_secrets(project)
    return model_admin.show_secrets(
        request,
        project,
        title=_("Webhook secret"),
        warning=_("Anyone who has it can sign callbacks in your name. Keep it on your servers."),
        secrets=[
            (
                _("Current secret") if expires_at is None else _("Previous secret"),
                text,
                _("Signs until {time}.").format(time=format_time(expires_at))
                if expires_at
                else _("Signs every callback."),
            )
            for text, expires_at in live
        ],
    )
