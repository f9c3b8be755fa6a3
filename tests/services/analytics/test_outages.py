"""Alerts on channels over which nothing gets out, from the first lost messages to the first accepted one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from providers.base import Outcome
from providers.errors import ProviderError
from tests import factories
from tests.live import at_once
from verification.models import Alert, Message
from verification.services.analytics import outages
from verification.worker.schedule import pollers

pytestmark = pytest.mark.django_db


def number(last):
    return f"+49151222{last:05}"


def lose(api, outbox, count, *, start=0, channel="sms"):
    """Messages that their provider refuses for a fault of ours."""
    for last in range(start, start + count):
        outbox.answer(f"{channel} first", ProviderError("The sender is not registered.", Outcome.MISCONFIGURED))
        assert api.create(number(last), type=channel).status_code == 200
        outbox.deliver()


def accept(api, outbox, last, **fields):
    assert api.create(number(last), **{"type": "sms", **fields}).status_code == 200
    outbox.deliver()


def alerts(kind="channel_down"):
    return list(Alert.objects.filter(kind=kind).order_by("pk"))


def test_a_channel_over_which_nothing_gets_out_is_told_once(api, outbox, project):
    lose(api, outbox, 3)
    outages.watch()
    outages.watch()
    (alert,) = alerts()
    assert (alert.project, alert.title) == (project.row, "SMS is down: no messages are being accepted")
    assert "3 messages were lost" in alert.detail
    assert "The sender is not registered." in alert.detail


def test_a_channel_that_fails_keeps_no_other_from_being_told(api, outbox):
    lose(api, outbox, 3)
    lose(api, outbox, 3, start=3, channel="voice")
    Message.objects.filter(channel="voice").update(channel="pigeon")  # of a version that knows more channels
    outages.watch()
    assert [alert.key for alert in alerts()] == ["sms"]


def test_an_outage_whose_end_cannot_be_told_keeps_no_other_from_its_end(api, outbox, monkeypatch):
    lose(api, outbox, 3)
    outages.watch()
    accept(api, outbox, 99)
    raise_alert, failures = outages.alerts.raise_alert, iter([RuntimeError()])
    other = factories.project(channels=("sms",))
    Alert.objects.create(
        project=other.row, kind="channel_down", key="sms", created_at=timezone.now() - timedelta(days=2)
    )

    def raise_or_fail(**fields):
        for failure in failures:
            raise failure
        raise_alert(**fields)

    monkeypatch.setattr(outages.alerts, "raise_alert", raise_or_fail)
    outages.watch()
    assert [alert.project for alert in alerts() if alert.ended_at] == [other.row]
    outages.watch()
    assert [alert.title for alert in alerts("channel_up")] == ["SMS works again"]


def test_fewer_lost_messages_are_not_told(api, outbox):
    lose(api, outbox, 2)
    outages.watch()
    assert alerts() == []


def test_a_message_that_is_accepted_keeps_the_channel_from_being_told(api, outbox):
    accept(api, outbox, 99)
    lose(api, outbox, 3)
    outages.watch()
    assert alerts() == []


def test_another_channel_that_works_does_not(api, outbox):
    accept(api, outbox, 99, type="voice")
    lose(api, outbox, 3)
    outages.watch()
    assert [alert.key for alert in alerts()] == ["sms"]


def test_wrong_numbers_are_no_outage(api, outbox):
    for last in range(3):
        outbox.answer("sms first", ProviderError("There is no such number.", Outcome.REFUSED))
        assert api.create(number(last), type="sms").status_code == 200
        assert outbox.messages == []
    outages.watch()
    assert alerts() == []


def test_the_owner_is_told_that_it_works_again(api, outbox):
    lose(api, outbox, 3)
    outages.watch()
    accept(api, outbox, 99)
    outages.watch()
    outages.watch()
    (over,) = alerts("channel_up")
    assert over.title == "SMS works again"
    assert alerts()[0].ended_at is not None


def test_the_next_outage_is_told_anew(api, outbox):
    lose(api, outbox, 3)
    outages.watch()
    accept(api, outbox, 99)
    outages.watch()
    later = timezone.now() - timedelta(minutes=4)
    Message.objects.filter(sent_at__isnull=False).update(created_at=later, sent_at=later, finished_at=later)
    lose(api, outbox, 3, start=10)
    outages.watch()
    assert [alert.ended_at is None for alert in alerts()] == [False, True]


def test_an_outage_that_lasts_is_told_again_after_a_day(api, outbox):
    lose(api, outbox, 3)
    outages.watch()
    Alert.objects.update(created_at=timezone.now() - timedelta(days=1, minutes=1))
    outages.watch()
    assert [alert.ended_at is None for alert in alerts()] == [False, True]
    assert alerts("channel_up") == []


@pytest.mark.django_db(transaction=True)
def test_workers_that_look_at_once_tell_once(api, outbox):
    def look(_):
        try:
            outages.watch()
        finally:
            connection.close()

    lose(api, outbox, 3)
    assert at_once(4, look) == [None] * 4
    assert len(alerts()) == 1
    accept(api, outbox, 99)
    assert at_once(4, look) == [None] * 4
    assert len(alerts("channel_up")) == 1


def test_the_workers_upkeep_looks_now_and_then():
    upkeep = next(poller.before_round for poller in pollers(None, None, None) if poller.name == "the upkeep")
    assert outages.watch in [job.work for job in upkeep.jobs]
