"""Providers that collapse in one country: accepted there as before, and not delivered, or delivered and never entered.

Each provider is held against its own past in the country, by the hour. A break is told if chance alone hardly makes one
like it; ``trends.py`` and docs/figures.md have the test, and how often it was wrong on made-up traffic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import itemgetter

from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from verification.core import countries
from verification.core.addresses import country_of
from verification.models import Alert, HourlyFigures, Message, Provider, Session
from verification.models.alerts import COLLAPSE, COLLAPSE_OVER
from verification.models.messages import LOST
from verification.services.analytics import impact, trends
from verification.services.analytics.impact import ARRIVED, VERIFIED, CountryBreak, Loss, break_key, read_break_key
from verification.services.analytics.ranges import DAY, HOUR
from verification.services.analytics.trends import LEAST_DROP, LEAST_PEOPLE, LEAST_SINCE, Counts, Pairs, Points
from verification.services.notifications import alerts
from verification.services.providers import rules
from verification.services.records.batches import run_each

PAST = 14 * DAY  # what is usual: each weekday twice, and enough messages in a country with few
# The times whose losses make a provider's country worth a look at its past: a large one fails within hours.
LOOKED_AT = (2 * HOUR, DAY)
UNVERIFIED = 0.35  # of the sessions, from which on a fall is looked for: usually one in five is not verified
LOST_LOOKED_AT = 200  # the latest lost messages, or sessions, among which people are counted
QUIET = DAY  # without a message for so long, nothing is lost there any more
DECIDED_AFTER = timedelta(minutes=5)  # the life of a session, and the minute until it is counted, with some to spare


@dataclass(frozen=True, slots=True)
class Collapse:
    """A provider's break in one country. Shares are of a hundred messages that it accepted, or of its sessions."""

    project_id: int
    provider: Provider
    country: str
    at: datetime
    before: int
    since: int
    counted: int  # messages, or sessions, since the break
    fell: str = ARRIVED
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
    at, known = now or timezone.now(), set()

    def look_again(alert: Alert) -> None:
        found = read_break_key(alert.key)
        if found and not _end_if_over(alert, found, at):
            known.add((alert.project_id, found.provider, found.country))

    def judge(suspect: tuple[tuple[int, int, str], Points]) -> None:
        key, points = suspect
        if key not in known and (collapse := _collapse_of(*key, points, at)):
            _alert(collapse)

    run_each(Alert.objects.filter(kind=COLLAPSE, ended_at=None).order_by("pk"), look_again, job=COLLAPSE)
    run_each(_suspects(at).items(), judge, job=COLLAPSE, name=itemgetter(0))


def open_ones(projects: Iterable[int]) -> list[Collapse]:
    """Return the collapses that last and whose provider is still asked first there."""
    return open_and_relieved(projects)[0]


def open_and_relieved(projects: Iterable[int]) -> tuple[list[Collapse], list[Collapse]]:
    """Return the collapses of :func:`open_ones`, and those that last and whose provider is not asked first there."""
    still_first: list[Collapse] = []
    relieved: list[Collapse] = []
    for each in lasting_ones(projects):
        share = rules.first_share(each.project_id, each.provider, each.country)
        (still_first if share else relieved).append(each)
    return still_first, relieved


def lasting_ones(projects: Iterable[int]) -> list[Collapse]:
    """Return the collapses that the owners of these projects were told of and that last, with their present figures."""
    now = timezone.now()
    found = []
    for alert in Alert.objects.filter(project__in=projects, kind=COLLAPSE, ended_at=None).order_by("-created_at"):
        key = read_break_key(alert.key)
        provider = key and Provider.objects.filter(pk=key.provider).first()
        if key and provider:
            found.append(_measured(alert.project_id, provider, key, now))
    return found


# --- looking -----------------------------------------------------------------------------------------------------


