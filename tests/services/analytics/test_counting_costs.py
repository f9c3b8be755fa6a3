"""The costs that last are those of the attempts, counted once or many times, and outlive them."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from tests import factories
from tests.services.analytics.test_counting import DAY, HOUR, add_traffic, this_hour
from verification.core.addresses import country_of
from verification.models import DailyCosts, DeliveryAttempt, HourlyCosts, Message
from verification.services.analytics import rollups
from verification.services.maintenance import retention

pytestmark = pytest.mark.django_db

KEY = ("project_id", "channel", "provider_id", "country", "language", "currency")


def add_priced_traffic(made, start, seed):
    """Traffic of every kind, with prices in two currencies and some that nobody knows."""
    add_traffic(made, start, seed)
    draw = random.Random(seed)
    for attempt in DeliveryAttempt.objects.filter(message__project=made.row, segments=None):
        if draw.random() < 0.2:
            attempt.outcome = "unknown"
        if attempt.outcome in ("accepted", "unknown"):
            attempt.segments = draw.randrange(1, 4)
            known = {"price": Decimal(draw.randrange(9_999_999)) / 10**8, "currency": draw.choice(("EUR", "UZS"))}
            for name, value in (draw.choice((known, known, {}))).items():
                setattr(attempt, name, value)
        attempt.save()


def costs_by_hand(start, length=HOUR):
    found = {}
    within = {"created_at__gte": start, "created_at__lt": start + length, "is_test": False}
    for message in Message.objects.filter(**within).select_related("recipient"):
        for attempt in message.attempts.filter(outcome__in=("accepted", "unknown")):
            key = (
                message.project_id, message.channel, attempt.provider_id or 0, country_of(message.recipient.address),
                message.language, attempt.currency or "",
            )  # fmt: skip
            told = found.setdefault(key, Counter())
            told.update(sends=1, segments=attempt.segments or 1, amount=attempt.price or Decimal(0))
    return found


def as_told(rows):
    names = ("sends", "segments", "amount")
    return {tuple(getattr(row, name) for name in KEY): Counter({n: getattr(row, n) for n in names}) for row in rows}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_costs_of_an_hour_are_exact_to_the_row(project, seed):
    hour = this_hour() - 2 * HOUR
    for made in (project, factories.project()):
        add_priced_traffic(made, hour, seed)
    rollups.count_hour(hour)
    found = as_told(HourlyCosts.objects.all())
    assert found == costs_by_hand(hour)
    assert {key[-1] for key in found} == {"", "EUR", "UZS"}


def test_to_count_again_writes_nothing_and_a_price_that_changed_is_counted_anew(project):
    hour = this_hour() - HOUR
    add_priced_traffic(project, hour, 3)
    rollups.count_hour(hour)
    versions = set(HourlyCosts.objects.extra(select={"version": "xmin::text"}).values_list("pk", "version"))
    rollups.count_hour(hour)
    assert set(HourlyCosts.objects.extra(select={"version": "xmin::text"}).values_list("pk", "version")) == versions
    DeliveryAttempt.objects.filter(currency="UZS").update(price=0, currency="GBP")
    rollups.count_hour(hour)
    assert as_told(HourlyCosts.objects.all()) == costs_by_hand(hour)


def test_a_day_costs_the_sum_of_its_hours_also_once_the_rows_are_gone(project):
    day = datetime.combine((this_hour() - 3 * DAY).date(), datetime.min.time(), UTC)
    for hour in (0, 11, 23):
        add_priced_traffic(project, day + hour * HOUR, hour)
    project.set(retention_days=1)
    Message.objects.filter(finished_at=None).update(status="failed", finished_at=day)
    rollups.recount(days=4)
    by_hand = costs_by_hand(day, DAY)
    retention.purge()
    assert not Message.objects.exists()
    rollups.recount(days=6)
    assert as_told(DailyCosts.objects.filter(day=day.date())) == by_hand != {}


def test_hours_and_days_that_are_kept_no_longer_go(project):
    fields = {"project": project.row, "channel": "sms", "provider_id": 0, "country": "DE", "language": "en", "sends": 1}
    now = this_hour()
    old = timedelta(hours=1)
    HourlyCosts.objects.create(hour=now - rollups.HOURS_KEPT - old, **fields)
    DailyCosts.objects.create(day=(now - rollups.DAYS_KEPT - DAY).date(), **fields)
    removed = rollups.purge(now)
    assert (removed["hourly_costs"], removed["daily_costs"]) == (1, 1)
