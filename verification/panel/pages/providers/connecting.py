"""Connecting a Telegram bot from its page: Telegram takes its webhook from us alone, so nobody can enter it there."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import action

from providers.base import Health
from providers.errors import ProviderError
from verification.errors import Misuse
from verification.models import Provider
from verification.panel.pages.providers.breaker import BreakerAdmin
from verification.services.delivery import polling
from verification.services.gateways.accounts import check_provider


class ConnectingAdmin(BreakerAdmin):
    """Adds the action to a page of providers, where the provider is a bot."""

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        row = self.get_object(request, str(object_id))
        is_bot = row is not None and row.type == polling.BOT_TYPE
        return [each for each in super().get_actions_detail(request, object_id) if each.path != "connect" or is_bot]

    @action(description="Connect the bot", icon="link", permissions=["change"], url_path="connect")
    def connect_bot(self, request: HttpRequest, object_id: str) -> HttpResponse:
        provider: Provider = self.find(request, object_id)
        context = self.page_context(
            request,
            "Connect the bot",
            object=provider,
            intro="Tells Telegram where to report what users do in the bot, then asks whose token it is and whether"
            " Telegram reaches us. Do it once, and again after a new token.",
            submit_text="Connect now",
            health=self._connect(request, provider) if request.method == "POST" else None,
            back=reverse("admin:verification_provider_change", args=(provider.pk,)),
        )
        return TemplateResponse(request, "admin/verification/provider/check.html", context)

    def _connect(self, request: HttpRequest, provider: Provider) -> Health:
        if provider.type != polling.BOT_TYPE:
            return Health(False, "This provider is no Telegram bot.")
        try:
            polling.set_webhook(provider)
        except (Misuse, ProviderError) as error:
            return Health(False, f"{str(error)[:1].upper()}{str(error)[1:].rstrip('.')}.")
        self.log_change(request, provider, "Connected the bot")
        return check_provider(provider)
