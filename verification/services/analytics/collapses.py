"""Providers that collapse in one country: accepted there as before, and not delivered. The owner is alerted.

Each provider is held against its own past in the country, by the hour. A break is told if chance alone hardly makes one
like it; docs/figures.md has the test, and how often it was wrong on made-up traffic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from verification.core.addresses import country_of
from verification.models import Alert, HourlyFigures, Message, Provider
from verification.models.alerts import COLLAPSE, COLLAPSE_OVER
from verification.services.analytics import impact
from verification.services.analytics.impact import CountryBreak, Loss, break_key, read_break_key
from verification.services.analytics.ranges import DAY, HOUR
from verification.services.analytics.statistics import LOST
from verification.services.analytics.trends import cut
from verification.services.notifications import alerts
from verification.services.providers import rules

PAST = 14 * DAY  # what is usual: each weekday twice, and enough messages in a country with few
LEAST_BEFORE = 20  # messages of the past, as on the scorecard: fewer say little of what is usual
# Messages since the break. A fall from 98 to 29 of 100 reaches the evidence after six of them; a shop with few messages
# would wait some hours longer for the scorecard's twenty.
LEAST_SINCE = 10
# Twice the logarithm of the likelihood ratio, as on the scorecard. One comparison reaches 25 by chance once in 3
# million times in this direction. A provider's country is compared anew each hour with up to 336 hours of its past,
# which is alike from hour to hour: some thousand comparisons a month that are worth counting, so at most one false
# alarm in some hundred months of a steady country. benchmarks/collapses.py measures it.
LEAST_EVIDENCE = 25.0
LEAST_DROP = 15  # of a hundred, as on the scorecard: a provider that is a little worse than before has not failed
# Different people among the lost: a few who try a dead number again and again are no fault of the provider.
LEAST_PEOPLE = 5
# The part of the fall in arrivals by which the verified of a hundred sessions have to fall as well. Where the codes are
# entered as before, the messages arrive, and it is the receipts that are missing.
LEAST_OF_VERIFIED = 0.25
# The times whose losses make a provider's country worth a look at its past: a large one fails within hours.
LOOKED_AT = (2 * HOUR, DAY)
LOST_LOOKED_AT = 200  # the latest lost messages, among which people are counted
# The logarithm of the likelihood ratio between "as before" and "as since the break", from which on it is over: 20 to 1.
OVER_EVIDENCE = 3.0
QUIET = DAY  # without a message for so long, nothing is lost there any more


class Counts(NamedTuple):
    """An hour of one provider in one country. What is not decided yet counts as arrived."""

    accepted: int
    arrived: int
    sent: int  # sessions whose code it accepted last
    verified: int


Points = list[tuple[datetime, Counts]]  # by the hour, the earliest first


@dataclass(frozen=True, slots=True)
class Collapse:
    """A provider's break in one country. Shares are of a hundred messages that it accepted."""

    project_id: int
    provider: Provider
    country: str
    at: datetime
    before: int
    since: int
    accepted: int  # messages since the break
    until: datetime | None = None

    @property
    def loss(self) -> Loss | None:
        return impact.since_break([self.project_id], self.country, self.at, self.until)

    @property
    def other(self) -> tuple[Provider, int] | None:
        """The other provider of the channel that brought most of its messages there since then, and its share."""
        found = _others(self)
        return max(found, key=lambda each: each[1], default=None)


def watch(now: datetime | None = None) -> None:
    """Alert the owners of providers that collapse in a country, and of those that are over it."""
    now = now or timezone.now()
    known = set()
    for alert in Alert.objects.filter(kind=COLLAPSE, ended_at=None).order_by("pk"):
        found = read_break_key(alert.key)
        if found and not _end_if_over(alert, found, now):
            known.add((alert.project_id, found.provider, found.country))
    for (project, provider, country), points in _suspects(now).items():
        if (project, provider, country) in known:
            continue
        collapse = _collapse_of(project, provider, country, points)
        if collapse:
            _alert(collapse)


def open_ones(projects: Iterable[int]) -> list[Collapse]:
    """Return the collapses that the owners of these projects were told of and that last, with their present figures.

    One that a routing rule has relieved is left out: its provider is not asked first there any more.
    """
    now = timezone.now()
    found = []
    for alert in Alert.objects.filter(project__in=projects, kind=COLLAPSE, ended_at=None).order_by("-created_at"):
        key = read_break_key(alert.key)
        provider = key and Provider.objects.filter(pk=key.provider).first()
        if key and provider and not rules.relieved(alert.project_id, provider.pk, key.country):
            points = _points(alert.project_id, key, key.at - PAST, now)
            found.append(_measured(alert.project_id, provider, key.country, key.at, points))
    return found


