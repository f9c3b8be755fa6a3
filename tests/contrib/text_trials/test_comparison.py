"""The statistics of a trial: they hold for whoever looks all the time."""

import math
import random

import pytest

from verification.contrib.text_trials.comparison import Arm, compare

LOOKS = range(200, 4_001, 100)  # sessions of each text at which somebody looks, and would stop


def verdicts(present, tried, seed):
    """Return what was seen at each look of one trial: by our interval, and by the usual one of 95 %."""
    chance, first, second, seen = random.Random(seed), 0, 0, []
    for number in range(1, LOOKS[-1] + 1):
        first += chance.random() < present
        second += chance.random() < tried
        if number in LOOKS:
            found = compare(Arm(number, first), Arm(number, second))
            shares = [first / number, second / number]
            usual = 1.96 * math.sqrt(sum(each * (1 - each) / number for each in shares))
            seen.append((found.is_better or found.is_worse, abs(shares[1] - shares[0]) > usual))
    return seen


@pytest.mark.parametrize(("present", "tried"), [(0, 0), (99, 500), (500, 99)])
def test_nothing_is_said_of_few_sessions(present, tried):
    assert compare(Arm(present, present // 2), Arm(tried, tried // 2)) is None


def test_of_two_equal_texts_few_are_ever_told_apart_however_often_one_looks():
    runs = [verdicts(0.8, 0.8, seed) for seed in range(200)]
    wrong = sum(any(ours for ours, _ in seen) for seen in runs)
    usual = sum(any(usual for _, usual in seen) for seen in runs)
    assert wrong <= 10 and usual > 40  # at most 5 %; who peeks at the usual interval errs over four times as often


def test_a_better_text_is_found():
    found = sum(any(ours for ours, _ in verdicts(0.75, 0.83, seed)) for seed in range(50))
    assert found >= 45


def test_the_interval_is_around_the_difference():
    found = compare(Arm(2_000, 1_500), Arm(1_000, 830))
    assert (found.points, found.is_better) == (8.0, True)
    assert 0 < found.low < 8 < found.high < 16
    turned = compare(Arm(1_000, 830), Arm(2_000, 1_500))
    assert turned.is_worse and (turned.low, turned.high) == (-found.high, -found.low)


def test_the_difference_is_that_of_the_conversions_as_they_are_shown():
    present, tried = Arm(1_297, 1_048), Arm(1_310, 1_122)  # 80.802 and 85.649 %: 4.85 points
    assert (present.percent, tried.percent, compare(present, tried).points) == (80.8, 85.6, 4.8)


@pytest.mark.parametrize("verified", [0, 100])
def test_a_text_that_all_or_none_answer_has_an_interval_too(verified):
    found = compare(Arm(100, verified), Arm(100, verified))
    assert found.low < 0 < found.high
