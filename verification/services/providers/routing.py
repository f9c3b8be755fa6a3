"""The providers that a message is offered to, in their order."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from providers.sandbox import outcome_of
from verification.core.errors import UserError
from verification.models import Channel, Choice, RoutingMode
from verification.services.projects.channel_config import FIXED_ORDER, RoutingConfig
from verification.services.providers.active import LiveProvider, live_providers


class Order(NamedTuple):
    """The providers that are to be asked in turn, and the reason why the first of them comes first."""

    providers: list[LiveProvider]
    choice: Choice


class Orderer(Protocol):
    """Puts the providers that fit, two at least, into their order. ``chance`` draws where it is left to chance."""

    def __call__(
        self,
        fitting: Iterable[LiveProvider],
        *,
        project_id: int,
        channel: str,
        address: str,
        country: str,
        config: RoutingConfig,
        chance: random.Random,
    ) -> Order: ...


class Method(NamedTuple):
    """A way to choose that an app brings. ``require`` raises :class:`UserError` where a channel lacks what it needs."""

    order: Orderer
    require: Callable[[Channel], None]


METHODS: dict[str, Method] = {}  # by routing mode, filled by the apps when they are loaded
OWN_MODES = (RoutingMode.FIXED, RoutingMode.SHARES)


def modes() -> list[RoutingMode]:
    """Return the ways to choose that this installation has."""
    return [mode for mode in RoutingMode if mode in OWN_MODES or mode in METHODS]


def require_routing(channel: Channel) -> None:
    """Raises :class:`UserError` where the channel's providers cannot be chosen as it says."""
    if channel.routing in METHODS:
        METHODS[channel.routing].require(channel)
    elif channel.routing not in OWN_MODES:
        raise UserError(f"This installation does not have this routing: {channel.routing}.")


def providers_for(
    *,
    project_id: int,
    channel: str,
    address: str,
    country: str,
    pinned_id: int | None,
    left_out: Collection[int],
    accounts: Mapping[str, str],
    routing: RoutingConfig = FIXED_ORDER,
    seed: int | None = None,
) -> Order:
    """The channel's providers for this recipient in the order of trial: those that were late just now last, the
    project's before the system's, and then as the channel's ``routing`` says. Where the app of a way to choose is left
    out, by their fixed order. A routing rule that fits the message comes before all that.

    ``pinned_id`` names the only one to be asked; nobody takes its place, and its prefixes do not matter. ``left_out``
    are those that may have sent this message already, or that have no account for the recipient. ``accounts`` are
    the bots that do, by the provider's id. The same ``seed`` draws the same, in another process, too.
    """
    serving = [
        provider
        for provider in of_its_kind(live_providers(project_id, channel), address)
        if provider.id not in left_out and (not provider.adapter.needs_start or str(provider.id) in accounts)
    ]
    if pinned_id is not None:
        return Order([provider for provider in serving if provider.id == pinned_id], Choice.PINNED)
    return order_of(
        serving, project_id=project_id, channel=channel, address=address, country=country, routing=routing, seed=seed
    )


def of_its_kind(providers: Iterable[LiveProvider], address: str) -> list[LiveProvider]:
    """Return the sandbox for its own recipients and the others for all others, where the sandbox serves besides others.

    It is asked of all that serve a channel: an inbox does not stand in for a sandbox that failed on demand.
    """
    found = list(providers)
    if not any(provider.adapter.is_simulation for provider in found):
        return found
    is_simulated = outcome_of(address) is not None
    return [provider for provider in found if provider.adapter.is_simulation is is_simulated]


def order_of(
    serving: Iterable[LiveProvider],
    *,
    project_id: int,
    channel: str,
    address: str,
    country: str,
    routing: RoutingConfig,
    seed: int | None,
) -> Order:
    """The order of trial of these providers for a recipient, as :func:`providers_for` describes it.

    They are those that :func:`of_its_kind` left.
    """
    fitting = [each for each in serving if each.serves(address) and not each.is_paused_in(country)]
    if len(fitting) < 2:
        return Order(fitting, Choice.ONLY)
    chance = random.Random(seed)  # noqa: S311  (nothing to be guessed)
    if method := METHODS.get(routing.mode):
        order = method.order(
            fitting,
            project_id=project_id,
            channel=channel,
            address=address,
            country=country,
            config=routing,
            chance=chance,
        )
    else:
        order = _by_weight(fitting, chance, is_shared=routing.mode == RoutingMode.SHARES)
    return _by_rule(order, country, chance)


def _by_rule(order: Order, country: str, chance: random.Random) -> Order:
    """Put the provider first that a routing rule draws for this message; one that was late just now stays behind.

    The country's rules count, and where it has none those of all countries.
    """
    for place in (country, ""):
        shares = [(each, each.rules[place]) for each in order.providers if each.rules.get(place)]
        if shares:
            break
    else:
        return order
    drawn = 100 * chance.random()
    for provider, percent in shares:
        if drawn < percent and not provider.latency.is_late:
            others = [each for each in order.providers if each is not provider]
            return Order([provider, *others], Choice.RULE)
        drawn -= percent
    return order


def _by_weight(fitting: Iterable[LiveProvider], chance: random.Random, *, is_shared: bool) -> Order:
    """Order by priority, and equals by chance according to their weights. With ``is_shared`` all are equals."""

    def place(provider: LiveProvider) -> tuple[bool, bool, int]:
        return provider.latency.is_late, provider.is_system, 0 if is_shared else provider.priority

    in_order = sorted(fitting, key=lambda provider: (*place(provider), _draw(provider.weight, chance)))
    first, second = place(in_order[0]), place(in_order[1])
    if any(place(provider)[1:] < first[1:] for provider in in_order):
        return Order(in_order, Choice.INSTEAD)
    return Order(in_order, Choice.SHARE if first == second else Choice.ORDER)


def _draw(weight: int, chance: random.Random) -> float:
    """A random place among equals: the heavier, the more often in front. (Efraimidis and Spirakis, 2006.)"""
    return -(chance.random() ** (1 / weight)) if weight else 1.0


def is_circuit_open(provider: LiveProvider, now: datetime) -> bool:
    """Return whether its circuit breaker keeps it aside, as of at most a second ago."""
    return provider.open_until is not None and provider.open_until > now


def is_due_for_probe(provider: LiveProvider, now: datetime) -> bool:
    return provider.open_until is not None and provider.open_until <= now
