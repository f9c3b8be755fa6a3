"""When what an alert tells of was over: as the pause, the figures or the balance show, or nobody knows."""

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from tests import factories
from verification.models import Alert, BreakerOpening, HourlyFaults, HourlyFigures, VendorBalance
from verification.models.alerts import COLLAPSE
from verification.services.analytics.alert_ends import AlertEnd, end_of

pytestmark = pytest.mark.django_db

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def provider(db):
    return factories.project(channels=()).provider("sms", name="Bluebird")


def alert(provider, *, kind="provider", key="out_of_funds 2026-11-24", ago=DAY, **values):
    return Alert.objects.create(
        project=provider.project, kind=kind, key=f"{provider.pk} {key}", created_at=timezone.now() - ago, **values
    )


def hour(ago):
    return timezone.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0) - ago


def refused(provider, ago, country="BR"):
    HourlyFaults.objects.create(
        project=provider.project, hour=hour(ago), provider_id=provider.pk, country=country, outcome="out_of_funds",
        calls=3,
    )  # fmt: skip


def accepted(provider, ago, country="BR"):
    HourlyFigures.objects.create(
        project=provider.project, hour=hour(ago), channel="sms", provider_id=provider.pk, country=country,
        language="en", is_manual=False, messages_accepted=5,
    )  # fmt: skip


def test_a_collapse_ends_with_its_alert(provider):
    now = timezone.now()
    assert end_of(alert(provider, kind=COLLAPSE, key="BR 2026-11-24T10:00")) == AlertEnd(None)
    assert end_of(alert(provider, kind=COLLAPSE, key="IN 2026-11-24T10:00", ended_at=now)) == AlertEnd(now)


def test_a_refusal_ends_with_the_pause_that_followed(provider):
    told = alert(provider)
    opening = BreakerOpening.objects.create(provider=provider, opened_at=told.created_at + timedelta(minutes=4))
    assert end_of(told) == AlertEnd(None)
    BreakerOpening.objects.filter(pk=opening.pk).update(closed_at=told.created_at + HOUR)
    assert end_of(told) == AlertEnd(told.created_at + HOUR)


def test_a_refusal_without_a_pause_ends_in_the_first_hour_that_has_none_and_accepts(provider):
    told = alert(provider)
    refused(provider, 24 * HOUR)
    refused(provider, 23 * HOUR)
    accepted(provider, 23 * HOUR)
    accepted(provider, 22 * HOUR, country="DE")
    assert end_of(told) is None, "nobody has tried it there since"
    accepted(provider, 20 * HOUR)
    assert end_of(told) == AlertEnd(hour(20 * HOUR))


def test_a_refusal_of_just_now_lasts(provider):
    told = alert(provider, ago=HOUR)
    refused(provider, HOUR)
    assert end_of(told) == AlertEnd(None)


def test_nobody_knows_the_end_of_single_refusals(provider):
    assert end_of(alert(provider, key="declined 2026-11-24", ago=timedelta(minutes=1))) is None


def test_a_balance_is_low_until_the_next_top_up(provider):
    told = alert(provider, kind="balance", key="")
    today = timezone.now().date()
    for ago, amount in ((3, 20), (2, 10)):
        VendorBalance.objects.create(provider=provider, day=today - ago * DAY, amount=Decimal(amount), unit="EUR")
    assert end_of(told) == AlertEnd(None)
    VendorBalance.objects.create(provider=provider, day=today, amount=Decimal(50), unit="EUR")
    assert end_of(told) == AlertEnd(datetime.combine(today, time.min, UTC))
