"""Time in tests: the rows are moved into the past, as the database's clock decides everything that time decides."""

from functools import cache

from django.db import connection
from django.db.models import DateTimeField, Func, Value

MINUTE = 60
HOUR = 3600
DAY = 24 * HOUR


# Further than any two moments of a test lie apart. In hours, which no time zone stretches.
ASIDE = "interval '1000000 hours'"
DAYS_ASIDE = 40_000  # the same for days


def forward(seconds):
    """Let time pass for every row of ours. Days follow the moments: none passes unless midnight in UTC is crossed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (now() AT TIME ZONE 'UTC')::date - ((now() - make_interval(secs => %s)) AT TIME ZONE 'UTC')::date",
            [seconds],
        )
        [midnights] = cursor.fetchone()
        for table, (moments, are_unique) in _columns("timestamptz", "%").items():
            _move(cursor, table, moments, ASIDE, "make_interval(secs => %s)", seconds, are_unique)
        for table, (days, are_unique) in _columns("date", "day").items():
            _move(cursor, table, days, DAYS_ASIDE, "%s", midnights, are_unique)


def _move(cursor, table, columns, aside, distance, value, are_unique):
    if are_unique:  # PostgreSQL compares row by row: one would arrive where another has not yet left
        cursor.execute(f"UPDATE {table} SET " + ", ".join(f"{name} = {name} - {aside}" for name in columns))
    back = f" + {aside}" if are_unique else ""
    moved = ", ".join(f"{name} = {name}{back} - {distance}" for name in columns)
    cursor.execute(f"UPDATE {table} SET {moved}", [value] * len(columns))


def set_age(rows, seconds):
    """Make these rows as old as that, to the millisecond."""
    rows.update(created_at=_ago(seconds))


def _ago(seconds):
    return Func(
        Value(seconds), template="clock_timestamp() - make_interval(secs => %(expressions)s)", output_field=_MOMENT
    )


_MOMENT = DateTimeField()


@cache
def _columns(kind, name):
    """The columns of a type and a name (a LIKE pattern), and whether one of them makes rows unique, by table."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, array_agg(attname::text), bool_or(EXISTS ("
            "  SELECT FROM pg_index WHERE indrelid = attrelid AND indisunique AND attnum = ANY (indkey)"
            " )) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
            " WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace"
            " AND relname LIKE 'verification\\_%%' AND atttypid = %s::regtype AND attname LIKE %s AND NOT attisdropped"
            " AND relname <> 'verification_auditentry' GROUP BY relname",  # which the database keeps as it is
            [kind, name],
        )
        return {table: (columns, are_unique) for table, columns, are_unique in cursor.fetchall()}
