"""The cost of a range of time in the currency of account, told from the counted rows.

Amounts are counted in the currencies that were charged. Here each becomes the currency of account, at the rate of its
day. An amount whose price or rate nobody knows is left out of the sum, and the number of such sends is told beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import DateField, F, Sum
from django.db.models.functions import TruncDate

from verification.core.currencies import NO_CURRENCY
from verification.models import DailyCosts, ExchangeRate, HourlyCosts
from verification.services.analytics.ranges import Range
from verification.services.projects.ceilings import platform

DAY = timedelta(days=1)
Where = Mapping[str, Any]  # the values of some dimensions that rows must have, such as one country
SHOWN_PLACES = 4  # of a cost for each verified user: a code costs some hundredths
SUM_PLACES = 2  # of sums, as money is written
FILE_PLACES = 6  # of a file's rows, which are summed: a vendor's prices have as many at most


class Rates:
    """The exchange rates into one currency of account."""

    def __init__(self, account: str) -> None:
        self.account = account
        self._rates: dict[str, list[tuple[date, Decimal]]] = defaultdict(list)
        for row in ExchangeRate.objects.filter(account=account).order_by("-valid_from"):
            self._rates[row.currency].append((row.valid_from, row.rate))

    def into_account(self, amount: Decimal, currency: str, day: date) -> Decimal | None:
        """Return an amount in the currency of account, by the last rate up to that day; None where there is none."""
        if currency == self.account or not amount:
            return amount
        rate = next((rate for since, rate in self._rates.get(currency, ()) if since <= day), None)
        return None if rate is None else amount * rate


@dataclass(slots=True)
class Cost:
    """The cost of some sends. ``amount`` is that of the priced ones, unrounded.

    ``without_price`` have no price; ``without_rate`` have one in a currency that nothing leads from, by the currency.
    """

    currency: str
    amount: Decimal = Decimal(0)
    priced: int = 0
    segments: int = 0
    without_price: int = 0
    without_rate: Counter[str] = field(default_factory=Counter)

    @property
    def sends(self) -> int:
        return self.priced + self.unknown

    @property
    def unknown(self) -> int:
        """The sends whose cost in the currency of account nobody knows."""
        return self.without_price + self.without_rate.total()

    @property
    def rates_missing(self) -> list[tuple[str, int]]:
        """The currencies that no rate leads from, with their sends."""
        return sorted(self.without_rate.items())

    @property
    def known(self) -> Decimal | None:
        """The sum as it is told; None where no send has a price, which is not the same as 0."""
        return None if self.unknown and not self.priced else round(self.amount, SUM_PLACES)

    def per(self, verified: int) -> Decimal | None:
        """The cost for each of the verified; None without one, or without any price."""
        return None if self.known is None or not verified else round(self.amount / verified, SHOWN_PLACES)

    def add(self, *, amount: Decimal | None, currency: str, sends: int, segments: int) -> None:
        """``amount`` is in the currency of account; None where no rate leads there."""
        self.segments += segments
        if not currency:
            self.without_price += sends
        elif amount is None:
            self.without_rate[currency] += sends
        else:
            self.amount += amount
            self.priced += sends

    def merge(self, other: Cost) -> None:
        """Add another cost in the same currency of account."""
        self.amount += other.amount
        self.priced += other.priced
        self.segments += other.segments
        self.without_price += other.without_price
        self.without_rate.update(other.without_rate)


def account_currency() -> str:
    return platform().account_currency


def total(projects: Sequence[int], span: Range, where: Where | None = None) -> Cost:
    """The cost of a range."""
    return grouped(projects, span, (), where).get((), Cost(account_currency()))


def grouped(
    projects: Sequence[int], span: Range, by: Sequence[str], where: Where | None = None
) -> dict[tuple[Any, ...], Cost]:
    """The cost of a range for each value of some of the dimensions of the figures."""
    rates = Rates(account_currency())
    found: dict[tuple[Any, ...], Cost] = {}
    for row in _sums(projects, span, by, rates.account, where):
        cost = found.setdefault(tuple(row[name] for name in by), Cost(rates.account))
        amount = rates.into_account(row["sum_amount"], row["currency"], row["on"])
        cost.add(amount=amount, currency=row["currency"], sends=row["sum_sends"], segments=row["sum_segments"])
    return found


def over_time(projects: Sequence[int], span: Range, where: Where | None = None) -> dict[datetime, Cost]:
    """The cost of each hour of a range, or of each day where it is read by the day; none where nothing was sent."""
    by = () if span.is_by_day else ("hour",)
    rates = Rates(account_currency())
    found: dict[datetime, Cost] = {}
    for row in _sums(projects, span, by, None, where):
        at = datetime.combine(row["on"], time.min, UTC) if span.is_by_day else row["hour"]
        cost = found.setdefault(at, Cost(rates.account))
        amount = rates.into_account(row["sum_amount"], row["currency"], row["on"])
        cost.add(amount=amount, currency=row["currency"], sends=row["sum_sends"], segments=row["sum_segments"])
    return found


def daily(
    projects: Sequence[int], span: Range, by: Sequence[str], where: Where | None = None
) -> dict[tuple[Any, ...], Cost]:
    """The cost of each day (UTC) of a range, for each value of some of the dimensions of the figures."""
    rates = Rates(account_currency())
    found: dict[tuple[Any, ...], Cost] = {}
    for row in _sums(projects, span, by, None, where):
        cost = found.setdefault((row["on"], *(row[name] for name in by)), Cost(rates.account))
        amount = rates.into_account(row["sum_amount"], row["currency"], row["on"])
        cost.add(amount=amount, currency=row["currency"], sends=row["sum_sends"], segments=row["sum_segments"])
    return found


def charged(projects: Sequence[int], span: Range, where: Where) -> Iterable[tuple[date, str, str, Decimal, int]]:
    """Yield each day's cost by country in the currency that was charged, with its sends."""
    for row in _sums(projects, span, ("country",), None, where):
        yield row["on"], row["country"], row["currency"], row["sum_amount"], row["sum_sends"]


