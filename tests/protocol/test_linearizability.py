"""The checker itself, on histories whose verdict is known: a register, a token, and a session of ours."""

import math

import pytest

from tests.protocol import model
from tests.protocol.linearizability import Timed, explain
from tests.protocol.model import Call, State

TO = "+4915112345678"


def register(state, call):
    """Yield the state after a write, or after a read that saw what was written."""
    if call.name == "write":
        yield call.given["value"]
    elif call.body["value"] == state:
        yield state


def write(start, end, value, *, is_certain=True):
    return Timed(start, end, Call("write", {"value": value}, 200, {}), is_certain)


def read(start, end, value):
    return Timed(start, end, Call("read", {}, 200, {"value": value}))


@pytest.mark.parametrize(
    ("history", "is_linearizable"),
    [
        ([write(0, 1, "a"), read(2, 3, "a")], True),
        ([write(0, 1, "a"), read(2, 3, "b")], False),
        ([write(0, 9, "a"), read(1, 2, "a"), read(3, 4, "a")], True),
        ([write(0, 9, "a"), read(1, 2, "a"), read(3, 4, "")], False),  # a value once read is not unread
        ([write(0, 9, "a"), write(0, 9, "b"), read(1, 2, "b"), read(3, 4, "a"), read(5, 6, "a")], True),
        ([write(0, 9, "a"), write(0, 9, "b"), read(1, 2, "b"), read(3, 4, "a"), read(5, 6, "b")], False),
        ([write(0, math.inf, "a", is_certain=False), read(1, 2, ""), read(3, 4, "a")], True),
        ([write(0, math.inf, "a", is_certain=False), read(1, 2, "")], True),
        ([write(0, math.inf, "a", is_certain=False), read(1, 2, "b")], False),
    ],
)
def test_a_register_is_judged_as_in_the_literature(history, is_linearizable):
    assert explain(history, "", register).is_explained is is_linearizable


@pytest.mark.parametrize("calls", [1, 8])
def test_the_search_stays_short_where_many_calls_overlap(calls):
    history = [write(0, 9, "a") for _ in range(calls)] + [read(0, 9, "a") for _ in range(calls)] + [read(10, 11, "b")]
    verdict = explain(history, "", register)
    assert not verdict.is_explained
    assert verdict.visited <= 2 ** (2 * calls + 1)


SHOWN = [{"type": "sms", "timeout": 60}, {"type": "voice", "timeout": 0}]
OPENED = {"session_id": "A", "expires_in": 180, "sent_to": "sms", "channels": SHOWN}
FIRST = State(TO, ("sms", "voice"))


def create(start, end, **told):
    return Timed(start, end, Call("create", {"to": TO, "type": "sms"}, 200, {**OPENED, **told}))


def check(start, end, typed, status=400, **body):
    told = {"code": "invalid_code", **body} if status == 400 else body
    return Timed(start, end, Call("check", {"session_id": "A", "code": typed}, status, told))


def verify(start, end, token, status, **body):
    return Timed(start, end, Call("verify", {"verify_token": token}, status, body))


RIGHT = {"verify_token": "T", "is_test": False}
VERIFIED = {"code": "session_verified"}
USED = {"code": "verify_token_expired"}


@pytest.mark.parametrize(
    ("history", "is_explained"),
    [
        ([create(0, 1), create(0, 1)], True),
        ([create(0, 1), create(0, 1, session_id="B")], False),
        ([create(0, 1), check(2, 3, "1", attempts_left=4), check(2, 3, "2", attempts_left=3)], True),
        ([create(0, 1), check(2, 3, "1", attempts_left=4), check(2, 3, "2", attempts_left=4)], False),
        ([create(0, 1), check(2, 3, "7", 200, **RIGHT), check(2, 3, "7", 409, **VERIFIED)], True),
        ([create(0, 1), check(2, 3, "7", 200, **RIGHT), check(2, 3, "7", 200, **RIGHT | {"verify_token": "U"})], False),
        ([create(0, 1), check(2, 3, "7", 200, **RIGHT), check(4, 5, "8", attempts_left=4)], False),
        ([create(0, 1), check(2, 3, "8", attempts_left=4), check(4, 5, "8", 200, **RIGHT)], False),
        (
            [
                create(0, 1),
                check(2, 3, "7", 200, **RIGHT),
                verify(4, 5, "T", 200, phone=TO),
                verify(4, 5, "T", 410, **USED),
            ],
            True,
        ),
        (
            [
                create(0, 1),
                check(2, 3, "7", 200, **RIGHT),
                verify(4, 5, "T", 200, phone=TO),
                verify(4, 5, "T", 200, phone=TO),
            ],
            False,
        ),
        ([create(0, 1), check(2, 3, "7", 200, **RIGHT), verify(4, 5, "T", 200, phone="+4915112345679")], False),
    ],
)
def test_a_session_is_judged_by_the_model(history, is_explained):
    assert explain(history, FIRST, model.after).is_explained is is_explained


def test_a_failed_search_tells_how_far_it_came():
    verdict = explain([create(0, 1), check(2, 3, "1", attempts_left=2)], FIRST, model.after)
    assert [call.name for call in verdict.order] == ["create"]
