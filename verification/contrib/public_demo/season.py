"""Ninety days of one shop's traffic in 12 countries: outages, prices in three currencies, two texts against each other.

The rows are those that the service would have written, and the figures are counted from them as workers do. So the
panel can be tried, and its pictures taken, as an owner sees it after a season. The same seed writes the same season.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from verification.contrib.public_demo import season_rows
from verification.contrib.public_demo.season_facts import (
    COUNTRIES,
    PRICES,
    RATES,
    SERVED_BY_ONE,
    SHARE_OF_HOURS,
    TEXT_WORKS,
    Country,
    Outage,
    outages,
)
from verification.core.session_rules import SESSION_SECONDS

DAYS = 90
SESSIONS_A_DAY = 300
SEED = 12
SHOP = "Corner Shop"
BODY = '{"to": "{to}", "text": "{text}"}'
OWNER, PASSWORD = "mara", "a season of codes"  # noqa: S105  (of a database that is made for a look)
BATCH = 2_000  # rows that one statement writes
UNLUCKY = "+447400123456"  # who got no code yesterday at noon
Draw = Callable[[int, str], int]  # a second text's id and a session's, to a number below 100
NO_CREDIT = "the account has no credit left"
PATIENCE = timedelta(seconds=SESSION_SECONDS)


@dataclass
class Season:
    """The rows of the season, gathered and written in batches."""

    project: Any
    providers: dict[str, Any]
    trial: Any  # of a second text, or None
    draw: Draw | None
    now: datetime
    outages: tuple[Outage, ...]
    chance: random.Random
    recipients: dict[str, Any] = field(default_factory=dict)
    rows: dict[type, list[Any]] = field(default_factory=dict)

    def add(self, row: Any) -> None:
        self.rows.setdefault(type(row), []).append(row)

    def write(self) -> None:
        from verification.models import DeliveryAttempt, Message, Session, VerifyToken

        for model in (Session, Message, DeliveryAttempt, VerifyToken):
            model.objects.bulk_create(self.rows.pop(model, []), batch_size=BATCH)


# --- one verification --------------------------------------------------------------------------------------------


def verification(season: Season, country: Country, address: str, at: datetime) -> None:
    """Add one session with its messages, what providers answered, and what its user did."""
    from verification.models import Message, Session, VerifyToken

    chance, recipient = season.chance, season.recipients[address]
    session = Session(
        id=session_id(at, chance),
        project=season.project,
        recipient_id=recipient,
        language=country.language,
        code_length=6,
        code_digits=True,
        code_letters=False,
        channel="sms",
        link_payload="",
        is_open=False,
        attempts=0,
        attempts_max=5,
        created_at=at,
        expires_at=at + PATIENCE,
    )
    message = Message(
        id=chance.getrandbits(53) or 1,
        project=season.project,
        recipient_id=recipient,
        session_id=session.id,
        channel="sms",
        language=country.language,
        claims=1,
        created_at=at,
        due_at=at + timedelta(minutes=15),
        expires_at=at + PATIENCE,
    )
    arrived_after = send(season, country, message)
    season.add(message)
    works = TEXT_WORKS[country.language == "en" and is_second_text(season, session.id, at)]
    if arrived_after is not None and chance.random() < works:
        session.attempts = 2 if chance.random() < 0.06 else 1
        took = arrived_after + chance.lognormvariate(2.6, 0.6)
        if took < PATIENCE.total_seconds() - 5:
            session.verified_at = at + timedelta(seconds=took)
            season.add(
                VerifyToken(
                    digest=chance.randbytes(32),
                    project=season.project,
                    session_id=session.id,
                    recipient_id=recipient,
                    created_at=session.verified_at,
                    expires_at=session.verified_at + timedelta(minutes=1),
                    used_at=session.verified_at + timedelta(seconds=1),
                )
            )
    season.add(session)


def send(season: Season, country: Country, message: Any) -> float | None:
    """Ask the country's providers in turn. Return after how many seconds the code arrived; None if it never did."""
    chance, at, waited = season.chance, message.created_at, chance_of_start(season.chance)
    for place, name in enumerate(country.order):
        outage = next((each for each in season.outages if each.holds(name, country, at)), None)
        waited += chance.lognormvariate(-1.2, 0.4)
        if outage and not outage.is_silent and chance.random() < outage.loses:
            waited += chance.uniform(1, 4)
            attempt(season, message, name, country, "out_of_funds", place, waited)
            continue
        attempt(season, message, name, country, "accepted", place, waited)
        message.provider = season.providers[name]
        message.sent_at = at + timedelta(seconds=waited)
        is_lost = chance.random() < (outage.loses if outage else 1 - country.arrives)
        arrived_after = waited + chance.lognormvariate(1.3, 0.7) + (chance.uniform(4, 25) if place else 0)
        message.finished_at = at + timedelta(seconds=arrived_after)
        message.status = "failed" if is_lost else "success"
        message.error = "The operator reports: absent subscriber." if is_lost else None
        return None if is_lost else arrived_after
    message.status, message.is_counted = "expired", False
    message.error = "No provider took the message before its code expired."
    message.finished_at = at + PATIENCE
    return None


