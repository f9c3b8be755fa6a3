"""The share of a worker's threads that one project may hold, and what a claim makes of it."""

from types import SimpleNamespace

import pytest

from tests import clock, factories
from tests.api.calls import Api
from tests.live import at_once
from verification import sql
from verification.models import Message
from verification.services.delivery import dispatch, fairness
from verification.services.delivery.fairness import SHARED_SECONDS, SLOW_FOR_SECONDS, SLOW_SECONDS, Shares, share_of
from verification.sql.rows import ClaimedMessage

A, B, C, D = 1, 2, 3, 4


class Backlog:
    """Due messages of projects, the next first."""

    def __init__(self, *projects):
        self.due = [SimpleNamespace(project_id=project) for project in projects]

    def take(self, allowed):
        limit, full, others_only = allowed
        taken = [row for row in self.due if row.project_id not in full]
        if not others_only:
            taken += [row for row in self.due if row.project_id in full]
        for row in taken[:limit]:
            self.due.remove(row)
        return taken[:limit]


def claim(shared, backlog, limit=100):
    return [row.project_id for row in shared.claim(limit, backlog.take)]


@pytest.fixture
def shared():
    """Four threads, of which one project may hold three. Both projects were delivered for just now."""
    return several(Shares(4))


def several(made):
    for row in made.claim(2, Backlog(A, B).take):
        made.end(row)
    return made


@pytest.mark.parametrize(
    ("threads", "share"), [(1, 1), (2, 1), (3, 2), (4, 3), (7, 5), (8, 6), (11, 8), (16, 12), (64, 48)]
)
def test_a_quarter_of_the_threads_is_out_of_one_projects_reach(threads, share):
    assert share_of(threads) == share


def test_a_single_project_gets_all_threads():
    assert claim(Shares(4), Backlog(*[A] * 5), limit=4) == [A] * 4


def test_where_no_threads_are_known_there_are_no_shares():
    everybodys = Shares()
    claim(everybodys, Backlog(A, B))
    assert claim(everybodys, Backlog(*[A] * 50)) == [A] * 50


def test_where_no_threads_are_known_a_slow_project_gets_all_it_asks_for():
    everybodys = several(Shares())
    everybodys.projects.note_slow(A)
    assert claim(everybodys, Backlog(*[A] * 50)) == [A] * 50


def test_a_project_that_holds_its_share_is_left_out(shared):
    assert claim(shared, Backlog(A, A, A, A, A)) == [A, A, A]
    assert claim(shared, Backlog(A, B, A)) == [B]


def test_a_project_without_neighbours_for_a_while_has_all_threads_again(shared, monkeypatch):
    now = fairness.time.monotonic() + SHARED_SECONDS
    monkeypatch.setattr(fairness, "time", SimpleNamespace(monotonic=lambda: now))
    assert claim(shared, Backlog(*[A] * 5), limit=4) == [A] * 4


def test_a_neighbour_unheard_of_comes_before_a_project_that_holds_its_share():
    lone = Shares(4)
    claim(lone, Backlog(*[A] * 3))
    assert claim(lone, Backlog(A, B), limit=1) == [B]


def test_of_many_projects_the_last_two_count(shared):
    for project in range(3, 9):
        [row] = shared.claim(1, Backlog(project).take)
        shared.end(row)
    assert claim(shared, Backlog(A, A, A, A)) == [A, A, A]


@pytest.mark.requirement(14)
def test_claims_at_the_same_time_do_not_exceed_the_share(shared):
    backlog = Backlog(*[A] * 16)
    assert sum(len(claimed) for claimed in at_once(16, lambda _: claim(shared, backlog, limit=1))) == 3


def test_what_one_project_may_hold_is_measured_by_what_the_others_leave():
    shared = several(Shares(16))
    assert [len(claim(shared, Backlog(*[project] * 50))) for project in (A, B, C, D)] == [12, 3, 1, 0]


def test_a_project_takes_its_first_thread_wherever_one_is_free(shared):
    assert claim(shared, Backlog(*[A] * 5)) == [A] * 3
    assert claim(shared, Backlog(*[B] * 5)) == [B]


def test_without_a_free_thread_nobody_is_asked(shared):
    claim(shared, Backlog(A, A, A, B))
    assert shared.claim(1, lambda _: pytest.fail("asked")) == []


