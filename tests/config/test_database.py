"""The connections to the database: their settings by its URL, and what a pooler drops."""

import pytest

from config import database
from config.environment import env
from verification.checks import start

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


@pytest.mark.parametrize(
    ("pooler", "own", "expected"), [("none", 0, "0"), ("transaction", 0, "10000"), ("none", 7, "7")]
)
def test_a_statement_has_the_time_of_its_process_or_behind_a_pooler_that_of_the_role(pooler, own, expected):
    assert database.limits(pooler=pooler, statement_timeout=own)["statement_timeout"] == expected


def test_a_thread_keeps_its_connection():
    found = settings(URL, pooler="none")
    assert (found["CONN_MAX_AGE"], found["CONN_HEALTH_CHECKS"]) == (None, True)


# --- what a pooler before PostgreSQL drops ----------------------------------------------------------------------------


def found_by_check():
    return [(each.id, each.hint) for each in start.sessions_have_their_limits(databases=["default"])]


@pytest.mark.django_db
def test_limits_that_a_pooler_drops_are_found_by_a_check(settings):
    assert found_by_check() == []
    settings.DATABASE_LIMITS = {**settings.DATABASE_LIMITS, "lock_timeout": "4000"}
    assert found_by_check()[0][0] == "watchword.E005"


@pytest.mark.django_db
def test_limits_that_the_role_lacks_behind_a_pooler_are_found_with_what_to_run(settings):
    settings.DATABASE_POOLER = "transaction"
    settings.DATABASE_LIMITS = {**settings.DATABASE_LIMITS, "lock_timeout": "4000"}
    [(found, hint)] = found_by_check()
    assert found == "watchword.W010"
    assert "ALTER ROLE CURRENT_USER SET lock_timeout = 4000;" in hint
