"""The providers that a message is offered to, in their order."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import datetime

from verification.services.gateways.accounts import LiveProvider, live_providers


def providers_for(
    *,
    project_id: int,
    channel: str,
    address: str,
    pinned_id: int | None,
    left_out: Collection[int],
    accounts: Mapping[str, str],
) -> list[LiveProvider]:
    """The channel's providers for this recipient in the order of trial: those that were late just now last, the
    project's before the system's, then by priority, and by chance according to their weights among equals.

    ``pinned_id`` names the only one to be asked; nobody takes its place, and its prefixes do not matter. ``left_out``
    are those that may have sent this message already, or that have no account for the recipient. ``accounts`` are
    the bots that do, by the provider's id.
    """
    serving = [
        provider
        for provider in live_providers(project_id, channel)
        if provider.id not in left_out and (not provider.adapter.needs_start or str(provider.id) in accounts)
    ]
    if pinned_id is not None:
        return [provider for provider in serving if provider.id == pinned_id]
    fitting = [provider for provider in serving if provider.serves(address)]
    return sorted(fitting, key=_place)


def _place(provider: LiveProvider) -> tuple[bool, bool, int, float]:
    return provider.pace.is_late, provider.is_system, provider.priority, _draw(provider.weight)


def _draw(weight: int) -> float:
    """A random place among equals: the heavier, the more often in front. (Efraimidis and Spirakis, 2006.)"""
    return -(random.random() ** (1 / weight)) if weight else 1.0  # noqa: S311  (nothing to be guessed)


def is_aside(provider: LiveProvider, now: datetime) -> bool:
    """Return whether its circuit breaker keeps it aside, as of at most a second ago."""
    return provider.open_until is not None and provider.open_until > now


def is_due_for_probe(provider: LiveProvider, now: datetime) -> bool:
    return provider.open_until is not None and provider.open_until <= now