def as_dict(cost: Cost, verified: int) -> dict[str, Any]:
    """The cost in the words of docs/cost.md, for programs. Money is a text, so that nothing rounds it on the way."""
    per_verified = cost.per(verified)
    return {
        "currency": cost.currency,
        "cost": None if cost.known is None else str(cost.known),
        "cost_per_verified": None if per_verified is None else str(per_verified),
        "messages_charged": cost.sends,
        "messages_without_price": cost.unknown,
    }


def _sums(
    projects: Sequence[int], span: Range, by: Sequence[str], account: str | None, where: Where | None
) -> Iterable[dict[str, Any]]:
    """Sum the rows of a range by currency. Only amounts that are to be exchanged are summed for each day alone.

    With ``account`` None all are.
    """
    sums = {"sum_amount": Sum("amount"), "sum_sends": Sum("sends"), "sum_segments": Sum("segments")}
    for rows, day in _rows(projects, span, where):
        ours = (account, "", NO_CURRENCY) if account else ()
        for row in rows.filter(currency__in=ours).order_by().values(*by, "currency").annotate(**sums):
            yield {**row, "on": span.since.date()}
        yield from rows.exclude(currency__in=ours).order_by().values(*by, "currency", on=day).annotate(**sums)


def _rows(projects: Sequence[int], span: Range, where: Where | None) -> Iterable[tuple[Any, Any]]:
    """Return the rows of a range with the day of each, as the report of figures reads them."""
    hours = HourlyCosts.objects.filter(project__in=projects, hour__lt=span.until, **(where or {}))
    day_of_hour = TruncDate("hour", tzinfo=UTC, output_field=DateField())
    if not span.is_by_day:
        return ((hours.filter(hour__gte=span.since), day_of_hour),)
    by_hour_from = span.by_hour_from
    days = DailyCosts.objects.filter(
        project__in=projects, day__gte=span.since.date(), day__lt=by_hour_from.date(), **(where or {})
    )
    return (days, F("day")), (hours.filter(hour__gte=by_hour_from), day_of_hour)
