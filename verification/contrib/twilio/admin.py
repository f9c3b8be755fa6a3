"""What the panel shows of a secret key for Twilio's libraries: the three SIDs that they ask for."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.display import monospace
from verification.admin.keys import KeyAdmin
from verification.core import sids
from verification.models import ApiKey, KeyKind


class WithSids(KeyAdmin):
    """A key's page, with its SIDs where Twilio's libraries can log in with it."""

    for_twilio = (
        gettext_lazy("For Twilio's libraries"),
        {
            "fields": ("account_sid", "key_sid", "service_sid"),
            "description": gettext_lazy(
                "Log in with the Account SID and this key as the auth token, or with the API key SID and this"
                " key as the secret."
            ),
        },
    )
    readonly_fields = (*KeyAdmin.readonly_fields, "account_sid", "key_sid", "service_sid")

    def get_fieldsets(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        groups = super().get_fieldsets(request, obj)
        return (*groups, self.for_twilio) if obj and can_log_in(obj) else groups

    @admin.display(description=gettext_lazy("Account SID"))
    def account_sid(self, key: ApiKey) -> str:
        return monospace(sids.of_project(sids.ACCOUNT, key.project.public_id))

    @admin.display(description=gettext_lazy("API key SID"))
    def key_sid(self, key: ApiKey) -> str:
        return monospace(sids.of_key(key.digest))

    @admin.display(description=gettext_lazy("Service SID"))
    def service_sid(self, key: ApiKey) -> str:
        return monospace(sids.of_project(sids.SERVICE, key.project.public_id))

    def new_secrets(self, key: ApiKey, text: str) -> list[tuple[str, str, str]]:
        lines = super().new_secrets(key, text)
        if not can_log_in(key):
            return lines
        return [
            *lines,
            (
                _("Account SID"),
                sids.of_project(sids.ACCOUNT, key.project.public_id),
                _("For Twilio's libraries: the key above is the auth token. This and the values below are not secret."),
            ),
            (
                _("API key SID"),
                sids.of_key(key.digest),
                _("Instead of the Account SID; the key above is then the secret."),
            ),
            (
                _("Service SID"),
                sids.of_project(sids.SERVICE, key.project.public_id),
                _("The Verify service to use in API calls."),
            ),
        ]


def can_log_in(key: ApiKey) -> bool:
    """Return whether Twilio's libraries can log in with the key."""
    return key.kind == KeyKind.SECRET and key.project.twilio_endpoints


admin.site.unregister(ApiKey)
admin.site.register(ApiKey, WithSids)