def break_of(points: Points) -> datetime | None:
    """Return the hour since which a provider fails in a country; None where it does not, or nobody can tell."""
    shown = [(at, (each.accepted, each.arrived)) for at, each in points]
    found = cut("", shown, least_before=LEAST_BEFORE, least_since=LEAST_SINCE, drop=LEAST_DROP, evidence=LEAST_EVIDENCE)
    if found is None or not _is_felt(points, found.at):
        return None
    return found.at


def _is_felt(points: Points, at: datetime) -> bool:
    """Return whether fewer users are verified as well, as far as sessions tell: else only receipts are missing."""
    before, since = _sums(points, at)
    if before.sent < LEAST_BEFORE or since.sent < LEAST_SINCE:
        return True
    fall = before.arrived / before.accepted - since.arrived / since.accepted
    return before.verified / before.sent - since.verified / since.sent >= LEAST_OF_VERIFIED * fall


def _sums(points: Points, at: datetime) -> tuple[Counts, Counts]:
    """Return the sums before a moment and since then."""
    parts = [each for when, each in points if when < at], [each for when, each in points if when >= at]
    before, since = (Counts(*map(sum, zip(*part, strict=True))) if part else Counts(0, 0, 0, 0) for part in parts)
    return before, since


# --- looking -----------------------------------------------------------------------------------------------------


def _suspects(now: datetime) -> dict[tuple[int, int, str], Points]:
    """Return the past of each provider's country that lost many of its messages of late."""
    late = {
        f"{name}_{place}": Sum(what, filter=Q(hour__gt=now - time), default=0)
        for place, time in enumerate(LOOKED_AT)
        for name, what in (("accepted", F("messages_accepted")), ("arrived", _ARRIVED))
    }
    found = _rows(now - max(LOOKED_AT), now).order_by().values("project_id", "provider_id", "country").annotate(**late)
    few = [
        (project, provider, country)
        for project, provider, country, *counts in found.values_list("project_id", "provider_id", "country", *late)
        if any(map(is_suspect, counts[::2], counts[1::2]))
    ]
    return {key: points for key in few if (points := _points(key[0], CountryBreak(*key[1:], now), now - PAST, now))}


def is_suspect(accepted: int, arrived: int) -> bool:
    return accepted - arrived >= max(LEAST_PEOPLE, accepted * LEAST_DROP / 100)


# What an hour's messages that were accepted have not lost; those that no provider took have the provider 0.
_ARRIVED = F("messages_accepted") - F("messages_failed") - F("messages_expired")


def _rows(since: datetime, until: datetime) -> QuerySet[HourlyFigures]:
    first = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return HourlyFigures.objects.filter(
        hour__gte=first, hour__lte=until, provider_id__gt=0, project__is_sandbox=False, project__deleted_at=None
    ).exclude(country="")


def _points(project: int, of: CountryBreak, since: datetime, until: datetime) -> Points:
    rows = _rows(since, until).filter(project=project, provider_id=of.provider, country=of.country)
    sums = (
        rows.order_by("hour")
        .values_list("hour")
        .annotate(
            accepted=Sum("messages_accepted"),
            arrived=Sum(_ARRIVED),
            sent=Sum("sessions_sent"),
            verified=Sum("sessions_verified"),
        )
    )
    return [(hour, Counts(*counts)) for hour, *counts in sums]


def _collapse_of(project: int, provider_id: int, country: str, points: Points) -> Collapse | None:
    at = break_of(points)
    if at is None or _people(project, provider_id, country, at) < LEAST_PEOPLE:
        return None
    provider = Provider.objects.filter(pk=provider_id).first()
    return _measured(project, provider, country, at, points) if provider else None


def _people(project: int, provider: int, country: str, since: datetime) -> int:
    """Return how many different recipients of the country a provider's lost messages went to."""
    lost = Message.objects.filter(
        project=project, provider=provider, created_at__gte=since, status__in=LOST, sent_at__isnull=False, is_test=False
    )
    addresses = lost.order_by("-created_at").values_list("recipient__address", flat=True)[:LOST_LOOKED_AT]
    return len({address for address in addresses if country_of(address) == country})


def _measured(project: int, provider: Provider, country: str, at: datetime, points: Points) -> Collapse:
    before, since = _sums(points, at)
    return Collapse(project, provider, country, at, _share(before), _share(since), since.accepted)


