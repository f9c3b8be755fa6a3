"""Which providers a message is offered to, and in which order."""

from __future__ import annotations

from collections.abc import Collection

from verification.services.providers import LiveProvider, live_providers


def providers_for(
    *, project_id: int, channel: str, pinned_id: int | None, unknown_at: Collection[int]
) -> list[LiveProvider]:
    """The channel's providers in the order of trial, without those that may have sent this message already.

    ``pinned_id`` names the only one to be asked; then nobody takes its place.
    """
    serving = live_providers(project_id, channel)
    if pinned_id is not None:
        serving = [provider for provider in serving if provider.id == pinned_id]
    return [provider for provider in serving if provider.id not in unknown_at]