def chance_of_start(chance: random.Random) -> float:
    return chance.uniform(0.02, 0.2)


def attempt(season: Season, message: Any, name: str, country: Country, outcome: str, place: int, waited: float) -> None:
    from verification.models import DeliveryAttempt

    is_sent = outcome == "accepted"
    price = season.providers[name].book.find(country.prefix, country.code, message.created_at.date())
    season.add(
        DeliveryAttempt(
            message=message,
            provider=season.providers[name],
            provider_name=name,
            outcome=outcome,
            provider_message_id=f"{name[:2].lower()}-{message.pk:x}" if is_sent else None,
            provider_status="" if is_sent else "402",
            error="" if is_sent else NO_CREDIT,
            latency_ms=season.chance.randint(90, 480),
            choice=choice_of(country, place),
            segments=1 if is_sent else None,
            price=price.amount if is_sent and price else None,
            currency=price.currency if is_sent and price else None,
            created_at=message.created_at + timedelta(seconds=waited),
        )
    )
    if is_sent:
        message.provider_message_id = f"{name[:2].lower()}-{message.pk:x}"


def choice_of(country: Country, place: int) -> str:
    """Return why the service asks this provider of the country."""
    if len(country.order) == 1:
        return "only"
    if place:
        return "next"
    return "rule" if has_rule(country) else "order"


def has_rule(country: Country) -> bool:
    """Return whether a routing rule puts the country's first provider before the first of all."""
    return len(country.order) > 1 and country.order[0] != next(iter(PRICES))


def session_id(at: datetime, chance: random.Random) -> str:
    from verification.core.ids import first_session_id

    letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    return first_session_id(at)[:10] + "".join(chance.choice(letters) for _ in range(16))


def is_second_text(season: Season, session: str, at: datetime) -> bool:
    trial = season.trial
    return bool(trial and season.draw and at >= trial.since and season.draw(trial.pk, session) < trial.share)


# --- the whole ---------------------------------------------------------------------------------------------------


def fill(
    say: Any, *, days: int = DAYS, a_day: int = SESSIONS_A_DAY, is_sandbox: bool = False, draw: Draw | None = None
) -> Any:
    """Write the season that ends now into a database without one, count its figures, and return its project.

    With ``is_sandbox`` it is a test project's, whose providers send nothing, and it has no keys and no people.
    With ``draw``, by which the service chooses a text for a session, a second text is tried against the first.
    """
    from django.db import transaction

    from verification.services.analytics import collapses, rollups

    now = datetime.now(UTC).replace(microsecond=0)
    since = now - timedelta(days=days + 1)
    with transaction.atomic():
        season = shop(now, since=since, is_sandbox=is_sandbox, draw=draw)
    weights = [country.share for country in COUNTRIES]
    midnight = now.replace(hour=0, minute=0, second=0)
    for ago in range(days, -1, -1):
        day = midnight - timedelta(days=ago)
        weekend = 0.8 if day.weekday() >= 5 else 1.0
        grown = 0.7 + 0.6 * (1 - ago / days)
        for _ in range(round(a_day * weekend * grown)):
            hour = season.chance.choices(range(24), SHARE_OF_HOURS)[0]
            at = day + timedelta(hours=hour, seconds=season.chance.uniform(0, 3_600))
            [country] = season.chance.choices(COUNTRIES, weights)
            if at < now - PATIENCE:
                verification(season, country, a_number(season, country, at), at)
        if ago == 1:
            for minute in (4, 6):
                verification(
                    season, COUNTRIES[2], known(season, UNLUCKY, day), day + timedelta(hours=12, minutes=minute)
                )
        season.write()
        if ago % 10 == 0:
            say(f"{days - ago} days written")
    spent(season.project, now)
    told(season)
    if not is_sandbox:
        season_rows.add_callers(season.project, since=since, now=now)
    season_rows.add_rows(season.project, season.recipients, now, season.chance)
    say("counting")
    rollups.recount(days=days + 1)
    collapses.watch()
    return season.project


