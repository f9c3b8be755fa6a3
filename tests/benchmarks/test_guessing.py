"""Whom the rule on guessing harms: nobody without an attack, and hardly anybody under one."""

import pytest

from benchmarks.guessing import Shop, simulate
from tests import factories

pytestmark = pytest.mark.django_db

SHOP = Shop(people=200, errors=0.2)


def test_an_honest_shop_is_refused_nothing():
    found = simulate(factories.project().row, SHOP, networks=0)
    assert found.checks > 150
    assert found.refused == 0


def test_under_an_attack_of_500_networks_less_than_one_in_a_hundred_is():
    found = simulate(factories.project().row, SHOP, networks=500)
    assert found.percent < 1
    assert found.guesses < 2000
