"""Creating a session."""

import pytest

pytestmark = pytest.mark.django_db


def test_it_sends_a_code_that_checks(api, outbox):
    session = api.create().data
    checked = api.check(session["session_id"], outbox.code)
    assert checked.status_code == 200
    assert checked.data["is_test"] is False
    assert api.verify(checked.data["verify_token"]).data == {"phone": "+4915112345678"}


def test_it_returns_the_live_session_and_sends_nothing_within_the_block(api, outbox):
    first = api.create().data
    second = api.create("+49 (151) 1234-5678").data
    assert second["session_id"] == first["session_id"]
    assert second["session_expired_at"] == first["session_expired_at"]
    assert len(outbox.messages) == 1