def _suspects(now: datetime) -> dict[tuple[int, int, str], Points]:
    """Return the past of each provider's country that lost many of its messages of late."""
    late = {
        f"{name}_{place}": Sum(what, filter=Q(hour__gt=now - time), default=0)
        for place, time in enumerate(LOOKED_AT)
        for name, what in (
            ("accepted", F("messages_accepted")),
            ("arrived", _ARRIVED),
            ("sent", F("sessions_sent")),
            ("verified", F("sessions_verified")),
        )
    }
    found = _rows(now - max(LOOKED_AT), now).order_by().values("project_id", "provider_id", "country").annotate(**late)
    few = [
        (project, provider, country)
        for project, provider, country, *counts in found.values_list("project_id", "provider_id", "country", *late)
        if _is_suspect(counts)
    ]
    return {key: points for key in few if (points := _points(key[0], CountryBreak(*key[1:], now), now - PAST, now))}


# What an hour's messages that were accepted have not lost; those that no provider took have the provider 0.
_ARRIVED = F("messages_accepted") - F("messages_failed") - F("messages_expired")


def _rows(since: datetime, until: datetime) -> QuerySet[HourlyFigures]:
    first = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return HourlyFigures.objects.filter(
        hour__gte=first, hour__lte=until, provider_id__gt=0, project__is_sandbox=False, project__deleted_at=None
    ).exclude(country="")


def _points(project: int, of: CountryBreak, since: datetime, until: datetime) -> Points:
    return _summed(_rows(since, until).filter(project=project, provider_id=of.provider, country=of.country))


def _other_points(project: int, of: CountryBreak, since: datetime, until: datetime) -> Points:
    """Return the project's traffic but that of this provider to this country."""
    rows = _rows(since, until).filter(project=project)
    return _summed(rows.filter(~Q(provider_id=of.provider, country=of.country)))


def _summed(rows: QuerySet[HourlyFigures]) -> Points:
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


def _is_suspect(counts: list[int]) -> bool:
    """Return whether many of late were lost, or not verified. ``counts`` are those of ``late``, of each time."""
    parts = (counts[place : place + 4] for place in range(0, len(counts), 4))
    return any(
        trends.is_suspect(accepted, arrived) or trends.is_suspect(sent, verified, UNVERIFIED)
        for accepted, arrived, sent, verified in parts
    )


def _pairs(points: Points, fell: str, now: datetime) -> Pairs:
    """Return what is judged: of conversions the hours alone whose sessions are over."""
    if fell == ARRIVED:
        return trends.arrivals(points)
    return trends.conversions(_decided(points, now))


def _decided(points: Points, now: datetime) -> Points:
    return [each for each in points if each[0] + HOUR + DECIDED_AFTER <= now]


def _collapse_of(project: int, provider_id: int, country: str, points: Points, now: datetime) -> Collapse | None:
    at, fell = trends.break_of(points), ARRIVED
    if at is None:
        others = _other_points(project, CountryBreak(provider_id, country, now), now - PAST, now)
        at, fell = trends.conversion_break_of(_decided(points, now), _decided(others, now)), VERIFIED
    if at is None or _people(project, provider_id, country, at, fell) < LEAST_PEOPLE:
        return None
    provider = Provider.objects.filter(pk=provider_id).first()
    found = CountryBreak(provider_id, country, at, fell)
    return _measured(project, provider, found, now) if provider else None


def _people(project: int, provider: int, country: str, since: datetime, fell: str) -> int:
    """Return how many different recipients of the country lost messages, or unverified sessions, went to."""
    lost = Message.objects.filter(
        project=project, provider=provider, created_at__gte=since, sent_at__isnull=False, is_test=False
    )
    lost = lost.filter(status__in=LOST) if fell == ARRIVED else lost.filter(session__in=_unverified(project, since))
    addresses = lost.order_by("-created_at").values_list("recipient__address", flat=True)[:LOST_LOOKED_AT]
    return len({address for address in addresses if country_of(address) == country})


def _unverified(project: int, since: datetime) -> QuerySet[Session]:
    return Session.objects.filter(project=project, created_at__gte=since, verified_at=None)


def _measured(project: int, provider: Provider, found: CountryBreak, now: datetime) -> Collapse:
    """Return the break with its shares: before it those of ``PAST``, so that they stay the same while it lasts."""
    pairs = _pairs(_points(project, found, found.at - PAST, now), found.fell, now)
    return Collapse(project, provider, found.country, found.at, *trends.shares(pairs, found.at), found.fell)


