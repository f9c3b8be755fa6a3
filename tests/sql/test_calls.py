"""Calls of our functions, by psycopg's cursor."""

from typing import NamedTuple

import psycopg
import pytest
from django.db import IntegrityError, InternalError, OperationalError, connection, transaction

from verification import sql
from verification.core.session_rules import LONGEST_SESSION_SECONDS

TIMES = 5  # more than the executions after which a statement is prepared

pytestmark = pytest.mark.django_db(transaction=True)

FUNCTION = """
CREATE FUNCTION echo(p_number bigint, p_text text, p_bytes bytea, p_json jsonb, p_texts text[], p_at timestamptz,
    p_flag boolean, p_fraction double precision)
RETURNS TABLE (amount bigint, words text, bytes bytea, document jsonb, texts text[], moment timestamptz, flag boolean,
    fraction double precision)
LANGUAGE sql AS 'SELECT p_number, p_text, p_bytes, p_json, p_texts, p_at, p_flag, p_fraction'
"""
NOTHING = dict.fromkeys(("number", "text", "bytes", "json", "texts", "at", "flag", "fraction"))


class Pair(NamedTuple):
    first: int
    second: str | None


@pytest.fixture(autouse=True)
def functions():
    run(
        FUNCTION,
        "CREATE FUNCTION pairs(p_number integer) RETURNS TABLE (second text, first integer)"
        " LANGUAGE sql AS 'SELECT ''x'', place FROM generate_series(1, p_number) AS place'",
        "CREATE FUNCTION fail(p_state text) RETURNS integer"
        " LANGUAGE plpgsql AS 'BEGIN RAISE ''no'' USING ERRCODE = p_state; END'",
    )
    yield
    for name in ("echo", "pairs", "fail"):
        run(f"DROP FUNCTION IF EXISTS {name}")
    connection.close()


def run(*statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def prepared():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%FROM echo(%'")
        return cursor.fetchone()[0]


def test_every_call_reads_the_same_values():
    given = {
        "number": 2**40,
        "text": "é \\ ' 😀",
        "bytes": b"\x00\\\xff",
        "json": sql.Jsonb({"a": [1, None]}),
        "texts": ["a,b", '"', "NULL", ""],
        "at": sql.now(),
        "flag": True,
        "fraction": 0.1,
    }
    expected = tuple({**given, "json": {"a": [1, None]}}.values())
    assert [tuple(sql.call("echo", **given)) for _ in range(TIMES)] == [expected] * TIMES
    assert [set(sql.call("echo", **NOTHING)) for _ in range(TIMES)] == [{None}] * TIMES
    assert sql.call("echo", **given).words == given["text"]


def test_a_statement_is_prepared_once_for_a_connection():
    for _ in range(TIMES):
        sql.call("echo", **NOTHING)
    assert prepared() == 1


def test_behind_a_pooler_nothing_is_prepared():
    connection.ensure_connection()
    connection.connection.prepare_threshold = None
    for _ in range(TIMES):
        assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7
    assert prepared() == 0


def test_rows_come_as_the_type_that_is_asked_for_whatever_the_order_of_the_columns():
    for _ in range(TIMES):
        assert sql.call_many(Pair, "pairs", number=2) == [Pair(1, "x"), Pair(2, "x")]
        assert sql.call_many(Pair, "pairs", number=0) == []
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        sql.call_many(Pair, "echo", **NOTHING)


def test_an_error_is_djangos_and_the_next_call_goes_on():
    for _ in range(TIMES):
        with pytest.raises(IntegrityError):
            sql.call("fail", state="23505")
    assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7


def test_a_fault_inside_the_server_is_none_of_a_server_that_is_away():
    with pytest.raises(InternalError) as found:
        sql.call("fail", state="XX000")
    assert not sql.is_away(found.value)


def test_a_connection_that_ended_without_a_result_is_a_server_that_is_away(monkeypatch):
    def end(*_, **__):
        raise psycopg.InternalError("got no result from the query")

    with monkeypatch.context() as patched, pytest.raises(OperationalError) as found:
        patched.setattr(psycopg.Cursor, "execute", end)
        sql.call("echo", **NOTHING)
    assert sql.is_away(found.value)


def test_a_call_belongs_to_the_transaction_that_it_is_made_in():
    run(
        "CREATE TABLE noted (number integer)",
        "CREATE FUNCTION note(p_number integer) RETURNS void LANGUAGE sql AS 'INSERT INTO noted VALUES (p_number)'",
    )
    try:
        for number in range(TIMES):
            sql.call("note", number=number)
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            sql.call("note", number=100)
            raise ZeroDivisionError
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(number), count(*) FROM noted")
            assert cursor.fetchone() == (TIMES - 1, TIMES)
    finally:
        run("DROP FUNCTION note", "DROP TABLE noted")


def test_a_connection_that_the_server_has_closed_is_replaced():
    process = sql.value("pg_backend_pid")
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
        other.execute("SELECT pg_terminate_backend(%s, 10000)", [process])
    assert sql.value("pg_backend_pid") != process


def test_a_connection_that_broke_in_a_statement_is_replaced():
    process = sql.value("pg_backend_pid")
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    assert sql.value("pg_backend_pid") != process


def test_documents_stay_texts_for_the_fields_of_models():
    sql.call("echo", **NOTHING | {"json": sql.Jsonb({"a": 1})})
    with connection.cursor() as cursor:
        cursor.execute("""SELECT '{"a": 1}'::jsonb""")
        assert cursor.fetchone() == ('{"a": 1}',)


def test_the_longest_session_is_as_long_in_sql():
    assert sql.value("longest_session").total_seconds() == LONGEST_SESSION_SECONDS
