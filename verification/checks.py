"""What must hold before the service starts, each with an id and a hint."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from providers import guard, registry


@register()
def adapters_load(**_: Any) -> list[CheckMessage]:
    return [
        Error(
            f"The adapter {file} cannot be loaded: {reason}",
            hint="Mend or remove the file; the other adapters are not affected.",
            id="watchword.E001",
        )
        for file, reason in registry.failures().items()
    ]


@register()
def networks_are_networks(**_: Any) -> list[CheckMessage]:
    try:
        guard.networks(settings.OUTBOUND_ALLOWED_NETWORKS)
    except ValueError as error:
        return [
            Error(
                f"OUTBOUND_ALLOWED_NETWORKS: {error}",
                hint="Write networks such as 10.0.0.0/8, separated by commas.",
                id="watchword.E002",
            )
        ]
    return []


@register(Tags.security, deploy=True)
def base_url_is_https(**_: Any) -> list[CheckMessage]:
    if settings.BASE_URL.startswith("https://"):
        return []
    return [
        Warning(
            "BASE_URL is not an https address.",
            hint="Set it to the public address of the service; links, receipts and cookies depend on it.",
            id="watchword.W001",
        )
    ]
