"""The commits that wait for the disk: all that write anything, and not that of a create that writes nothing."""

import pytest
from django.db import connection

from tests import clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def waits():
    """Return whether this transaction waits for the disk; each test is one transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = on")

        def read():
            cursor.execute("SHOW synchronous_commit")
            return cursor.fetchone()[0] == "on"

        yield read


def test_a_create_that_opens_a_session_waits_for_the_disk(api, waits):
    api.create()
    assert waits()


def test_one_that_returns_it_as_it_stands_does_not(api, waits):
    assert api.create().data["session_id"] == api.create().data["session_id"]
    assert not waits()


def test_one_that_sends_the_code_again_waits(api, waits):
    api.create()
    clock.forward(60)
    api.create()
    assert waits()


def test_one_that_goes_over_another_channel_waits(api, waits):
    session = api.create(send=False).data
    assert api.create().data["session_id"] == session["session_id"]
    assert waits()
