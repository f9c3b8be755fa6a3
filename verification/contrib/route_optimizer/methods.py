"""The two ways to choose that this app brings: the best for the money, and the best for the time."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import groupby

from verification.contrib.route_optimizer.optimizer import Candidate, Objective, rank
from verification.contrib.route_optimizer.statistics import price_of, state_of
from verification.core.errors import UserError
from verification.models import Channel, Choice, Provider, RoutingMode
from verification.services.projects.channel_config import RoutingConfig
from verification.services.providers import routing
from verification.services.providers.active import LiveProvider

OBJECTIVES = {RoutingMode.BEST_PRICE.value: Objective.MONEY, RoutingMode.BEST_TIME.value: Objective.TIME}


def register() -> None:
    routing.METHODS[RoutingMode.BEST_PRICE] = routing.Method(by_worth, require_prices)
    routing.METHODS[RoutingMode.BEST_TIME] = routing.Method(by_worth, require_nothing)


def by_worth(
    fitting: Iterable[LiveProvider],
    *,
    project_id: int,
    channel: str,
    address: str,
    country: str,
    config: RoutingConfig,
    chance: random.Random,
) -> routing.Order:
    """Order by what they have shown in this country. The project's own are compared with each other alone."""
    state = state_of(project_id, channel)
    in_order: list[LiveProvider] = []
    is_explored = False
    for _, group in groupby(sorted(fitting, key=_group), key=_group):
        alike = {provider.id: provider for provider in group}
        ranking = rank(
            state,
            country,
            [Candidate(each.id, price_of(each.prices, address, country)) for each in alike.values()],
            objective=OBJECTIVES[config.mode],
            explore=0.0 if in_order else config.explore,
            chance=chance,
        )
        in_order += [alike[provider] for provider in ranking.providers]
        is_explored = is_explored or ranking.is_explored
    return routing.Order(in_order, Choice.EXPLORED if is_explored else Choice.BEST)


def _group(provider: LiveProvider) -> tuple[bool, bool]:
    return provider.latency.is_late, provider.is_system


def require_prices(channel: Channel) -> None:
    """Raises :class:`UserError` where a choice for the money would compare providers whose prices nobody knows."""
    serving = Provider.objects.serving(channel.project_id).filter(channel=channel.type)
    unpriced = list(serving.in_order().filter(prices=None).values_list("name", flat=True))
    if unpriced:
        raise UserError(
            f"“Cheapest per verified user” needs prices, and {', '.join(unpriced)} "
            f"{('has' if len(unpriced) == 1 else 'have')} none. Enter them on the provider's page first, or choose "
            "another routing."
        )


def require_nothing(channel: Channel) -> None:
    """What a provider has shown is known in time."""