def _share(counts: Counts) -> int:
    return round(100 * counts.arrived / counts.accepted) if counts.accepted else 0


def _others(collapse: Collapse) -> list[tuple[Provider, int]]:
    """Return how many of a hundred messages the others of the channel brought there, where enough are known."""
    serving = Provider.objects.serving(collapse.project_id).filter(channel=collapse.provider.channel)
    found = []
    for provider in serving.exclude(pk=collapse.provider.pk):
        points = _points(
            collapse.project_id, CountryBreak(provider.pk, collapse.country, collapse.at), collapse.at, timezone.now()
        )
        counts = _sums(points, collapse.at)[1]
        if counts.accepted >= LEAST_SINCE and _share(counts) >= collapse.since + LEAST_DROP:
            found.append((provider, _share(counts)))
    return found


# --- telling -----------------------------------------------------------------------------------------------------


def _alert(collapse: Collapse) -> None:
    name, country, loss = collapse.provider.name, collapse.country, collapse.loss
    cost = f" {loss.sentence}" if loss and loss.missed else ""
    alerts.raise_alert(
        project_id=collapse.project_id,
        kind=COLLAPSE,
        key=break_key(CountryBreak(collapse.provider.pk, country, collapse.at)),
        title=f"{name} fails in {country}: {collapse.since} of 100 messages arrive",
        detail=f"{collapse.since} of 100 messages to {country} that {name} accepted since"
        f" {collapse.at:%d %b %H:%M} UTC arrived; before, {collapse.before} did. {collapse.accepted:,} were accepted"
        f" since.{cost} {_advice(collapse)} You are told when it is over.",
    )


def _advice(collapse: Collapse) -> str:
    name, country, other = collapse.provider.name, collapse.country, collapse.other
    if other:
        return (
            f"{other[0].name} delivered {other[1]} of 100 there in the same time. Send {country} by {other[0].name}:"
            f" the overview and the scorecard of {name} have the button. Then ask {name} what is wrong."
        )
    serving = Provider.objects.serving(collapse.project_id).filter(channel=collapse.provider.channel)
    names = list(serving.exclude(pk=collapse.provider.pk).order_by("name").values_list("name", flat=True))
    if names:
        return (
            f"Try {' or '.join(names)} for {country}: the overview and the scorecard of {name} have the button."
            f" Then ask {name} what is wrong."
        )
    return f"No other provider serves the channel: add one for {country}, and ask {name} what is wrong."


def _end_if_over(alert: Alert, found: CountryBreak, now: datetime) -> bool:
    """End an alert once the provider delivers again, or is not used there any more. Return whether it ended."""
    points = _points(alert.project_id, found, found.at - PAST, now)
    before, since = _sums(points, found.at)
    last = max((at for at, each in points if each.accepted), default=found.at)
    provider = Provider.objects.filter(pk=found.provider).first()
    is_quiet = now - last > QUIET
    if provider and not is_quiet and not is_over(points, found.at, _rate(before), _rate(since)):
        return False
    ended = Alert.objects.filter(pk=alert.pk, ended_at=None).update(ended_at=now)
    if ended and provider and not is_quiet:  # else another worker saw it as well
        alerts.raise_alert(
            project_id=alert.project_id,
            kind=COLLAPSE_OVER,
            key=alert.key,
            title=f"{provider.name} delivers to {found.country} again",
            detail=f"Its latest messages to {found.country} arrive as before {found.at:%d %b %H:%M} UTC.",
        )
    return True


def is_over(points: Points, at: datetime, before: float, since: float) -> bool:
    """Return whether the latest messages speak for the share before the break, and not for the one since."""
    latest, arrived = 0, 0
    for _when, each in reversed([point for point in points if point[0] > at]):
        latest, arrived = latest + each.accepted, arrived + each.arrived
        if latest >= LEAST_SINCE:
            break
    if latest < LEAST_SINCE:
        return False
    return _likelihood_at(before, arrived, latest) - _likelihood_at(since, arrived, latest) >= OVER_EVIDENCE


def _likelihood_at(share: float, part: int, whole: int) -> float:
    """Return the logarithm of the likelihood of ``part`` of ``whole`` at a share."""
    return part * math.log(share) + (whole - part) * math.log(1 - share)


def _rate(counts: Counts) -> float:
    """Return the share that arrived, never quite 0 or 1, as no past excludes the other."""
    return (counts.arrived + 0.5) / (counts.accepted + 1)
