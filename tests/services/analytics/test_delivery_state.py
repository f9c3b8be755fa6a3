"""The state line's figures: what is going out, what waits, what is lost."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import factories
from verification.models import DeliveryAttempt, Message, Recipient
from verification.services.analytics.delivery_state import LATELY, LATELY_MAX, state_of

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def messages(project, number, ago, status="success", *, channel="sms", claims=1, **fields):
    """``number`` messages that were created ``ago`` and ended a minute later."""
    created = timezone.now() - ago
    recipient, _ = Recipient.objects.get_or_create(project=project.row, address="+4915112345678")
    is_final = status in ("success", "failed", "expired")
    return Message.objects.bulk_create(
        factories.message(
            recipient,
            channel=channel,
            status=status,
            claims=claims,
            created_at=created,
            **{
                "expires_at": created + 3 * MINUTE,
                "sent_at": created + MINUTE if status in ("sent", "success") else None,
                "finished_at": created + MINUTE if is_final else None,
                **fields,
            },
        )
        for _ in range(number)
    )


def state(project):
    return state_of([project.id])


def test_messages_accepted_lately_are_going_out(project):
    messages(project, 9, 5 * MINUTE)
    messages(project, 1, 5 * MINUTE, "failed")
    (sms,) = state(project).channels
    assert (sms.accepted, sms.lost, sms.percent, sms.is_good) == (9, 1, 90, True)


def test_a_day_of_failure_is_no_good_state(project):
    messages(project, 1, timedelta(hours=23))
    messages(project, 40, timedelta(hours=2), "queued", claims=0)
    messages(project, 30, 20 * MINUTE, "failed")
    found = state(project)
    assert (found.waiting, found.untaken, found.accepted) == (40, 40, 0)


def test_without_a_worker_messages_wait_on_after_their_time(project):
    messages(project, 2, timedelta(hours=20), "queued", claims=0)
    assert state(project).untaken == 2
    assert not state(project).is_quiet


def test_what_waits_for_a_second_try_is_not_without_a_worker(project):
    messages(project, 1, 2 * MINUTE, "sending")
    assert (state(project).waiting, state(project).untaken) == (1, 0)


def test_codes_that_ran_out_of_time_are_no_good_state(project):
    messages(project, 99, 5 * MINUTE)
    messages(project, 1, timedelta(hours=2), "expired", finished_at=timezone.now())
    (sms,) = state(project).channels
    assert (sms.percent, sms.expired, sms.is_good) == (99, 1, False)


def test_a_receipt_that_did_not_come_is_no_message_that_nobody_took(project):
    messages(project, 1, 5 * MINUTE, "expired", sent_at=timezone.now() - 4 * MINUTE)
    assert state(project).channels[0].lost == 0


def test_a_wrong_number_does_not_count_against_the_channel(project):
    (refused,) = messages(project, 1, 5 * MINUTE, "failed")
    DeliveryAttempt.objects.create(message=refused, outcome="refused", latency_ms=1)
    assert state(project).channels == ()


def test_each_channel_has_a_state_of_its_own(project):
    messages(project, 50, 5 * MINUTE, channel="email")
    messages(project, 2, 5 * MINUTE, "failed")
    email, sms = state(project).channels
    assert (email.is_good, sms.is_poor) == (True, True)


def test_where_messages_are_rare_the_look_goes_further_back(project):
    for hours in (5, 4, 3, 2, 1):
        messages(project, 1, timedelta(hours=hours))
    found = state(project)
    assert (found.lately, found.accepted) == (LATELY_MAX, 3)


def test_a_usual_pause_between_messages_is_quiet_no_longer_than_that(project):
    for minutes in (200, 180, 160):
        messages(project, 1, minutes * MINUTE)
    found = state(project)
    assert found.is_quiet
    assert timedelta() <= found.lately - 60 * MINUTE < MINUTE  # three times 20 minutes, and what inserting took


def test_nothing_is_quiet_and_counts_no_test_login(project):
    messages(project, 3, MINUTE, is_test=True)
    found = state(project)
    assert (found.is_quiet, found.lately, found.last_accepted) == (True, LATELY, None)
