"""The caller of a provider decides how long all of it may take, whatever the adapter's own limits are."""

import pytest

from providers.errors import NotConnected
from providers.http.client import HttpClient
from providers.http.deadline import Deadline, within
from tests.fakes.http_server import FakeHttpServer


@pytest.mark.requirement(69)
def test_no_deadline_inside_is_later_than_the_one_around_it():
    with within(2), within(60):
        assert Deadline(60).left() <= 2
    assert Deadline(60).left() > 2


def test_a_tighter_deadline_inside_stays():
    with within(60):
        assert Deadline(1).left() <= 1


def test_when_the_time_is_over_nothing_more_is_asked():
    with FakeHttpServer() as server:
        door = HttpClient(("127.0.0.0/8",))
        with within(0), pytest.raises(NotConnected, match="no time left"):
            door.request("GET", server.url)
        assert server.requests == []