def _others(collapse: Collapse) -> list[tuple[Provider, int]]:
    """Return how many of a hundred the others of the channel delivered, or verified, where enough are known."""
    serving = Provider.objects.serving(collapse.project_id).filter(channel=collapse.provider.channel)
    now, found = timezone.now(), []
    for provider in serving.exclude(pk=collapse.provider.pk):
        of = CountryBreak(provider.pk, collapse.country, collapse.at)
        pairs = _pairs(_points(collapse.project_id, of, collapse.at, now), collapse.fell, now)
        _before, share, counted = trends.shares(pairs, collapse.at)
        if counted >= LEAST_SINCE and share >= collapse.since + LEAST_DROP:
            found.append((provider, share))
    return found


# --- telling -----------------------------------------------------------------------------------------------------


def _alert(collapse: Collapse) -> None:
    name, country, loss = collapse.provider.name, countries.named(collapse.country), collapse.loss
    cost = f" {loss.sentence}" if loss and loss.missed else ""
    moment = f"{collapse.at:%d %b %H:%M} UTC"
    if collapse.fell == ARRIVED:
        title = f"{name} in {country}: {collapse.since} % delivered, down from {collapse.before} %"
        detail = (
            f"Since {moment}, {collapse.since} % of the messages to {country} that {name} accepted were delivered, "
            f"down from {collapse.before} %. {collapse.counted:,} messages are affected.{cost}"
        )
    else:
        title = f"{name} in {country}: {collapse.since} % of users enter their code, down from {collapse.before} %"
        detail = (
            f"Since {moment}, {collapse.since} % of the users in {country} whose code {name} accepted were verified, "
            f"down from {collapse.before} %. It accepted {collapse.counted:,} codes in that time. They may not "
            f"arrive, even if {name} reports them as delivered. If you changed your app or its text at that time, "
            f"check that first.{cost}"
        )
    alerts.raise_alert(
        project_id=collapse.project_id,
        kind=COLLAPSE,
        key=break_key(CountryBreak(collapse.provider.pk, collapse.country, collapse.at, collapse.fell)),
        title=title,
        detail=f"{detail} {_advice(collapse)} You will get another alert when it is resolved.",
    )


def _advice(collapse: Collapse) -> str:
    name, country, other = collapse.provider.name, countries.named(collapse.country), collapse.other
    if other:
        return (
            f"{other[0].name} {'delivered' if collapse.fell == ARRIVED else 'verified'} {other[1]} % there in the "
            f"same time. Send {country} through {other[0].name}, then ask {name} what is wrong."
        )
    serving = Provider.objects.serving(collapse.project_id).filter(channel=collapse.provider.channel)
    names = list(serving.exclude(pk=collapse.provider.pk).order_by("name").values_list("name", flat=True))
    if names:
        return f"Try {' or '.join(names)} for {country}, then ask {name} what is wrong."
    return f"No other provider serves this channel. Add one for {country}, and ask {name} what is wrong."


def _end_if_over(alert: Alert, found: CountryBreak, now: datetime) -> bool:
    """End an alert once the provider delivers again, or is not used there any more. Return whether it ended."""
    points = _points(alert.project_id, found, found.at - PAST, now)
    last = max((at for at, each in points if each.accepted), default=found.at)
    provider = Provider.objects.filter(pk=found.provider).first()
    is_quiet = now - last > QUIET
    if provider and not is_quiet and not trends.is_over(_pairs(points, found.fell, now), found.at):
        return False
    ended = Alert.objects.filter(pk=alert.pk, ended_at=None).update(ended_at=now)
    if ended and provider and not is_quiet:  # else another worker saw it as well
        alerts.raise_alert(
            project_id=alert.project_id,
            kind=COLLAPSE_OVER,
            key=alert.key,
            title=f"{provider.name} delivers to {countries.named(found.country)} again",
            detail=f"Its delivery rate there is back to what it was before {found.at:%d %b %H:%M} UTC."
            if found.fell == ARRIVED
            else f"The share of its verified users there is back to what it was before {found.at:%d %b %H:%M} UTC.",
        )
    return True
