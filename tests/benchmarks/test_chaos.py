"""The judge of a run of chaos, on runs of which it is known what they broke; and the links that are cut."""

import random
import socket

import pytest

from benchmarks.chaos.callers import Answer, Created, Record, Sent
from benchmarks.chaos.gateway import Arrival, Callbacks
from benchmarks.chaos.judge import Fault, judge, judge_callbacks
from benchmarks.chaos.links import Link

TO = "+4915112345678"
UNKNOWN = Answer(404)


def arrival(at, *, message=1, manner="well", provider="one"):
    return Arrival(at, message, TO, "sms", "123456", provider, manner)


def sent(*statuses, message=1):
    return Sent(TO, message, 0.0, 1.0, list(statuses))


def broken(record, *arrivals, faults=(), told=(), read=UNKNOWN):
    callbacks = Callbacks(random.Random(1))
    for message, status in told:
        callbacks.told.setdefault(message, []).append({"status": status})
    return judge(record, arrivals, callbacks, faults, lambda _: read).broken


def session(ends_at=180.0, *, is_guessed=False):
    return Record(created=[Created(TO, "A", ends_at, 1.0, is_guessed)])


def test_what_is_accepted_and_sent_in_time_breaks_nothing():
    assert broken(session(), arrival(5)) == []
    assert broken(Record(sent=[sent("queued", "sent", "success")]), arrival(5), told=[(1, "success")]) == []


@pytest.mark.parametrize(
    ("statuses", "is_guessed", "is_lost"),
    [
        (["failed"], True, False),
        (["expired"], True, False),
        (["expired"], False, True),
        (["success"], True, True),
        (["sending"], True, True),
        ([], True, True),
    ],
)
def test_a_code_that_never_arrived_is_lost_unless_guesses_ended_its_session_first(statuses, is_guessed, is_lost):
    read = Answer(200, {"messages": [{"status": status} for status in statuses]})
    assert bool(broken(session(is_guessed=is_guessed), read=read)) is is_lost


def test_an_accepted_session_that_is_unknown_is_lost():
    assert broken(session()) == ["session A was accepted and nothing was sent: 404 []"]


def test_a_code_that_arrives_after_its_end_is_late():
    assert "arrived 20.0 s late" in broken(session(), arrival(200))[0]


@pytest.mark.parametrize(("fault", "is_broken"), [("freeze worker", False), ("kill valkey", True)])
def test_only_what_holds_a_worker_up_before_its_call_excuses_a_late_code(fault, is_broken):
    assert bool(broken(session(), arrival(200), faults=[Fault(fault, 170, 199)])) is is_broken


@pytest.mark.parametrize(
    "statuses",
    [[], ["queued", "sending"], ["sent", "queued", "success"], ["success", "failed"], ["sent", "success", "sent"]],
)
def test_a_status_that_goes_back_or_never_ends_is_broken(statuses):
    assert broken(Record(sent=[sent(*statuses)]), arrival(5))


@pytest.mark.parametrize("status", ["success", "failed", "expired"])
def test_a_message_that_no_gateway_saw_is_lost(status):
    assert broken(Record(sent=[sent(status)])) == [f"message 1 was accepted, ended as {status}, and no gateway got it"]


def test_callbacks_tell_the_final_status_and_each_is_told():
    record = Record(sent=[sent("sent", "failed")])
    assert broken(record, arrival(5), told=[(1, "success")])
    callbacks = Callbacks(random.Random(1))
    assert judge_callbacks(record, callbacks, [1]) == ["no callback told the end of message 1"]


@pytest.mark.parametrize(
    ("first", "provider", "faults", "is_broken"),
    [
        ("well", "two", [], True),
        ("hangs", "two", [], False),
        ("hangs", "one", [], True),
        ("500", "one", [], False),
        ("well", "one", [Fault("kill worker", 4, 8)], False),
        ("well", "one", [Fault("kill worker", 100, 108)], True),
        ("well", "one", [Fault("provider hangs", 4, 8)], True),
    ],
)
def test_a_second_arrival_needs_a_doubtful_answer_elsewhere_or_a_fault(first, provider, faults, is_broken):
    arrivals = arrival(5, manner=first), arrival(20, provider=provider)
    assert bool(broken(Record(sent=[sent("success")]), *arrivals, faults=faults)) is is_broken


def test_a_refusal_between_does_not_excuse_that_a_doubtful_provider_is_asked_again():
    arrivals = arrival(5, manner="hangs"), arrival(10, manner="500", provider="two"), arrival(20)
    assert len(broken(Record(sent=[sent("success")]), *arrivals)) == 1


def test_no_more_go_twice_at_a_fault_than_were_in_flight():
    pairs = [arrival(at, message=number) for number in range(17) for at in (5, 20)]
    record = Record(sent=[sent("success", message=number) for number in range(17)])
    assert broken(record, *pairs, faults=[Fault("kill worker", 4, 8)])
    assert not broken(record, *pairs[:32], *[pairs[-1]], faults=[Fault("kill worker", 4, 8)])


def test_a_burst_sends_no_more_than_the_limit():
    record = Record(bursts=[(TO, 5, 3)])
    five = [arrival(5, message=number) for number in range(5)]
    assert broken(record, *five) == []
    assert broken(record, *five, arrival(5, message=5))


def test_what_a_cut_link_was_given_flows_once_it_is_mended():
    with socket.create_server(("127.0.0.1", 0)) as listener, Link(listener.getsockname()[1]) as link:
        near = socket.create_connection(("127.0.0.1", link.port))
        far, _ = listener.accept()
        near.sendall(b"before")
        assert far.recv(10) == b"before"
        link.cut()
        near.sendall(b"within")
        far.settimeout(0.2)
        with pytest.raises(TimeoutError):
            far.recv(10)
        link.mend()
        far.settimeout(10)
        assert far.recv(10) == b"within"
        near.close()
        assert far.recv(10) == b""
        far.close()
