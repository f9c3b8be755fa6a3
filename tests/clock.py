"""Time in tests: the rows are moved into the past, as the database's clock decides everything that time decides."""

from functools import cache

from django.db import connection
from django.db.models import DateTimeField, Func, Value

MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR


def forward(seconds):
    """Let time pass for every row of ours."""
    with connection.cursor() as cursor:
        for table, columns in _moments().items():
            moved = ", ".join(f"{column} = {column} - make_interval(secs => %s)" for column in columns)
            cursor.execute(f"UPDATE {table} SET {moved}", [seconds] * len(columns))


def set_age(rows, seconds):
    """Make these rows as old as that, to the millisecond."""
    rows.update(created_at=_ago(seconds))


def _ago(seconds):
    return Func(
        Value(seconds), template="clock_timestamp() - make_interval(secs => %(expressions)s)", output_field=_MOMENT
    )


_MOMENT = DateTimeField()


@cache
def _moments():
    """The columns that hold moments, by table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns"
            " WHERE table_name LIKE 'verification\\_%' AND data_type = 'timestamp with time zone'"
            " AND table_name <> 'verification_auditentry' GROUP BY table_name"  # which the database keeps as it is
        )
        return dict(cursor.fetchall())
