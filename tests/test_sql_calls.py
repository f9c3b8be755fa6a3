"""Calls of our functions: by psycopg's cursor at first, then by a statement that is prepared once."""

import gc
import weakref
from typing import NamedTuple

import pytest
from django.db import IntegrityError, connection, transaction

from verification import sql

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


def names_of_prepared():
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE name LIKE 'watchword%'")
        return [name for (name,) in cursor.fetchall()]


def test_every_call_reads_the_same_values():
    given = {
        "number": 2**40,
        "text": "é \\ ' 😀",
        "bytes": b"\x00\\\xff",
        "json": sql.json({"a": [1, None]}),
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
    assert len(names_of_prepared()) == 1


def test_behind_a_pooler_nothing_is_prepared():
    connection.ensure_connection()
    connection.connection.prepare_threshold = None
    before = names_of_prepared()  # by tests that had this connection
    for _ in range(TIMES):
        assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7
    assert names_of_prepared() == before


def test_rows_come_as_the_type_that_is_asked_for_whatever_the_order_of_the_columns():
    for _ in range(TIMES):
        assert sql.call_many(Pair, "pairs", number=2) == [Pair(1, "x"), Pair(2, "x")]
        assert sql.call_many(Pair, "pairs", number=0) == []
    with pytest.raises(TypeError, match="other fields"):
        sql.call_many(Pair, "echo", **NOTHING)


def test_an_error_is_djangos_and_the_next_call_goes_on():
    for _ in range(TIMES):
        with pytest.raises(IntegrityError):
            sql.call("fail", state="23505")
    assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7


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


def test_a_function_that_has_other_columns_than_before_is_prepared_anew():
    for _ in range(TIMES):
        sql.call("pairs", number=1)
    run("DROP FUNCTION pairs", "CREATE FUNCTION pairs(p_number integer) RETURNS text LANGUAGE sql AS 'SELECT ''new'''")
    assert sql.call("pairs", number=1).pairs == "new"


def test_a_statement_that_the_server_lost_is_no_failure():
    for _ in range(TIMES):
        sql.call("echo", **NOTHING)
    run("DEALLOCATE ALL")
    assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7


def test_prepared_statements_outlive_a_rollback():
    for _ in range(TIMES):
        sql.call("echo", **NOTHING)
        with transaction.atomic():
            sql.call("echo", **NOTHING)  # the first of a transaction, which psycopg begins
    before = names_of_prepared()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        sql.call("echo", **NOTHING)
        raise ZeroDivisionError
    with transaction.atomic():
        connection.cursor().execute("SELECT 1")
        assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7
    assert names_of_prepared() == before != []


def test_a_connection_that_is_closed_takes_its_statements_with_it():
    for _ in range(TIMES):
        sql.call("echo", **NOTHING)
    raw = weakref.ref(connection.connection)
    connection.close()
    gc.collect()
    assert raw() is None
    assert sql.call("echo", **NOTHING | {"number": 7}).amount == 7
