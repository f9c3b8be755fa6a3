"""Codes are drawn uniformly from an alphabet without look-alikes."""

import string
from collections import Counter

import pytest

from verification.services.sessions import code as codes

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


@pytest.mark.requirement(16)
@by_one_process
@pytest.mark.parametrize("position", range(6))
def test_every_digit_is_equally_likely_at_every_position(drawn, position):
    column = [code[position] for code in drawn]
    assert set(column) == set(string.digits)
    assert deviation(column, string.digits) < CHI_SQUARE_9


@pytest.mark.requirement(16)
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
