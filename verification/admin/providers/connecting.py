"""Connecting a Telegram bot from its page: Telegram takes its webhook from us alone, so nobody can enter it there."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action

from providers.base import Health
from providers.errors import ProviderError
from verification.admin.base.display import page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.errors import UserError
from verification.models import Provider
from verification.services.delivery import polling
from verification.services.providers.accounts import check_provider


@action(description=gettext_lazy("Connect the bot"), icon="link", permissions=["change"], url_path="connect")
def connect_bot(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    provider: Provider = model_admin.find(request, object_id)
    context = model_admin.page_context(
        request,
        _("Connect the bot"),
        object=provider,
        intro=_(
            "Registers this server's webhook with Telegram and checks the token and the connection. Do this"
            " once, and again after changing the token."
        ),
        submit_text=_("Connect now"),
        health=_connect(model_admin, request, provider) if request.method == "POST" else None,
        back=page_address(provider),
    )
    return TemplateResponse(request, "admin/verification/provider/check.html", context)


def _connect(model_admin: ScopedAdmin, request: HttpRequest, provider: Provider) -> Health:
    if provider.type != polling.BOT_TYPE:
        return Health(False, _("This provider is not a Telegram bot."))
    try:
        polling.set_webhook(provider)
    except UserError as error:
        return Health(False, str(error))
    except ProviderError as error:
        return Health(False, error.sentence)
    model_admin.log_change(request, provider, gettext_noop("Connected the bot"))
    return check_provider(provider)
