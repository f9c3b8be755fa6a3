"""The database's settings, made from its URL: without a pooler, and with one."""

import pytest

from config import database
from config.environment import env

URL = "postgres://user:password@one:5432,two:5433/name"


def settings(url, *, pooler, statement_timeout=0):
    return database.connected(
        env.db_url_config(url), pooler=pooler, statement_timeout=statement_timeout, name="command: test"
    )


def test_a_connection_brings_its_limits_along():
    options = settings(URL, pooler="none", statement_timeout=500)["OPTIONS"]
    assert "-c lock_timeout=3000" in options["options"]
    assert "-c statement_timeout=500" in options["options"]
    assert options["prepare_threshold"] == database.PREPARE_AFTER


def test_what_the_address_says_of_sessions_stays():
    url = f"{URL}?target_session_attrs=read-write&prepare_threshold=7&options=-c%20search_path%3Dcodes"
    found = settings(url, pooler="none")
    assert (found["HOST"], found["PORT"]) == ("one,two", "5432,5433")
    assert found["OPTIONS"]["target_session_attrs"] == "read-write"
    assert found["OPTIONS"]["prepare_threshold"] == 7
    assert found["OPTIONS"]["options"].startswith("-c search_path=codes -c lock_timeout")


def test_a_pooler_is_given_nothing_that_it_would_refuse():
    found = settings(URL, pooler="transaction")
    assert set(found["OPTIONS"]) == {"application_name", "prepare_threshold"}
    assert found["OPTIONS"]["prepare_threshold"] is None
    assert found["DISABLE_SERVER_SIDE_CURSORS"]


@pytest.mark.parametrize(("own", "of_role", "of_transaction"), [(0, "10000", {"statement_timeout": "0"}), (7, "7", {})])
def test_only_a_limit_that_differs_is_said_in_each_transaction(own, of_role, of_transaction):
    found = settings(URL, pooler="transaction", statement_timeout=own)
    assert found["SESSION"]["statement_timeout"] == of_role
    assert found["TRANSACTION"] == of_transaction
