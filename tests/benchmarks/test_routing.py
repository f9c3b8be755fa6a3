"""The choice of the best provider against a fixed order, on a simulated day."""

from benchmarks.routing import simulate


def test_within_its_first_day_it_costs_a_fifth_less_loses_no_more_users_and_leaves_dead_routes():
    day = {name: results[0] for name, results in simulate(days=1, per_day=2_500, seed=5).items()}
    ours, fixed = day["ours"], day["fixed order"]
    assert ours.cost_per_verified < 0.8 * fixed.cost_per_verified
    assert ours.arrival > fixed.arrival - 1
    assert ours.dead_percent < 2.5
    assert day["oracle"].arrival - ours.arrival < 3
