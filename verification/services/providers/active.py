"""The accounts that serve a channel of a project at this moment, each with its adapter."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, Prefetch, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from providers.base import Adapter
from providers.errors import SettingsInvalid
from verification.core.addresses import domain_of
from verification.core.caching import FreshCache
from verification.core.crypto import DecryptionFailed
from verification.models import Project, Provider, RoutingRule, SenderRule
from verification.services.providers import capacity
from verification.services.providers.accounts import adapter_of, hook_url, is_known
from verification.services.providers.latency import LatencyProfile, latencies_of
from verification.services.providers.prices import PriceBook, book_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LiveProvider:
    """An enabled provider with its adapter, ready to send, and what decides its turn.

    ``open_until`` is the end of its time aside, by our own clock, while its circuit breaker is open; past it, one
    probe is let through. ``latency`` is how quickly it answered of late. ``rules`` are the project's routing
    rules about it by country, empty for all of them: of how many of a hundred messages it comes first, 0 for a pause.
    """

    id: int
    name: str
    adapter: Adapter
    hook_url: str
    is_system: bool
    priority: int
    weight: int
    only_prefixes: tuple[str, ...]
    except_prefixes: tuple[str, ...]
    only_domains: frozenset[str]
    except_domains: frozenset[str]
    senders: dict[str, SenderRule]
    open_until: datetime | None
    latency: LatencyProfile
    prices: PriceBook
    rules: dict[str, int] = field(default_factory=dict)

    def serves(self, address: str) -> bool:
        """Return whether its prefixes let it serve this number, or its domains this e-mail address."""
        if domain := domain_of(address):
            return (not self.only_domains or domain in self.only_domains) and domain not in self.except_domains
        if self.only_prefixes and not address.startswith(self.only_prefixes):
            return False
        return not address.startswith(self.except_prefixes)

    def is_paused_in(self, country: str) -> bool:
        return self.rules.get(country, self.rules.get("")) == 0

    def sender_for(self, address: str) -> SenderRule | None:
        """The rule of the longest prefix that the number begins with."""
        matching = [prefix for prefix in self.senders if address.startswith(prefix)]
        return self.senders[max(matching, key=len)] if matching else None


_live: FreshCache[tuple[int, str], list[LiveProvider]] = FreshCache()


def live_providers(project_id: int, channel: str) -> list[LiveProvider]:
    """Return the accounts of this channel and project, in the order of trial: its own by priority, then the system's.

    Fresh to within a second.
    """
    return _live.get((project_id, channel), lambda: _load_live(project_id, channel))


def forget_providers() -> None:
    """Read every list anew at its next use."""
    _live.forget()


def _load_live(project_id: int, channel: str) -> list[LiveProvider]:
    """Read the accounts. Whatever rows there are, a test project has none of the system's and none at a vendor."""
    is_sandbox = Exists(Project.objects.filter(pk=project_id, is_sandbox=True))
    rows = list(
        Provider.objects.serving(project_id)
        .filter(Q(project__isnull=False) | ~is_sandbox, channel=channel)
        .in_order()
        .annotate(asked_at=Now())
        .select_related("breaker", "project")
        .prefetch_related("sender_rules", _rules_of(project_id))
    )
    latencies = latencies_of([row.pk for row in rows])
    live = (
        _live_provider(row, timezone.now() - row.asked_at, latencies.get(row.pk, LatencyProfile()))
        for row in rows
        if is_known(row.type) and not capacity.why_unfit(row.project, row.type)
    )
    return [provider for provider in live if provider is not None]


def _rules_of(project_id: int) -> Prefetch[str, QuerySet[RoutingRule], str]:
    return Prefetch("routing_rules", RoutingRule.objects.filter(project=project_id), to_attr="rules_here")


def _live_provider(row: Any, ahead: timedelta, latency: LatencyProfile) -> LiveProvider | None:
    """None for a row that cannot be read, which must not take the others of its channel with it.

    ``ahead`` is by how much our clock is ahead of the database's.
    """
    try:
        adapter, url = adapter_of(row), hook_url(row)
    except (DecryptionFailed, SettingsInvalid, TypeError, ValueError) as error:
        fields = {"provider": row.pk, "error": type(error).__name__}
        log.error("a provider is left out: its settings cannot be read", extra=fields)
        return None
    open_until = row.breaker.open_until if hasattr(row, "breaker") else None
    return LiveProvider(
        id=row.pk,
        name=row.name,
        adapter=adapter,
        hook_url=url,
        is_system=row.is_system,
        priority=row.priority,
        weight=row.weight,
        only_prefixes=tuple(row.only_prefixes),
        except_prefixes=tuple(row.except_prefixes),
        only_domains=frozenset(row.only_domains),
        except_domains=frozenset(row.except_domains),
        senders={rule.prefix: rule for rule in row.sender_rules.all()},
        open_until=open_until and open_until + ahead,
        latency=latency,
        prices=book_of(row.pk, row.price_list),
        rules={rule.country: rule.percent for rule in row.rules_here},
    )