def shop(now: datetime, *, since: datetime, is_sandbox: bool, draw: Draw | None) -> Season:
    """Make the project with its owner, channel, providers, price lists, rates, and the trial of a text.

    The providers and rules are as old as the season, which began at ``since``: stories leave younger providers out.
    """
    from verification.models import (
        Channel,
        ExchangeRate,
        MessageTemplate,
        Platform,
        Price,
        Project,
        Provider,
        RoutingRule,
        TextVariant,
    )
    from verification.services.providers import accounts, price_lists, prices

    project = Project.objects.create(name=SHOP, retention_days=365, is_sandbox=is_sandbox)
    if not is_sandbox:
        season_rows.add_people(project, OWNER, PASSWORD)
    Channel.objects.create(project=project, type="sms", daily_budget=5_000)
    Platform.objects.update_or_create(pk=1, defaults={"account_currency": "EUR"})
    for currency, rate in RATES.items():
        ExchangeRate.objects.create(currency=currency, account="EUR", rate=Decimal(rate), valid_from="2026-01-01")
    providers = {}
    for place, (name, table) in enumerate(PRICES.items()):
        row = accounts.add_provider(
            project=project,
            channel="sms",
            provider_type="sandbox" if is_sandbox else "http",
            name=name,
            values={} if is_sandbox else {"url": f"https://api.{name.lower()}.example/send", "body": BODY},
        )
        never = [code for code, only in SERVED_BY_ONE.items() if only != name]
        Provider.objects.filter(pk=row.pk).update(priority=place, except_prefixes=never, created_at=since)
        price_lists.replace(row, price_lists.read(table), number=0)
        row.refresh_from_db()
        row.book = prices.book_of(row.pk, row.price_list)  # type: ignore[attr-defined]  # kept beside the row
        providers[name] = row
    assert Price.objects.exists()
    for country in COUNTRIES:
        if has_rule(country):
            first = providers[country.order[0]]
            RoutingRule.objects.create(
                project=project, provider=first, country=country.code, percent=100, created_at=since
            )
    MessageTemplate.objects.create(
        project=project, channel="sms", language="en", text="{code} is your code for {project}. Do not share it."
    )
    trial = draw and TextVariant.objects.create(
        project=project,
        channel="sms",
        language="en",
        text="Your {project} code: {code}",
        share=50,
        since=now - timedelta(days=21),
    )
    return Season(project, providers, trial, draw, now, outages(now), random.Random(SEED))  # noqa: S311


def a_number(season: Season, country: Country, day: datetime) -> str:
    """Return a number of the country: one in three users comes back."""
    number = f"{country.prefix}{season.chance.randrange(10**country.digits // 3):0{country.digits}}"
    return known(season, number, day)


def known(season: Season, number: str, day: datetime) -> str:
    from verification.models import Recipient

    if number not in season.recipients:
        row = Recipient.objects.create(project=season.project, address=number, created_at=day)
        season.recipients[number] = row.pk
    return number


def spent(project: Any, now: datetime) -> None:
    """Count today's messages in the channel's budget, as the service does when it queues them."""
    from verification.models import DailySpend, Message

    today = Message.objects.filter(project=project, created_at__gte=now.replace(hour=0, minute=0, second=0))
    counted = today.filter(is_counted=True)
    DailySpend.objects.create(project=project, channel="sms", day=now.date(), messages=counted.count())
    counted.update(is_budgeted=True)


def told(season: Season) -> None:
    """Add what the service would have told of the outages: openings of breakers, and alerts."""
    from verification.models import Alert, BreakerOpening

    for outage in season.outages:
        if outage.is_silent:
            continue
        provider = season.providers[outage.provider]
        opened, closed = outage.since + timedelta(minutes=4), outage.until + timedelta(minutes=3)
        if not outage.country:
            BreakerOpening.objects.create(
                provider=provider, opened_at=opened, closed_at=closed, reason=f"{NO_CREDIT.capitalize()}."
            )
        Alert.objects.create(
            project=season.project,
            kind="provider",
            key=f"{provider.pk} out_of_funds {opened:%Y-%m-%d}",
            title=f"{provider.name} is out of funds",
            detail=f'The provider said: "{NO_CREDIT}". Top up the account.',
            created_at=opened,
        )