@pytest.fixture
def passing(monkeypatch):
    """Lets time pass for the shares."""
    now = SimpleNamespace(seconds=fairness.time.monotonic())
    monkeypatch.setattr(fairness, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def be_slow(shared, passing, *projects):
    for project in projects:
        [row] = shared.claim(1, Backlog(project).take)
        passing.seconds += SLOW_SECONDS + 0.1
        shared.end(row)


@pytest.mark.requirement(14)
def test_however_many_projects_are_slow_they_leave_half_of_the_threads(passing):
    shared = several(Shares(8))
    be_slow(shared, passing, *range(10, 20))
    assert len(claim(shared, Backlog(*range(10, 20), *range(10, 20)))) == 4
    assert claim(shared, Backlog(10, A, A, A, A)) == [A, A, A]


def test_a_delivery_that_takes_too_long_makes_its_project_slow_before_it_ends(passing):
    shared = several(Shares(8))
    assert claim(shared, Backlog(*[A] * 4)) == [A] * 4
    passing.seconds += SLOW_SECONDS + 0.1
    assert claim(shared, Backlog(A, B)) == [B]


def test_a_project_is_quick_again_after_a_minute(passing):
    shared = several(Shares(8))
    be_slow(shared, passing, A)
    assert claim(shared, Backlog(*[A] * 9)) == [A] * 4
    passing.seconds += SLOW_FOR_SECONDS
    other = several(Shares(8, shared.projects))
    assert claim(other, Backlog(*[A] * 9)) == [A] * 6


def test_the_sweep_knows_who_is_slow_at_the_woken_threads(passing):
    woken = several(Shares(8))
    be_slow(woken, passing, A)
    assert claim(Shares(8, woken.projects), Backlog(*[A] * 9)) == [A] * 4


def test_a_single_slow_project_has_all_threads(passing):
    lone = Shares(4)
    be_slow(lone, passing, A)
    assert claim(lone, Backlog(*[A] * 5), limit=4) == [A] * 4


def test_what_was_claimed_before_the_database_went_away_is_not_lost(shared):
    answers = iter([Backlog(A, A, A).due])
    assert [row.project_id for row in shared.claim(5, lambda _: next(answers))] == [A, A, A]
    with pytest.raises(StopIteration):
        shared.claim(1, lambda _: next(answers))


def test_who_ends_a_delivery_learns_that_others_may_wait(shared):
    backlog = Backlog(A, A, A, A)
    first, *_ = shared.claim(3, backlog.take)
    claim(shared, backlog)  # the wake-up of the fourth, in vain
    assert shared.end(first) is True
    second, *_ = shared.claim(1, backlog.take)
    assert shared.end(second) is True
    assert shared.claim(1, backlog.take) == []  # nothing is left, and nobody was left out
    (third,) = shared.claim(1, Backlog(B).take)
    assert shared.end(third) is False


def test_a_place_that_becomes_free_while_others_are_claimed_is_not_overlooked(shared):
    """Else who is left out, after the last delivery has asked whether somebody waits, would wait for the sweep."""
    ending, *_ = shared.claim(3, Backlog(A, A, A).take)
    ends = iter([ending])
    backlog = Backlog(A)

    def take(allowed):
        taken = backlog.take(allowed)
        assert not any(shared.end(message) for message in ends)  # nobody waits yet, as far as it knows
        return taken

    assert [row.project_id for row in shared.claim(1, take)] == [A]


# --- the claim's statement ------------------------------------------------------------------------------------------


@pytest.fixture
def other(project, client):
    made = factories.project()
    return SimpleNamespace(id=made.id, api=Api(client, made.api_key, made.secret_key))


_numbers = iter(range(1000, 10_000))


def send(api):
    return api.manual_send(to=f"+491511234{next(_numbers)}").data["message_id"]


def backlog_of(message_id, count):
    """So many more like it, a little fresher."""
    row = Message.objects.get(pk=message_id)
    Message.objects.bulk_create(
        Message(
            **{
                field.attname: getattr(row, field.attname)
                for field in Message._meta.concrete_fields
                if field.attname not in {"id", "created_at", "due_at"}
            },
            id=row.pk + number + 1,
        )
        for number in range(count)
    )


def taken(message=None, *, full=(), others_only=None, limit=1, is_connected=False):
    rows = sql.call_many(
        ClaimedMessage,
        "claim_messages",
        message=message,
        limit=limit,
        lease_seconds=30,
        idle_seconds=0,
        is_connected=is_connected,
        full_projects=[made.id for made in full],
        others_only=bool(full) if others_only is None else others_only,
    )
    return [row.id for row in rows]


def test_neither_its_wake_up_nor_the_sweep_takes_a_message_that_is_left_out(project, api):
    message_id = send(api)
    assert taken(message_id, full=[project]) == taken(full=[project]) == []
    assert Message.objects.get().status == "queued"
    assert taken(message_id) == [message_id]


def test_a_wake_up_in_vain_takes_another_projects_message(project, api, other):
    theirs = send(other.api)
    clock.forward(1)
    assert taken(send(api), full=[project]) == [theirs]


def test_without_another_project_a_full_one_goes_on(project, api, other):
    older, newer = send(api), send(api)
    theirs = send(other.api)
    clock.forward(60)
    assert [taken(older, full=[project], others_only=False) for _ in range(3)] == [[theirs], [newer], [older]]


def test_the_sweep_passes_over_a_full_project(project, api, other):
    theirs = {send(other.api), send(other.api)}
    send(api)
    assert set(taken(full=[project], limit=10)) == theirs


@pytest.mark.requirement(14)
def test_behind_a_long_backlog_a_message_is_taken_by_its_wake_up_and_by_the_sweep(project, api, other):
    first, second = send(other.api), send(other.api)
    clock.forward(60)
    last = send(api)
    backlog_of(last, 100)
    assert taken(last, full=[project]) == []
    assert taken(first, full=[project]) == [first]
    assert taken(full=[project]) == [second]


def test_a_message_handed_over_is_left_out_too_and_then_taken_as_the_freshest(project, api):
    message_id = send(api)
    [row] = dispatch.claim_due(limit=1, idle_seconds=0)
    sql.call("hand_over", message=row.id, claims=row.claims, seconds=2.0)
    assert taken(message_id, full=[project], is_connected=True) == []
    assert taken(message_id + 1) == []
    assert taken(message_id + 1, is_connected=True) == [message_id]


def test_what_was_passed_over_is_delivered_by_the_thread_that_gets_free(project, api, other, outbox, monkeypatch):
    lane = Shares(2)
    monkeypatch.setattr(dispatch, "_shares", lane)
    assert dispatch.deliver(send(other.api))
    first = send(api)
    [row] = dispatch.claim_due(limit=1, idle_seconds=0, shares=lane)
    second, third = send(api), send(api)
    assert dispatch.deliver(second) is False and dispatch.deliver(third) is False
    dispatch.deliver_claimed(row, lane)
    assert [message.id for message in outbox.messages][1:] == [first, third, second]
