"""Rows of one job that are worked on one by one: what a row's failure stops, and what it does not."""

from types import SimpleNamespace

import pytest
from django.db import DataError, OperationalError, connection

from tests.fakes.outage import database_away
from verification.models import Project
from verification.services.records.batches import run_each


def row(number):
    return SimpleNamespace(pk=number)


def work_that_fails(error, *, at):
    def work(each):
        if each.pk == at:
            raise error
        return each.pk

    return work


@pytest.mark.django_db
@pytest.mark.parametrize("error", [ValueError("+4915112345678"), DataError("+4915112345678")])
def test_a_row_that_fails_is_told_without_its_data_and_the_others_have_their_turn(caplog, error):
    connection.ensure_connection()
    assert run_each(map(row, range(4)), work_that_fails(error, at=1), job="digest") == [0, 2, 3]
    [line] = caplog.records
    assert (line.job, line.row, line.error) == ("digest", 1, type(error).__name__)
    assert "+49" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_while_the_database_is_away_no_row_is_at_fault():
    asked = []

    def work(each):
        asked.append(each.pk)
        return Project.objects.count()

    with database_away(), pytest.raises(OperationalError):
        run_each(map(row, range(4)), work, job="digest")
    assert asked == [0]


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_takes_too_long_is_its_own_rows_fault():
    def work(each):
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 1" if each.pk == 1 else "SET statement_timeout = 0")
            cursor.execute("SELECT pg_sleep(%s)", [float(each.pk == 1)])
        return each.pk

    assert run_each(map(row, range(3)), work, job="digest") == [0, 2]
