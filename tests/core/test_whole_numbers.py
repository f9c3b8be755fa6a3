"""Whole numbers that come as text."""

import pytest

from verification.core.numbers import MAX_ID, whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), (str(MAX_ID), MAX_ID)])
def test_digits_are_a_number(text, number):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_000", "1.0", "٣", "²", str(MAX_ID + 1), "9" * 5_000])
def test_everything_else_is_none(text):
    assert whole_number(text) is None


def test_a_number_above_the_bound_is_none():
    assert (whole_number("65535", most=65_535), whole_number("65536", most=65_535)) == (65_535, None)
