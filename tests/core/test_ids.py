"""Ids and tokens cannot be guessed, counted or mistyped."""

import string
import uuid

import pytest

from verification.core import ids


def random_part(session_id):
    number = 0
    for character in session_id[10:]:
        number = number << 5 | ids.CROCKFORD.index(character)
    return number


def test_a_session_id_is_a_ulid():
    assert all(ids.is_session_id(ids.generate_session_id()) for _ in range(1_000))


def test_session_ids_are_unique():
    assert len({ids.generate_session_id() for _ in range(50_000)}) == 50_000


@pytest.mark.requirement(42)
def test_one_session_id_does_not_tell_the_next():
    parts = [random_part(ids.generate_session_id()) for _ in range(2_000)]
    steps = [second - first for first, second in zip(parts, parts[1:], strict=False)]
    assert 800 < sum(step > 0 for step in steps) < 1_200
    assert min(abs(step) for step in steps) > 2**50


def test_the_first_part_of_a_session_id_is_its_time(monkeypatch):
    monkeypatch.setattr(ids.time, "time_ns", lambda: 1_469_918_176_385 * 1_000_000)
    assert ids.generate_session_id().startswith("01ARYZ6S41")


@pytest.mark.requirement(42)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "01ARZ3NDEKTSV4RRFFQ69G5FA",
        "01ARZ3NDEKTSV4RRFFQ69G5FAVV",
        "01arz3ndektsv4rrffq69g5fav",
        "81ARZ3NDEKTSV4RRFFQ69G5FAV",
        "01ARZ3NDEKTSV4RRFFQ69G5FAI",
        "01ARZ3NDEKTSV4RRFFQ69G5FAL",
        "01ARZ3NDEKTSV4RRFFQ69G5FAO",
        "01ARZ3NDEKTSV4RRFFQ69G5FAU",
        "01ARZ3NDEKTSV4RRFFQ69G5FA\n",
        "０1ARZ3NDEKTSV4RRFFQ69G5FAV",
    ],
)
def test_a_ulid_has_one_writing(text):
    assert not ids.is_session_id(text)


@pytest.mark.requirement(13)
def test_message_ids_are_random_and_fit_every_json_reader():
    drawn = [ids.generate_message_id() for _ in range(5_000)]
    assert len(set(drawn)) == 5_000
    assert all(0 < message_id < 2**53 for message_id in drawn)
    assert max(drawn) > 2**52


@pytest.mark.requirement(37)
def test_verify_tokens_are_random_uuids():
    tokens = {ids.generate_verify_token() for _ in range(5_000)}
    assert len(tokens) == 5_000
    assert {uuid.UUID(token).version for token in tokens} == {4}


def test_a_link_payload_fits_a_deep_link():
    payloads = {ids.generate_link_payload() for _ in range(5_000)}
    assert len(payloads) == 5_000
    assert all(
        len(payload) <= 64 and set(payload) <= set(string.ascii_letters + string.digits + "_-") for payload in payloads
    )
