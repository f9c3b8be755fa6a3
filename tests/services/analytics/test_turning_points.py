"""The hour since which a provider fails in a country, found in its figures."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from verification.models import HourlyFigures
from verification.services.analytics.ranges import Range
from verification.services.analytics.trends import cut, worsened

NOW = timezone.now().replace(minute=0, second=0, microsecond=0)


def hours(*shares, asked=10, chance=None):
    """One point an hour: how many of the messages arrived, exactly, or as chance has it."""
    chance = chance or random.Random(1)
    return [
        (NOW - timedelta(hours=len(shares) - place), (asked, sum(chance.random() < share for _ in range(asked))))
        for place, share in enumerate(shares)
    ]


def test_the_hour_of_a_drop_is_found_with_the_shares_around_it():
    points = hours(*[0.95] * 60, *[0.25] * 24)
    found = cut("BR", points)
    assert found.at == points[60][0]
    assert 90 <= found.before <= 100 and 15 <= found.since <= 35 and found.asked == 240


@pytest.mark.parametrize(
    "shares",
    [
        [0.95] * 84,
        [0.3] * 84,  # always bad: nothing broke
        [0.25] * 24 + [0.95] * 60,  # it got better
        [0.95] * 60 + [0.88] * 24,  # a little worse
        [],
        [0.5],
    ],
)
def test_where_nothing_broke_nothing_is_told(shares):
    assert cut("BR", hours(*shares)) is None


def test_chance_alone_makes_no_turning_point():
    chance = random.Random(2)
    assert [cut("BR", hours(*[0.8] * 168, asked=3, chance=chance)) for _ in range(200)] == [None] * 200


@pytest.mark.django_db
def test_only_the_named_projects_figures_of_this_provider_are_read(project):
    provider = project.provider("sms")
    span = Range(NOW - timedelta(days=2), NOW)
    for country, ago, arrived in [("BR", 30, 20), ("BR", 3, 2), ("DE", 30, 20), ("DE", 3, 20)]:
        for hour in range(4):
            at = NOW - timedelta(hours=ago - (hour if ago == 30 else 0) % 3)
            HourlyFigures.objects.update_or_create(
                project=project.row, hour=at, channel="sms", country=country, language="en", provider_id=provider.pk,
                is_manual=False, defaults={"attempts": 25, "messages_delivered": arrived},
            )  # fmt: skip
    found = worsened([project.id], provider.pk, span)
    assert [(each.country, each.since) for each in found] == [("BR", 8)]
    assert worsened([project.id], provider.pk, span, "DE") == []
    assert worsened([project.id], provider.pk + 1, span) == worsened([], provider.pk, span) == []
