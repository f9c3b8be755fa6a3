"""A limit of a whole project or channel that is used up is told wherever an operator looks."""

import pytest

from tests.commands.running import run, run_json
from verification.checks.doctor import examine
from verification.checks.registry import Aims
from verification.core import caching
from verification.models import DailyChannelCost, KillSwitch
from verification.services.maintenance import degradation, used_limits
from verification.services.projects.ceilings import set_platform
from verification.services.records import decisions
from verification.sql import now

pytestmark = pytest.mark.django_db


def told():
    caching.clear_all()
    return [(each.setting, each.share, each.words) for each in used_limits.told()]


def send(api, times):
    return [api.manual_send(to=f"+49151123456{number}").status_code for number in range(10, 10 + times)]


def findings():
    caching.clear_all()
    return {each.id: each for each in examine(Aims(url="http://127.0.0.1:9"), ("queue",))}


def test_a_channel_at_its_daily_limit_is_degraded_told_and_raised(api, project):
    project.channel("sms", daily_budget=5)
    assert send(api, 3) == [200] * 3
    assert told() == []
    send(api, 6)
    assert told() == [("sms.daily_budget", 1.0, "5 of 5 messages today")]
    assert "limits" in degradation.current().degraded
    name = project.row.name
    assert f"{name}, sms: 5 of 5 messages today (daily_budget)" in run("status")
    assert run_json("status")["limits"][0]["share"] == 1
    remedy = findings()["limit-reached"].hint
    assert f"manage.py setproject {project.id} sms.daily_budget=" in remedy
    run("setproject", name, "sms.daily_budget=6")
    assert findings().keys() >= {"limit-near"}
    run("setproject", name, "sms.daily_budget=100")
    assert told() == []
    assert api.manual_send(to="+4915112345699").status_code == 200


def test_the_operators_ceiling_counts_where_it_is_lower(api, project):
    project.channel("sms", daily_budget=0)
    set_platform({"max_daily_budget": "1"})
    send(api, 1)
    assert told() == [("sms.daily_budget", 1.0, "1 of 1 messages today")]


def test_a_test_project_and_one_that_is_switched_off_wake_nobody(api, project):
    project.channel("sms", daily_budget=1)
    send(api, 1)
    assert told()
    project.set(is_enabled=False)
    assert told() == []


@pytest.mark.parametrize(
    ("limit", "words"),
    [("daily_cost_budget", "8.50 of 10 EUR today"), ("monthly_cost_budget", "9.00 of 10 EUR this month")],
)
def test_limits_of_costs_are_told_from_four_fifths_on(project, limit, words):
    project.channel("sms", **{limit: 10})
    DailyChannelCost.objects.create(
        project=project.row, channel="sms", day=now().date(), amount="8.5", month_amount="9", currency="EUR"
    )
    [(setting, share, text)] = told()
    assert (setting, text) == (f"sms.{limit}", words) and 0.8 <= share < 1
    assert degradation.current().limits and "limits" not in degradation.current().degraded


@pytest.mark.parametrize("rule", ["requests_per_second", "hooks_per_second"])
def test_a_limit_of_a_second_that_refuses_calls_is_told_for_a_while(project, rule):
    decisions.record(project_id=project.id, rule=rule, subject="whole project", figures={}, times=7)
    assert told() == [(rule, 1.0, "7 calls refused within the hour")]
    assert rule.upper() in findings()["limit-reached"].hint or rule in findings()["limit-reached"].hint


def test_a_kill_switch_that_is_on_is_told():
    KillSwitch.objects.create(subject="sms")
    assert "killswitch resume sms" in findings()["sending-stopped"].hint
    assert "Stopped by a kill switch" in run("status")
