"""All that is told of money about a range: its cost against the time before, by each dimension, and other prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from verification.services.analytics import costs, price_comparison
from verification.services.analytics.costs import Cost, Where
from verification.services.analytics.price_comparison import Offer
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import DIMENSIONS


@dataclass(frozen=True, slots=True)
class Money:
    """The cost of a range. ``by`` has the cost of each value of a dimension that cost something."""

    cost: Cost
    before: Cost
    by: dict[str, dict[Any, Cost]]
    over_time: dict[datetime, Cost]
    offers: list[Offer]

    @property
    def is_empty(self) -> bool:
        """Nothing was sent, neither in the range nor before."""
        return not (self.cost.sends or self.before.sends)

    def of(self, dimension: str, key: Any) -> Cost:
        return self.by[dimension].get(key, Cost(self.cost.currency))

    def at(self, moment: datetime) -> Cost:
        return self.over_time.get(moment, Cost(self.cost.currency))


def money_of(projects: Sequence[int], span: Range, where: Where | None = None, *, with_system: bool = False) -> Money:
    """Sum the costs of these projects, or only those that have the values of ``where``."""
    rows = costs.grouped(projects, span, DIMENSIONS, where)
    before = costs.total(projects, span.before, where)
    whole = Cost(before.currency)
    by: dict[str, dict[Any, Cost]] = {name: {} for name in DIMENSIONS}
    for keys, cost in rows.items():
        whole.merge(cost)
        for name, key in zip(DIMENSIONS, keys, strict=True):
            by[name].setdefault(key, Cost(before.currency)).merge(cost)
    offers = price_comparison.offers(projects, span, where, with_system=with_system)
    return Money(whole, before, by, costs.over_time(projects, span, where), offers)
