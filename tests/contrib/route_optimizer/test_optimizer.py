"""The choice of the best provider: pure, so tried on numbers alone."""

import random
from collections import Counter

import pytest

from verification.contrib.route_optimizer.optimizer import (
    ARRIVAL_LOSS,
    Candidate,
    Hour,
    Objective,
    learn,
    rank,
    settled,
)

MINUTE = 60.0
CHEAP, DEAR, OTHER = 1, 2, 3
PRICES = [Candidate(CHEAP, 0.02), Candidate(DEAR, 0.05)]


def shown(provider, rate, *, asked=100, country="DE", ages=range(1, 24), seconds=20.0):
    """So many messages in each of the hours, of which this part was verified."""
    return [
        Hour(provider, country, age, asked, round(asked * rate), seconds * round(asked * rate)) for age in ages
    ]  # fmt: skip


def first(hours, *, country="DE", candidates=PRICES, objective=Objective.MONEY, running_seconds=30 * MINUTE):
    state = learn(hours, running_seconds=running_seconds)
    found = rank(state, country, candidates, objective=objective, explore=0, chance=random.Random(1))
    assert sorted(found.providers) == sorted(each.provider for each in candidates)
    return found.providers[0]


def test_of_two_that_verify_alike_the_cheaper_is_the_best():
    assert first([*shown(CHEAP, 0.8), *shown(DEAR, 0.8)]) == CHEAP


def test_one_that_loses_users_is_not_the_best_however_cheap():
    cheaper = [Candidate(CHEAP, 0.0001), Candidate(DEAR, 0.05)]
    assert first([*shown(CHEAP, 0.6), *shown(DEAR, 0.8)], candidates=cheaper) == DEAR


def test_for_the_time_the_quicker_is_the_best_whatever_it_costs():
    hours = [*shown(CHEAP, 0.8, seconds=40), *shown(DEAR, 0.8, seconds=15)]
    assert first(hours, objective=Objective.TIME) == DEAR
    lossy = [*shown(CHEAP, 0.8, seconds=40), *shown(DEAR, 0.5, seconds=15)]
    assert first(lossy, objective=Objective.TIME) == CHEAP


def test_with_nothing_known_the_cheapest_is_tried():
    assert first([]) == CHEAP


def test_one_without_a_price_comes_after_those_that_have_one():
    assert first([*shown(CHEAP, 0.8), *shown(DEAR, 0.8)], candidates=[Candidate(CHEAP), Candidate(DEAR, 9.0)]) == DEAR


def test_few_answers_decide_little_and_many_decide():
    known = shown(CHEAP, 0.8)
    assert first([*known, Hour(DEAR, "DE", 2, 2, 2)]) == CHEAP
    assert first([*known, Hour(DEAR, "DE", 2, 80, 80)]) == DEAR


def test_a_country_without_traffic_is_guessed_from_the_others():
    elsewhere = [
        *shown(CHEAP, 0.4),
        *shown(DEAR, 0.8),
        *shown(CHEAP, 0.4, country="FR"),
        *shown(DEAR, 0.8, country="FR"),
    ]
    assert first(elsewhere, country="PL") == DEAR


def test_one_country_says_little_about_another_that_has_its_own_answers():
    hours = [*shown(CHEAP, 0.3), *shown(DEAR, 0.8), *shown(CHEAP, 0.9, country="FR"), *shown(DEAR, 0.8, country="FR")]
    assert first(hours, country="FR") == CHEAP
    assert first(hours, country="DE") == DEAR


@pytest.mark.parametrize("rate", [0.6, 0.8, 0.95])
def test_a_route_that_collapses_is_left_within_ten_messages(rate):
    before = [*shown(CHEAP, rate), *shown(DEAR, rate)]
    lost = next(lost for lost in range(1, 100) if first([*before, Hour(CHEAP, "DE", 0, lost, 0)]) == DEAR)
    assert 3 <= lost <= 10


def test_it_stays_left_in_the_hours_that_follow():
    hours = [*shown(CHEAP, 0.8, ages=range(5, 24)), *shown(DEAR, 0.8), Hour(CHEAP, "DE", 4, 12, 0)]
    assert first(hours) == DEAR


