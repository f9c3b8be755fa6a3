"""Whom the traffic guard harms: nobody without an attack; and what it leaves to an attacker."""

import pytest

from benchmarks.pumping import Attack, Shop, simulate
from tests import factories

pytestmark = pytest.mark.django_db

SHOP = Shop(countries=30, people=150)


def test_an_honest_shop_in_many_countries_is_refused_nothing():
    found = simulate(factories.project().row, SHOP, None)
    assert found.people > 100
    assert found.refused == 0


def test_one_network_that_pumps_slowly_is_stopped_at_its_fourth_country():
    found = simulate(factories.project().row, SHOP, Attack(networks=1, every=300.0))
    assert found.until_refused is not None and found.until_refused < 10
    assert found.pumped < 60
