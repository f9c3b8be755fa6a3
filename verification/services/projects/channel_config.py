"""One channel of a project as the hot path reads it: its words, its budgets, and the providers that serve it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.conf import settings
from django.templatetags.static import static

from providers import registry
from verification.models import ChannelType, RoutingMode
from verification.services.projects.ceilings import lower_budget

log = logging.getLogger(__name__)

# In English, whoever asks: the API has one language.
USUAL_NAMES = {channel.value: str(channel.label) for channel in ChannelType}
MESSENGERS = (ChannelType.MESSENGER_A, ChannelType.MESSENGER_B)


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    id: int
    type: str
    name: str
    is_system: bool
    is_bot: bool  # it reaches only users who have started it
    settings: Mapping[str, Any]  # those that are not secret, of a messenger's; of others none

    def link(self, payload: str) -> str:
        """Return the deep link that starts this bot. It needs no secret, so an account that cannot be read has one too.

        It is empty where there is none, and where the adapter fails: a session opens without a link, too.
        """
        try:
            return registry.adapter_class(self.type).link(self.settings, payload)
        except Exception as error:  # an adapter may be of the operator's own making
            log.error("provider %s: its link cannot be made (%s)", self.id, type(error).__name__)
            return ""


class RoutingConfig(NamedTuple):
    """The rule by which a channel's providers take their turns. ``explore`` is a part of 1."""

    mode: str = RoutingMode.FIXED.value
    explore: float = 0.0


FIXED_ORDER = RoutingConfig()


@dataclass(frozen=True)
class ChannelConfig:
    """A live channel of a project. ``providers`` are the enabled ones, the project's own before the system's."""

    type: str
    name: str
    image_url: str
    link: str
    daily_budget: int | None
    cost_budget: int | None  # in money; the one that is used up, of the day or the month, else None
    is_month_spent: bool
    countries: frozenset[str]
    session_seconds: int  # that a session lives which could send its code over it, where that is longer; 0 without
    routing: RoutingConfig
    providers: tuple[ProviderConfig, ...]

    @cached_property
    def bots(self) -> list[int]:
        """The ids of its providers that reach only users who have started them."""
        return [provider.id for provider in self.providers if provider.is_bot]

    @cached_property
    def is_bot(self) -> bool:
        """Return whether nobody is reached over it without having started a bot."""
        return len(self.bots) == len(self.providers)

    @cached_property
    def is_simulation(self) -> bool:
        """Return whether it reaches nobody but the recipients of the sandbox."""
        return all(registry.adapter_class(provider.type).is_simulation for provider in self.providers)

    def carries(self, code: str) -> bool:
        """Return whether one of its providers takes a code of this form."""
        return any(registry.adapter_class(provider.type).carries(code) for provider in self.providers)

    @cached_property
    def is_messenger(self) -> bool:
        """Return whether the recipient may have no account there, or have to start a bot first."""
        return self.type in MESSENGERS

    @cached_property
    def reach(self) -> dict[str, list[int]]:
        """Its providers, as the SQL functions ask for those of a messenger."""
        direct = [provider.id for provider in self.providers if not provider.is_bot]
        return {"bots": self.bots, "direct": direct}


def _spent_budget(row: Mapping[str, Any]) -> int | None:
    if row["is_over_month"]:
        return int(row["monthly_cost_budget"])
    return int(row["daily_cost_budget"]) if row["is_over_cost"] else None


def channel_of(row: Mapping[str, Any], *, site_url: str, budget_ceiling: int) -> ChannelConfig:
    """Return the channel of one item of the snapshot. ``site_url`` is the project's, to which it leads by default."""
    channel_type = row["type"]
    return ChannelConfig(
        type=channel_type,
        name=row["name"] or USUAL_NAMES[channel_type],
        image_url=row["image_url"] or settings.BASE_URL + static(f"verification/channels/{channel_type}.svg"),
        link=row["link"] or site_url or settings.BASE_URL,
        daily_budget=lower_budget(row["effective_budget"], budget_ceiling),
        cost_budget=_spent_budget(row),
        is_month_spent=bool(row["is_over_month"]),
        countries=frozenset(row["countries"]),
        session_seconds=row["session_seconds"] or 0,
        routing=RoutingConfig(row["routing"], row["explore_percent"] / 100),
        providers=tuple(_provider_of(item) for item in row["providers"] if item["type"] in registry.all_types()),
    )


def _provider_of(item: Mapping[str, Any]) -> ProviderConfig:
    return ProviderConfig(
        id=item["id"],
        type=item["type"],
        name=item["name"],
        is_system=item["is_system"],
        is_bot=registry.adapter_class(item["type"]).needs_start,
        settings=item["settings"],
    )
