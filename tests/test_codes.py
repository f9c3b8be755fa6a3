"""What is drawn at random."""

import string
import uuid
from collections import Counter

import pytest

from verification import codes

DRAWN = 200_000
by_one_process = pytest.mark.xdist_group("drawn codes")  # so that they are drawn once
CHI_SQUARE_9 = 39.3  # exceeded by chance once in 100,000 tests with 9 degrees of freedom
CHI_SQUARE_30 = 81.5  # the same with 30


def deviation(characters, alphabet):
    """Pearson's chi-square against equal shares."""
    counted = Counter(characters)
    expected = sum(counted.values()) / len(alphabet)
    return sum((counted[character] - expected) ** 2 / expected for character in alphabet)


@pytest.fixture(scope="module")
def drawn():
    return [codes.generate_code(6) for _ in range(DRAWN)]


@by_one_process
@pytest.mark.parametrize("position", range(6))
def test_every_digit_is_equally_likely_at_every_position(drawn, position):
    column = [code[position] for code in drawn]
    assert set(column) == set(string.digits)
    assert deviation(column, string.digits) < CHI_SQUARE_9


@by_one_process
def test_codes_have_their_length_with_leading_zeros(drawn):
    assert {len(code) for code in drawn} == {6}
    assert any(code.startswith("00") for code in drawn)


@by_one_process
def test_no_digit_tells_the_next(drawn):
    pairs = Counter(code[:2] for code in drawn)
    assert len(pairs) == 100
    assert deviation([code[:2] for code in drawn], list(pairs)) < 180  # 99 degrees, once in a million


def test_letters_and_digits_are_drawn_from_one_alphabet_without_look_alikes():
    alphabet = codes.alphabet(digits=True, letters=True)
    text = "".join(codes.generate_code(6, letters=True) for _ in range(20_000))
    assert set(text) == set(alphabet)
    assert deviation(text, alphabet) < CHI_SQUARE_30


@pytest.mark.parametrize("digits", [True, False])
def test_letters_leave_out_what_is_read_as_something_else(digits):
    assert not set(codes.alphabet(digits=digits, letters=True)) & set("0O1IL")


def test_digits_alone_are_all_ten():
    assert codes.alphabet(digits=True, letters=False) == string.digits


def test_neither_digits_nor_letters_is_no_alphabet():
    with pytest.raises(ValueError, match="digits, letters or both"):
        codes.generate_code(6, digits=False, letters=False)


# --- session ids -----------------------------------------------------------------------------------------------------


def random_part(session_id):
    number = 0
    for character in session_id[10:]:
        number = number << 5 | codes.CROCKFORD.index(character)
    return number


def test_a_session_id_is_a_ulid():
    assert all(codes.is_session_id(codes.generate_session_id()) for _ in range(1_000))


def test_session_ids_are_unique():
    assert len({codes.generate_session_id() for _ in range(50_000)}) == 50_000


def test_one_session_id_does_not_tell_the_next():
    parts = [random_part(codes.generate_session_id()) for _ in range(2_000)]
    steps = [second - first for first, second in zip(parts, parts[1:], strict=False)]
    assert 800 < sum(step > 0 for step in steps) < 1_200
    assert min(abs(step) for step in steps) > 2**50


def test_the_first_part_of_a_session_id_is_its_time(monkeypatch):
    monkeypatch.setattr(codes.time, "time_ns", lambda: 1_469_918_176_385 * 1_000_000)
    assert codes.generate_session_id().startswith("01ARYZ6S41")


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
    assert not codes.is_session_id(text)


# --- the rest --------------------------------------------------------------------------------------------------------


def test_message_ids_are_random_and_fit_every_json_reader():
    ids = [codes.generate_message_id() for _ in range(5_000)]
    assert len(set(ids)) == 5_000
    assert all(0 < message_id < 2**53 for message_id in ids)
    assert max(ids) > 2**52


def test_verify_tokens_are_random_uuids():
    tokens = {codes.generate_verify_token() for _ in range(5_000)}
    assert len(tokens) == 5_000
    assert {uuid.UUID(token).version for token in tokens} == {4}


def test_a_link_payload_fits_a_deep_link():
    payloads = {codes.generate_link_payload() for _ in range(5_000)}
    assert len(payloads) == 5_000
    assert all(
        len(payload) <= 64 and set(payload) <= set(string.ascii_letters + string.digits + "_-") for payload in payloads
    )