def test_a_route_that_came_back_is_found_by_the_few_that_explore():
    fell = [*shown(CHEAP, 0.8, ages=range(5, 24)), *shown(DEAR, 0.8), Hour(CHEAP, "DE", 3, 12, 0)]
    assert first([*fell, Hour(CHEAP, "DE", 1, 2, 2)]) == DEAR
    assert first([*fell, Hour(CHEAP, "DE", 1, 5, 5)]) == CHEAP


def test_a_fall_in_several_countries_is_believed_in_all():
    countries = ["DE", "FR", "PL", "ES", "IT"]
    hours = [hour for country in countries for each in (CHEAP, DEAR) for hour in shown(each, 0.8, country=country)]
    few = [Hour(CHEAP, country, 0, 4, 0) for country in countries[1:]]
    assert first([*hours, *few], country="DE") == DEAR


def test_a_fall_in_one_country_is_not_believed_in_the_others():
    countries = ["DE", "FR", "PL", "ES", "IT"]
    hours = [hour for country in countries for each in (CHEAP, DEAR) for hour in shown(each, 0.8, country=country)]
    fallen = [*hours, Hour(CHEAP, "FR", 0, 500, 0)]
    assert first(fallen, country="FR") == DEAR
    assert first(fallen, country="DE") == CHEAP


def test_the_first_minutes_of_an_hour_in_which_nobody_can_be_verified_yet_are_no_fall():
    hours = [*shown(CHEAP, 0.8), *shown(DEAR, 0.8), Hour(CHEAP, "DE", 0, 8, 1)]
    assert first(hours, running_seconds=MINUTE) == CHEAP
    assert first([*hours[:-1], Hour(CHEAP, "DE", 0, 30, 1)], running_seconds=30 * MINUTE) == DEAR


@pytest.mark.parametrize("running_seconds", [0, 1, MINUTE, 59 * MINUTE])
def test_of_an_older_hour_more_have_settled(running_seconds):
    parts = [settled(age, running_seconds) for age in range(4)]
    assert parts == sorted(parts)
    assert all(0 <= part <= 1 for part in parts)
    assert parts[3] > 0.99


@pytest.mark.parametrize("explore", [0.0, 0.05, 0.2])
def test_no_more_than_the_allowed_part_explores(explore):
    chance = random.Random(3)
    state = learn([*shown(CHEAP, 0.8), *shown(DEAR, 0.8, asked=5)], running_seconds=0)
    found = [rank(state, "DE", PRICES, objective=Objective.MONEY, explore=explore, chance=chance) for _ in range(4000)]
    explored = sum(each.is_explored for each in found)
    assert explored <= 4000 * explore * 1.2
    assert explored > 0 or not explore
    assert all((each.providers[0] != CHEAP) is each.is_explored for each in found)


def test_what_is_least_known_is_explored_most():
    state = learn([*shown(CHEAP, 0.8), *shown(DEAR, 0.8), *shown(OTHER, 0.8, asked=5, ages=[3])], running_seconds=0)
    chance = random.Random(4)
    candidates = [*PRICES, Candidate(OTHER, 0.05)]
    found = (rank(state, "DE", candidates, objective=Objective.MONEY, explore=0.2, chance=chance) for _ in range(4000))
    explored = Counter(each.providers[0] for each in found if each.is_explored)
    assert explored[OTHER] > 5 * explored[DEAR]


def test_whatever_has_happened_every_candidate_has_one_place_and_the_best_loses_hardly_anybody():
    chance = random.Random(5)
    for _ in range(200):
        hours = [
            Hour(provider, country, age, asked := chance.randrange(200), chance.randint(0, asked), 1000.0)
            for provider in range(1, 6) for country in ("DE", "FR", "") for age in range(72) if chance.random() < 0.2
        ]  # fmt: skip
        state = learn(hours, running_seconds=chance.uniform(0, 3600))
        candidates = [Candidate(provider, chance.choice([None, 0.0, chance.random()])) for provider in range(1, 7)]
        objective = chance.choice(list(Objective))
        found = rank(state, "FR", candidates, objective=objective, explore=0.05, chance=chance).providers
        assert sorted(found) == [1, 2, 3, 4, 5, 6]
        best = rank(state, "FR", candidates, objective=Objective.MONEY, explore=0, chance=chance).providers[0]
        shown_by = {each.provider: state.evidence(each.provider, "FR") for each in candidates}
        sure = max(each.rate - each.doubt for each in shown_by.values())
        assert shown_by[best].rate >= (1 - ARRIVAL_LOSS) * sure
