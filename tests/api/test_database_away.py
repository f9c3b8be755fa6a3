"""Nothing is accepted while the database is away, and afterwards everything is as before."""

import psycopg
import pytest
from django.db import OperationalError, connection

from tests.api.calls import problem
from tests.fakes.outage import database_away
from verification.core import caching
from verification.models import Session
from verification.services.maintenance import health

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_key_known", [True, False])
def test_with_the_database_away_nothing_is_accepted(api, is_key_known):
    assert api.channels().status_code == 200
    if not is_key_known:
        caching.clear_all()
    with database_away():
        response = api.create()
    assert problem(response) == (503, "service_unavailable")
    assert response["Retry-After"] == str(response.data["retry_after"])
    assert not Session.objects.exists()


def test_once_the_database_is_back_the_next_request_is_answered(api):
    with database_away():
        api.create()
    assert api.create().status_code == 200


@pytest.mark.parametrize(("owner", "method"), [(psycopg.Cursor, "execute"), (psycopg.Connection, "commit")])
def test_a_connection_that_ended_without_a_result_is_a_database_that_is_away(api, monkeypatch, owner, method):
    """So it ends sometimes where PostgreSQL restarts behind a pooler: psycopg has an error without a code for it."""

    def end(*_, **__):
        raise psycopg.InternalError("received 0 results from command")

    with monkeypatch.context() as patched:
        patched.setattr(owner, method, end)
        response = api.manual_send(headers={"Idempotency-Key": "one"})
    assert problem(response) == (503, "service_unavailable")
    assert response["Retry-After"] == "1"


def test_a_connection_that_only_reads_from_now_on_is_left_and_the_next_one_serves(api, client):
    assert api.create().status_code == 200
    for path in ("/session/create", "/readyz"):
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")  # as by a server that is demoted
        caching.clear_all()
        response = api.create() if path == "/session/create" else client.get(path)
        assert (response.status_code, response["Retry-After"]) == (503, "1")
        assert b"service_unavailable" in response.content
        caching.clear_all()
        assert api.create("ann@example.com").status_code == 200


def test_a_server_that_only_reads_is_refused_as_soon_as_it_is_reached(api, monkeypatch):
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "options", f"{options.get('options', '')} -c default_transaction_read_only=on")
    connection.close()
    with pytest.raises(OperationalError, match="only reads"), connection.cursor():
        pass
    assert problem(api.create()) == (503, "service_unavailable")
    caching.clear_all()
    assert health.failing() == health.ONLY_READS
