"""Two web servers, of which each is stopped and started again in turn. Who is refused by one asks the other."""

from __future__ import annotations

import contextlib
import copy
import http.client
import random
import time

import pytest

from tests.faults.callers import Callers, assert_nothing_is_lost
from tests.faults.test_nodes import SHARED
from tests.live import LiveService

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("restarts"), pytest.mark.timeout(400)]

CALLERS = 8
PAUSE_SECONDS = 1.0  # of a caller, so that there are up to eight verifications a second
VERIFIED = 8  # while all answer, before the next one is stopped
ROUNDS = 2


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    first = LiveService(tmp_path_factory.mktemp("first"), is_embedded=False)
    shared = {name: first.environment[name] for name in SHARED if name in first.environment}
    second = LiveService(tmp_path_factory.mktemp("second"), is_embedded=False, **shared)
    try:
        first.start()
        second.start_web()
        yield first, second
    finally:
        second.stop()
        first.stop()


@pytest.fixture(scope="module")
def service(nodes):
    def call(method, path, *arguments, **options):
        if path == "/session/create":
            time.sleep(PAUSE_SECONDS)
        first, second = random.sample(nodes, 2)
        try:
            return first.call(method, path, *arguments, **options)
        except ConnectionRefusedError:
            return second.call(method, path, *arguments, **options)

    seen = copy.copy(nodes[0])
    seen.call = call
    return seen


def test_no_request_is_lost_while_one_server_after_the_other_is_started_again(shop, nodes):
    shop.set(traffic_guard="off", creates_per_address=0)
    with Callers(shop, CALLERS) as callers:
        for node in nodes * ROUNDS:
            callers.verify(VERIFIED)
            process = node.processes.pop("web")
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", node.port)) as kept:  # as a proxy's
                kept.request("GET", "/livez")
                assert kept.getresponse().read()
                process.terminate()
                assert process.wait(60) == 0
            node.start_web()
    assert callers.failures == []
    assert_nothing_is_lost(callers, most_twice=0)
