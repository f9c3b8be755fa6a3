"""The providers that a message is offered to, in their order."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from verification.models import Choice
from verification.services.gateways.accounts import LiveProvider, live_providers


class Order(NamedTuple):
    """The providers that are to be asked in turn, and the reason why the first of them comes first."""

    providers: list[LiveProvider]
    choice: Choice


def providers_for(
    *,
    project_id: int,
    channel: str,
    address: str,
    pinned_id: int | None,
    left_out: Collection[int],
    accounts: Mapping[str, str],
) -> Order:
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
        return Order([provider for provider in serving if provider.id == pinned_id], Choice.PINNED)
    fitting = [provider for provider in serving if provider.serves(address)]
    in_order = sorted(fitting, key=lambda provider: (*_place(provider), _draw(provider.weight)))
    return Order(in_order, _reason(in_order))


def _place(provider: LiveProvider) -> tuple[bool, bool, int]:
    return provider.pace.is_late, provider.is_system, provider.priority


def _reason(in_order: list[LiveProvider]) -> Choice:
    """Return why the first comes first, where it was placed by priority and weight."""
    if len(in_order) < 2:
        return Choice.ONLY
    first, second = _place(in_order[0]), _place(in_order[1])
    if any(_place(provider)[1:] < first[1:] for provider in in_order):
        return Choice.INSTEAD
    return Choice.SHARE if first == second else Choice.ORDER


def _draw(weight: int) -> float:
    """A random place among equals: the heavier, the more often in front. (Efraimidis and Spirakis, 2006.)"""
    return -(random.random() ** (1 / weight)) if weight else 1.0  # noqa: S311  (nothing to be guessed)


def is_aside(provider: LiveProvider, now: datetime) -> bool:
    """Return whether its circuit breaker keeps it aside, as of at most a second ago."""
    return provider.open_until is not None and provider.open_until > now


def is_due_for_probe(provider: LiveProvider, now: datetime) -> bool:
    return provider.open_until is not None and provider.open_until <= now
