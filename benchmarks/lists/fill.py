"""The rows of the lists benchmark: projects of every size, their people, and a month of traffic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from verification.models import Membership, Project, Provider

OTHERS = 17  # projects beside the big, the middle and the small one
SMALL_EVERY = 1_000  # one recipient in so many is the small project's, which loses no message and has no callback
MIDDLE_EVERY = 5
OTHERS_EVERY = 50
STEP = 500_000  # messages that one statement writes
DAYS = 30
PEOPLE = ("root", "of the small", "of the big", "of two", "of all")

# Each is run for the numbers from %(first)s to %(last)s out of %(rows)s; the last one is of this moment.
TRAFFIC = (
    """
    INSERT INTO verification_recipient
      (id, project_id, address, language, verified_channel, verified_at, created_at)
    SELECT n,
      CASE WHEN mod(n, %(small_every)s) = 0 THEN %(small)s
        WHEN mod(n, %(others_every)s) = 1 THEN %(first_other)s + mod(n / %(others_every)s, %(others)s)
        WHEN mod(n, %(middle_every)s) = 2 THEN %(middle)s ELSE %(big)s END,
      CASE WHEN mod(n, 20) = 3 THEN 'user' || n || '@example.com' ELSE '+49151' || lpad(n::text, 8, '0') END,
      'en', CASE WHEN mod(n, 3) = 0 THEN '' ELSE 'sms' END, CASE WHEN mod(n, 3) <> 0 THEN at END, at
    FROM generate_series(%(first)s, %(last)s) AS n,
      LATERAL (SELECT now() - (%(rows)s - n) * %(apart)s * interval '1 second' AS at) AS moment
    """,
    """
    INSERT INTO verification_session
      (id, project_id, recipient_id, language, code_length, code_digits, code_letters, channel, awaited_channel,
       link_payload, is_open, is_test, is_challenged, attempts, attempts_max, created_at, expires_at, verified_at)
    SELECT '01' || lpad(id::text, 24, '0'), project_id, id, 'en', 6, true, false,
      CASE WHEN address LIKE '%%@%%' THEN 'email' ELSE 'sms' END, '', '', false, mod(id, 9999) = 0, false,
      CASE WHEN mod(id, 5000) = 1 THEN 5 ELSE 0 END, 5, created_at, created_at + interval '3 minutes',
      CASE WHEN mod(id, 5) < 4 AND mod(id, 5000) <> 1 THEN created_at + interval '20 seconds' END
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s
    """,
    """
    INSERT INTO verification_message
      (id, project_id, recipient_id, session_id, channel, language, status, error, is_test, is_counted, callback_url,
       provider_id, provider_message_id, claims, lost_leases, created_at, due_at, expires_at, finished_at, sent_at)
    SELECT id, project_id, id, '01' || lpad(id::text, 24, '0'),
      CASE WHEN address LIKE '%%@%%' THEN 'email' ELSE 'sms' END, 'en',
      CASE WHEN is_lost THEN 'failed' WHEN is_late THEN 'expired' ELSE 'success' END,
      CASE WHEN is_lost THEN 'the gateway said no' END, mod(id, 9999) = 0, NOT is_lost, '', %(provider)s,
      'id-' || id, 1, 0, created_at, created_at, created_at + interval '3 minutes', created_at,
      CASE WHEN NOT is_lost THEN created_at END
    FROM verification_recipient, LATERAL (
      SELECT project_id = %(big)s AND mod(id, 50) = 10 AS is_lost, project_id = %(big)s AND mod(id, 500) = 15 AS is_late
    ) AS end_of_it
    WHERE id BETWEEN %(first)s AND %(last)s
    """,
    """
    INSERT INTO verification_webhookevent (type, message_id, project_id, url, tries, created_at, delivered_at)
    SELECT 'message.finished', id, project_id, 'https://shop.example/', 1, created_at,
      CASE WHEN mod(id, 1000) <> 6 THEN created_at END
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s AND mod(id, 10) = 6 AND project_id <> %(small)s
    """,
    """
    INSERT INTO verification_suppression (project_id, recipient_id, channel, reason, created_at)
    SELECT project_id, id, 'sms', 'STOP', created_at
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s AND mod(id, 50) = 10
    """,
    """
    INSERT INTO verification_auditentry
      (at, who, action, project_id, object_type, object_id, object_label, changes)
    SELECT created_at, 'someone', CASE WHEN mod(id, 3) = 0 THEN 'Changed' ELSE 'Logged in' END, project_id,
      'verification.provider', mod(id, 20)::text, 'G', '{}'
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s AND mod(id, 20) = 10
    """,
    """
    INSERT INTO verification_decision
      (project_id, rule, subject, hour, country, count, refused, figures, first_at, last_at)
    SELECT project_id, CASE WHEN mod(id, 3) = 0 THEN 'country' ELSE 'too_many_sends' END, 'subject ' || id,
      date_trunc('hour', created_at), '', 3, 3, '{}', created_at, created_at
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s AND mod(id, 20) = 10
    """,
    """
    INSERT INTO verification_guardblock
      (project_id, rule, subject, level, since, until, figures, refused, is_announced)
    SELECT project_id, 'prefix', '+49' || id, 1, created_at, created_at + interval '30 minutes',
      '{"numbers": 12, "minutes": 10, "limit": 10}', 9, true
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s AND mod(id, 100) = 10
    """,
    """
    INSERT INTO verification_alert (project_id, kind, key, title, detail, tries, error, created_at)
    SELECT project_id, 'guard', id::text, 'Traffic is refused', 'Many numbers of one prefix.', 1, '', created_at
    FROM verification_recipient WHERE id BETWEEN %(first)s AND %(last)s AND mod(id, 100) = 10
    """,
)
TABLES = tuple(statement.split()[2] for statement in TRAFFIC)


def fill(rows: int, say: Callable[[str], None]) -> None:
    """Write ``rows`` recipients, each with a session and a message, and a part of them with the rest."""
    small, middle, big, *others = [Project.objects.create(name=name) for name in names_of_projects()]
    provider = Provider.objects.create(project=big, channel="sms", type="http", name="G")
    for name, projects in zip(PEOPLE, ([], [small], [big], [small, big], [small, middle, big, *others]), strict=True):
        user = User.objects.create_user(name, is_staff=True, is_superuser=not projects)
        Membership.objects.bulk_create(Membership(user=user, project=project) for project in projects)
    terms: dict[str, Any] = {
        "small": small.pk,
        "middle": middle.pk,
        "big": big.pk,
        "first_other": others[0].pk,
        "others": len(others),
        "provider": provider.pk,
        "rows": rows,
        "apart": DAYS * 86_400 / rows,
        "small_every": SMALL_EVERY,
        "middle_every": MIDDLE_EVERY,
        "others_every": OTHERS_EVERY,
    }
    began_at = time.monotonic()
    with connection.cursor() as cursor, without_indexes(cursor, TABLES):
        for first in range(1, rows + 1, STEP):
            for statement in TRAFFIC:
                cursor.execute(statement, {**terms, "first": first, "last": min(rows, first + STEP - 1)})
            say(f"{min(rows, first + STEP - 1):,} messages after {time.monotonic() - began_at:.0f} s")
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")
    say(f"indexes and statistics after {time.monotonic() - began_at:.0f} s")


def names_of_projects() -> list[str]:
    return ["Small", "Middle", "Big", *(f"Other {number}" for number in range(1, OTHERS + 1))]


@contextmanager
def without_indexes(cursor: Any, tables: Sequence[str]) -> Iterator[None]:
    """Take off what costs most while rows are written: triggers, foreign keys, and indexes that hold no constraint."""
    cursor.execute(
        "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index AS i"
        " WHERE i.indrelid = ANY (%s::regclass[])"
        " AND NOT EXISTS (SELECT 1 FROM pg_constraint AS c WHERE c.conindid = i.indexrelid)",
        [list(tables)],
    )
    indexes = cursor.fetchall()
    cursor.execute("SET session_replication_role = replica")
    cursor.execute("SET synchronous_commit = off")
    cursor.execute("SET statement_timeout = 0")
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    cursor.execute("SET maintenance_work_mem = '512MB'")
    for _, definition in indexes:
        cursor.execute(definition)
    cursor.execute("RESET session_replication_role")
    cursor.execute("RESET synchronous_commit")
    cursor.execute("RESET statement_timeout")
