"""Colours of an owner's choice can be read on light and on dark."""

import pytest

from verification.contrib.hosted.colours import (
    DARK_CARD,
    LIGHT_CARD,
    READABLE,
    contrast,
    filled,
    on_dark,
    on_filled,
    on_light,
)


@pytest.mark.parametrize("colour", ["#ffff00", "#ffffff", "#000000", "#0f766e", "#808080", "#4f46e5"])
def test_a_colour_is_readable_on_both_cards_as_is_what_stands_on_it(colour):
    assert contrast(on_light(colour), LIGHT_CARD) >= READABLE
    assert contrast(on_dark(colour), DARK_CARD) >= READABLE
    assert contrast(on_light(colour), "#ffffff") >= READABLE
    assert contrast(on_dark(colour), "#18181b") >= READABLE
    assert contrast(filled(colour), on_filled(colour)) >= READABLE


def test_a_colour_that_can_be_read_stays():
    assert on_light("#0f766e") == "#0f766e"
    assert on_dark("#a5b4fc") == "#a5b4fc"


def test_a_bright_colour_stays_on_a_button_with_dark_text():
    assert (filled("#ffd400"), on_filled("#ffd400")) == ("#ffd400", "#000000")
    assert (filled("#0f766e"), on_filled("#0f766e")) == ("#0f766e", "#ffffff")
    assert filled("#fffffe") != "#fffffe"


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
