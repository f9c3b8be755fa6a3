"""Callers at once against two web servers and two workers: an order exists in which the model gives the same answers.

``--rounds`` sets how many histories are made; each has its seed, which a failure tells.
"""

import os
import random

import pytest

from tests.fakes.http_server import FakeHttpServer
from tests.live import at_once, wait_until
from tests.protocol.histories import Recorder, told
from tests.protocol.nodes import Project, recipient, two_nodes

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("protocol"), pytest.mark.timeout(0)]

RECIPIENTS, CALLERS, CALLS = 3, 6, 12
BUDGET, BUYERS = 5, 12  # SMS of the day, and people who ask for one at once


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with FakeHttpServer() as gateway, two_nodes(tmp_path_factory.mktemp("nodes")) as nodes:
        yield Project(nodes, gateway)
        assert nodes[0].json("checkintegrity")["violations"] == {}


def test_an_order_explains_every_history(project, request):
    first = int(os.environ.get("PROTOCOL_SEED", random.randrange(10**9)))
    outcomes, calls = set(), 0
    for seed in range(first, first + request.config.getoption("--rounds")):
        recorder = Recorder(project.ask, project.arrived, [recipient() for _ in range(RECIPIENTS)], seed)
        recorder.run(callers=CALLERS, calls=CALLS)
        wait_until(project.is_quiet, "all is sent")
        for to in recorder.recipients:
            verdict = recorder.judge(to)
            history = recorder.history[to]
            assert verdict.is_explained, (
                f"No order explains the calls about {to}; PROTOCOL_SEED={seed}. The gateway was given"
                f" {[each['channel'] for each in project.arrived(to)]}.\n{told(history)}\nThe longest part:\n"
                + "\n".join(f"{call.name} {call.outcome}" for call in verdict.order)
            )
            outcomes |= {(each.call.name, each.call.outcome) for each in history}
            calls += len(history)
    print(
        f"{request.config.getoption('--rounds')} histories from seed {first}: {calls} calls, {len(outcomes)} outcomes"
    )
    assert {("check", "ok"), ("check", "400 invalid_code"), ("verify", "ok"), ("create", "ok")} <= outcomes


def test_a_budget_of_the_day_is_spent_once(project):
    """The model is of one recipient; this limit is over all of a project's recipients."""
    shop = Project(project.nodes, project.gateway, budget=BUDGET)
    people = [recipient() for _ in range(BUYERS)]

    answers = at_once(
        BUYERS, lambda place: shop.ask("POST", "/session/create", {"to": people[place], "type": "sms"}, "api")
    )
    wait_until(shop.is_quiet, "all is sent")

    accepted = sum(status == 200 for status, _ in answers)
    sent = sum(len(shop.arrived(to)) for to in people)
    assert accepted == sent == BUDGET, f"A budget of {BUDGET} was overshot: {accepted} accepted, {sent} sent. {answers}"
    assert {answer["code"] for status, answer in answers if status != 200} == {"rate_limited"}
