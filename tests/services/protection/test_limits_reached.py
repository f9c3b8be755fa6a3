"""Limits leave a trace: a line in the decision log, and what a recipient has used up on their page."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.api.calls import WRONG, problem
from verification.core import errors
from verification.models import Decision, Recipient
from verification.services.protection.limits_used import blocked_channels, limits_used
from verification.services.records import decisions
from verification.services.records.decisions import limits_reached

pytestmark = pytest.mark.django_db

TO = "+4915112345678"


def noted():
    return {row.rule: (row.subject, row.count, row.refused) for row in Decision.objects.all()}


def recipient():
    return Recipient.objects.get(address=TO)


def test_too_many_sends_are_noted_and_stand_on_the_recipients_page(api, project):
    project.set(sends_per_10_minutes=5)
    for _ in range(5):
        assert api.manual_send(TO).status_code == 200
    assert problem(api.manual_send(TO)) == (429, "too_many_sends")
    assert noted() == {"too_many_sends": ("+4915******78", 1, 1)}
    first = limits_used(recipient())[0]
    assert (first.what, first.used, first.limit, first.window) == ("codes sent", 5, 5, "10 minutes")
    assert timedelta(minutes=9) < first.free_at - timezone.now() <= timedelta(minutes=10)


def test_a_limit_that_is_not_used_up_says_how_much_is_left(api):
    api.manual_send(TO)
    assert [(each.used, each.free_at) for each in limits_used(recipient()) if each.what == "codes sent"] == [
        (1, None)
    ] * 3


def test_wrong_codes_are_noted_when_they_keep_a_code_from_going_out(api, project):
    project.set(wrong_codes_per_15_minutes=2)
    session = api.create(TO).data["session_id"]
    for _ in range(2):
        api.check(session, WRONG)
    assert problem(api.create(TO)) == (429, "too_many_attempts")
    assert noted()["too_many_attempts"] == ("+4915******78", 1, 1)
    used = [(each.used, each.limit) for each in limits_used(recipient()) if each.what == "wrong codes"]
    assert used[0] == (2, 2)


def test_wrong_codes_are_noted_when_they_keep_a_code_from_being_compared(api, project):
    project.set(wrong_codes_per_15_minutes=2)
    session = api.create(TO).data["session_id"]
    answers = [problem(api.check(session, WRONG)) for _ in range(3)]
    assert answers[-1] == (429, "too_many_attempts")
    assert noted() == {"too_many_attempts": ("+4915******78", 1, 1)}


def test_a_check_in_a_locked_session_is_noted(api):
    session = api.create(TO).data["session_id"]
    answers = [problem(api.check(session, WRONG)) for _ in range(6)]
    assert answers[-1] == (429, "too_many_attempts")
    assert noted() == {"session_locked": ("+4915******78", 1, 1)}


def test_a_send_in_a_locked_session_is_noted(api):
    session = api.create(TO).data["session_id"]
    for _ in range(5):
        api.check(session, WRONG)
    assert problem(api.send(session)) == (429, "too_many_attempts")
    assert noted() == {"session_locked": ("+4915******78", 1, 1)}


def test_the_60_seconds_are_noted_and_shown(api):
    session = api.create(TO, type="sms").data["session_id"]
    assert problem(api.send(session)) == (429, "channel_timeout")
    assert noted() == {"channel_timeout": ("+4915******78", 1, 1)}
    assert [channel for channel, _ in blocked_channels(recipient())] == ["SMS"]


def test_sessions_from_one_address_beyond_the_limit_are_noted(api, project):
    project.set(creates_per_address=1)
    for number in range(2):
        answer = api.call(
            "POST", "/session/create", {"to": f"+491511234567{number}"}, key=api.api_key, REMOTE_ADDR="198.41.0.9"
        )
    assert problem(answer) == (429, "rate_limited")
    assert noted() == {"client_address": ("198.41.0.9", 1, 1)}


def test_the_limit_of_a_second_is_noted(api, project, long_second):
    project.set(requests_per_second=1)
    answers = [api.manual_send(f"+491511234{number:04}") for number in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert noted() == {"requests_per_second": ("whole project", 1, 1)}


def test_a_flood_is_counted_in_full_and_written_now_and_then(api, project, django_assert_num_queries):
    refusal = errors.DecisionRecord(project.id, "too_many_sends", "+4915******78")
    assert limits_reached.add(refusal) == [(refusal, 1)]
    with django_assert_num_queries(0):
        for _ in range(999):
            assert limits_reached.add(refusal) == []
    limits_reached.due_at = 0.0
    assert limits_reached.add(refusal) == [(refusal, 1000)]


def test_a_flood_over_many_recipients_writes_a_bounded_number_of_lines(project):
    limits_reached.due_at = float("inf")
    for number in range(200):
        limits_reached.add(errors.DecisionRecord(project.id, "too_many_sends", f"+4915******{number}"))
    limits_reached.due_at = 0.0
    due = limits_reached.add(errors.DecisionRecord(project.id, "too_many_sends", "+4915******0"))
    assert len(due) <= limits_reached.SUBJECTS_AT_ONCE + 1
    assert sum(times for _, times in due) == 201


def test_what_was_counted_is_written_in_one_go(project):
    decisions.record(project_id=project.id, rule="too_many_sends", subject="+4915******78", figures={}, times=3)
    decisions.record(project_id=project.id, rule="too_many_sends", subject="+4915******78", figures={}, times=2)
    assert noted() == {"too_many_sends": ("+4915******78", 5, 5)}
