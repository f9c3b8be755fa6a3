"""Our own challenge, solved by the real library."""

import base64
import json
import time

import altcha as library
import pytest

from providers.challenges import altcha

KEY = b"k" * 32
PROJECT = "0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4"
CHEAP = 10  # iterations


def make(**changes):
    return altcha.make_puzzle(**{"project": PROJECT, "cost": CHEAP, "key": KEY, **changes})


def solve(puzzle, **changes):
    """The answer that a widget makes; ``changes`` are forged into the parameters."""
    challenge = library.Challenge.from_dict(puzzle)
    solution = library.solve_challenge(challenge)
    answer = library.Payload(challenge, solution).to_dict()
    answer["challenge"]["parameters"].update(changes)
    return base64.b64encode(json.dumps(answer).encode()).decode()


def read(token, **changes):
    return altcha.read_answer(token, **{"project": PROJECT, "key": KEY, **changes})


def test_a_solved_puzzle_is_known_by_its_signature():
    puzzle = make()
    assert read(solve(puzzle)) == altcha.Solved(puzzle["signature"])


def test_a_puzzle_is_signed_and_ends_after_two_minutes():
    puzzle = make()
    assert len(puzzle["signature"]) == 64
    assert 118 <= puzzle["parameters"]["expiresAt"] - time.time() <= 120
    assert puzzle["parameters"]["cost"] == CHEAP


def test_another_writing_of_an_answer_is_the_same_puzzle():
    token = solve(make())
    rewritten = base64.b64encode(json.dumps(json.loads(base64.b64decode(token)), indent=3).encode()).decode()
    assert rewritten != token
    assert read(rewritten) == read(token)


@pytest.mark.parametrize(
    "forged",
    [{"data": {"project": "another"}}, {"cost": 1}, {"keyPrefix": ""}, {"expiresAt": None}, {"expiresAt": 2**40}],
)
def test_a_forged_puzzle_is_refused(forged):
    assert read(solve(make(), **forged)) is None


@pytest.mark.requirement(58)
def test_the_puzzle_of_another_project_is_refused():
    assert read(solve(make(project="another"))) is None


def test_a_puzzle_signed_by_another_key_is_refused():
    assert read(solve(make(key=b"x" * 32))) is None


def test_an_expired_puzzle_is_refused(monkeypatch):
    token = solve(make())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 122)
    assert read(token) is None


def test_a_wrong_solution_is_refused():
    answer = json.loads(base64.b64decode(solve(make())))
    answer["solution"]["counter"] += 1
    assert read(base64.b64encode(json.dumps(answer).encode()).decode()) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "ä",
        base64.b64encode(b'{"challenge":null,"solution":null,"test":true}').decode(),
        base64.b64encode(b'{"algorithm":"SHA-256","challenge":"00","number":1,"salt":"x","signature":"y"}').decode(),
        base64.b64encode(b'{"challenge":{"parameters":[]},"solution":{}}').decode(),
        base64.b64encode(b"[" * 6000).decode(),
        "A" * 10_000,
    ],
)
def test_nonsense_is_refused(text):
    assert read(text) is None


def test_without_a_key_nothing_is_handed_out_or_taken():
    with pytest.raises(ValueError):
        make(key=b"")
    with pytest.raises(ValueError):
        read("x", key=b"")
