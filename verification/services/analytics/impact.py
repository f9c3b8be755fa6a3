"""The estimate of how many users fewer were verified during an outage, as docs/figures.md defines it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from verification.core.formats import grouped
from verification.core.numbers import whole_number
from verification.models import BreakerOpening, HourlyFigures
from verification.models.alerts import COLLAPSE, OUTAGE
from verification.services.analytics.ranges import DAY, HOUR
from verification.services.notifications.provider_alerts import KIND as PROVIDER

AT = "%Y-%m-%dT%H:%M"  # of the break, in UTC


ARRIVED, VERIFIED = "arrived", "verified"  # what of a hundred fell


class CountryBreak(NamedTuple):
    """A provider, the country where it fails, the hour since which it does, and what fell."""

    provider: int
    country: str
    at: datetime
    fell: str = ARRIVED


def break_key(found: CountryBreak) -> str:
    key = f"{found.provider} {found.country} {found.at.astimezone(UTC):{AT}}"
    return key if found.fell == ARRIVED else f"{key} {found.fell}"


def read_break_key(key: str) -> CountryBreak | None:
    """Return what a key says; None where it is none of ours."""
    provider, country, at, fell = ([*key.split(" "), "", "", "", ""])[:4]
    number = whole_number(provider)
    try:
        moment = datetime.strptime(at, AT).replace(tzinfo=UTC)
    except ValueError:
        return None
    return CountryBreak(number, country, moment, fell or ARRIVED) if number else None


DAYS_BEFORE = 7  # the days whose same hours say what is usual: each weekday once
FEWEST_DAYS = 3  # of them with traffic: fewer say nothing of what is usual
SHORTEST = timedelta(minutes=5)  # a provider that is set aside for less has cost next to nobody
SOON = timedelta(hours=1)  # after the alert of a refusal, within which the provider is set aside for it
LONGEST = timedelta(days=2)  # an outage beyond says more of the service than of a comparison with days before


@dataclass(frozen=True, slots=True)
class Loss:
    """The verified sessions of an outage's hours, and of the same hours on most days before."""

    verified: int
    usual: int

    @property
    def missed(self) -> int:
        return max(0, self.usual - self.verified)

    @property
    def sentence(self) -> str:
        if not self.missed:
            return _("No fewer verified users than usual ({verified} vs {usual}).").format(
                verified=grouped(self.verified), usual=grouped(self.usual)
            )
        return ngettext(
            "About {missed} fewer verified user than usual ({verified} vs {usual}).",
            "About {missed} fewer verified users than usual ({verified} vs {usual}).",
            self.missed,
        ).format(missed=grouped(self.missed), verified=grouped(self.verified), usual=grouped(self.usual))


def loss(projects: Sequence[int], since: datetime, until: datetime | None) -> Loss | None:
    """Return the estimate for an outage; None where it was too long, or where too few days before had traffic."""
    end = until or timezone.now()
    if end - since > LONGEST:
        return None
    first = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    hours = [first + n * HOUR for n in range(int((end - first) / HOUR) + 1) if first + n * HOUR < end] or [first]
    verified = [_verified(projects, [hour - days * DAY for hour in hours]) for days in range(DAYS_BEFORE + 1)]
    usual = [number for number in verified[1:] if number is not None]
    if len(usual) < FEWEST_DAYS:
        return None
    return Loss(verified[0] or 0, round(median(usual)))


def of_alert(*, project: int, kind: str, key: str, since: datetime, until: datetime | None) -> Loss | None:
    """Return the estimate for what an alert tells of: an outage, or a provider that was set aside for a while."""
    span = span_of_alert(kind=kind, key=key, since=since, until=until)
    if span is None:
        return None
    broken = read_break_key(key) if kind == COLLAPSE else None
    return since_break([project], broken.country, *span) if broken else loss([project], *span)


def span_of_alert(
    *, kind: str, key: str, since: datetime, until: datetime | None
) -> tuple[datetime, datetime | None] | None:
    """Return the time for which :func:`of_alert` estimates; its end is None while it lasts."""
    if kind == OUTAGE:
        return since, until
    if kind == COLLAPSE:
        broken = read_break_key(key)
        return (broken.at, until) if broken else None
    provider = whole_number(key.partition(" ")[0]) if kind == PROVIDER else None
    found = opening_of(provider, since) if provider else None
    if found is None or (found.closed_at or timezone.now()) - found.opened_at < SHORTEST:
        return None
    return min(since, found.opened_at), found.closed_at


def opening_of(provider: int, since: datetime) -> BreakerOpening | None:
    """Return the time for which a provider was set aside for what an alert tells of."""
    openings = BreakerOpening.objects.filter(provider=provider, opened_at__lt=since + SOON).order_by("opened_at")
    return openings.exclude(closed_at__lt=since).first()


def since_break(projects: Sequence[int], country: str, at: datetime, until: datetime | None) -> Loss | None:
    """Return the estimate for a country where a provider fails: its sessions since then, if verified as a week before.

    It counts all providers and channels, so that users whom another one saved are not lost. None without a past.
    """
    rows = HourlyFigures.objects.filter(project__in=projects, country=country)
    sums = {"sessions": Sum("sessions"), "verified": Sum("sessions_verified")}
    before = rows.filter(hour__gte=at - DAYS_BEFORE * DAY, hour__lt=at).aggregate(**sums)
    since = rows.filter(hour__gte=at, hour__lt=until or timezone.now()).aggregate(**sums)
    if not before["sessions"] or not since["sessions"]:
        return None
    return Loss(since["verified"], round(since["sessions"] * before["verified"] / before["sessions"]))


def _verified(projects: Sequence[int], hours: Sequence[datetime]) -> int | None:
    """Return the verified sessions of some hours; None where there was no session at all."""
    rows = HourlyFigures.objects.filter(project__in=projects, hour__in=hours)
    sums = rows.aggregate(sessions=Sum("sessions"), verified=Sum("sessions_verified"))
    return sums["verified"] if sums["sessions"] else None
