"""One live service for all tests that do not take it apart, and a shop for each file.

A file that needs another service has a fixture ``service`` of its own; its shop is then opened there.
"""

import pytest

from tests.fakes.http_server import FakeHttpServer
from tests.fakes.trace_collector import TraceCollector
from tests.faults.shop import open_shop
from tests.live import LiveService

METRICS_TOKEN = "a-token-of-the-tests-0123456789abcdef"


@pytest.fixture(scope="session")
def traces():
    """The collector that the service sends its traces to."""
    with TraceCollector() as collector:
        yield collector


@pytest.fixture(scope="session")
def service(tmp_path_factory, traces):
    live = LiveService(tmp_path_factory.mktemp("live"), METRICS_TOKEN=METRICS_TOKEN, **traces.environment)
    try:
        yield live.start()
        assert live.json("checkintegrity")["violations"] == {}  # after all that raced there
    finally:
        live.stop()


@pytest.fixture(scope="module")
def own_service(tmp_path_factory):
    """A service in the production mode for the tests of one file, which take it apart."""
    live = LiveService(tmp_path_factory.mktemp("own"), is_embedded=False, METRICS_TOKEN=METRICS_TOKEN)
    try:
        yield live.start()
    finally:
        live.stop()


@pytest.fixture(scope="module")
def gateway():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture(scope="module")
def shop(service, gateway):
    return open_shop(service, gateway)
