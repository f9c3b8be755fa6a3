"""A month of traffic at the size of a large installation: sessions, messages and all that hangs on them.

Every tenth verification has a wrong code, one in fifty a second attempt at a provider. Four in five are verified, and
have a token. To 20 verifications comes a manual send with its callback. Half of all is the first project's. PostgreSQL
makes the rows itself, without indexes, triggers and foreign keys, which are there again at the end.

    python -m benchmarks.fill --keep var/full
    python -m benchmarks.fill --keep var/full --rows 1000000
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

from benchmarks.common.kept import migrated

ROWS = 10_000_000  # verifications
PROJECTS = 50
DAYS = 30
VERIFICATIONS_EACH = 10  # of one recipient
MANUAL_EVERY = 20
STEP = 500_000  # verifications that one statement writes
FIRST_MANUAL = 10**12  # ids of manual sends, beyond those of all sessions' messages
PEOPLE = ("root", "of the small", "of the big", "of two", "of all")  # as the walk through the panel's lists knows them

# Each is run for the numbers from %(first)s to %(last)s; the last of all is of this moment.
RECIPIENTS = """
    INSERT INTO verification_recipient
      (id, project_id, address, mailbox, language, verified_channel, verified_at, created_at)
    SELECT n, CASE WHEN mod(n, 2) = 0 THEN %(big)s ELSE %(first_other)s + mod(n / 2, %(others)s) END,
      CASE WHEN mod(n, 20) = 3 THEN 'user' || n || '@example.com' ELSE '+49151' || lpad(n::text, 8, '0') END,
      CASE WHEN mod(n, 20) = 3 THEN 'user' || n || '@example.com' END,
      'en', 'sms', now() - interval '1 day', now() - %(days)s * interval '1 day'
    FROM generate_series(%(first)s, %(last)s) AS n
"""
TRAFFIC = (
    """
    INSERT INTO verification_session
      (id, project_id, recipient_id, language, code_length, code_digits, code_letters, channel, awaited_channel,
       link_payload, is_open, is_test, is_challenged, attempts, attempts_max, created_at, expires_at, verified_at)
    SELECT '01' || lpad(n::text, 24, '0'), r.project_id, r.id, 'en', 6, true, false, 'sms', '', '', false, false, false,
      CASE WHEN mod(n, 10) = 1 THEN 1 ELSE 0 END, 5, at, at + interval '3 minutes',
      CASE WHEN mod(n, 5) < 4 THEN at + interval '20 seconds' END
    {numbers}
    """,
    """
    INSERT INTO verification_message
      (id, project_id, recipient_id, session_id, channel, language, status, error, is_test, is_counted, callback_url,
       provider_id, provider_message_id, claims, lost_leases, created_at, due_at, expires_at, finished_at, sent_at)
    SELECT n, r.project_id, r.id, '01' || lpad(n::text, 24, '0'), 'sms', 'en',
      CASE WHEN mod(n, 100) = 7 THEN 'failed' ELSE 'success' END,
      CASE WHEN mod(n, 100) = 7 THEN 'the gateway said no' END, false, mod(n, 100) <> 7, '', %(provider)s,
      'id-' || n, 1, 0, at, at, at + interval '3 minutes', at + interval '1 second',
      CASE WHEN mod(n, 100) <> 7 THEN at + interval '1 second' END
    {numbers}
    """,
    """
    INSERT INTO verification_deliveryattempt
      (message_id, provider_id, provider_name, outcome, provider_message_id, provider_status, error, latency_ms,
       created_at)
    SELECT n, %(provider)s, 'G', CASE WHEN mod(n, 100) = 7 THEN 'refused' ELSE 'accepted' END, 'id-' || n, '', '', 200,
      at
    {numbers}, generate_series(1, CASE WHEN mod(n, 50) = 7 THEN 2 ELSE 1 END)
    """,
    """
    INSERT INTO verification_verifytoken
      (digest, project_id, session_id, recipient_id, subnet, created_at, expires_at, used_at)
    SELECT sha256(n::text::bytea), r.project_id, '01' || lpad(n::text, 24, '0'), r.id, '', at,
      at + interval '1 minute', at
    {numbers} WHERE mod(n, 5) < 4
    """,
    """
    INSERT INTO verification_wrongcode
      (project_id, network, subnet, guess, is_settled, session_id, recipient_id, created_at)
    SELECT r.project_id, '203.0.113.' || mod(n, 250), '203.0.113.0', substring(sha256(n::text::bytea) FOR 16),
      mod(n, 5) < 4, '01' || lpad(n::text, 24, '0'), r.id, at
    {numbers} WHERE mod(n, 10) = 1
    """,
    """
    INSERT INTO verification_message
      (id, project_id, recipient_id, channel, language, status, is_test, is_counted, callback_url,
       provider_id, provider_message_id, claims, lost_leases, created_at, due_at, expires_at, finished_at, sent_at)
    SELECT %(first_manual)s + n, r.project_id, r.id, 'sms', 'en', 'success', false, true, 'https://shop.example/',
      %(provider)s, 'manual-' || n, 1, 0, at, at, at + interval '10 minutes', at, at
    {numbers} WHERE mod(n, %(manual_every)s) = 0
    """,
    """
    INSERT INTO verification_webhookevent (type, message_id, project_id, url, tries, created_at, delivered_at, due_at)
    SELECT 'message.finished', %(first_manual)s + n, r.project_id, 'https://shop.example/', 1, at, at, NULL
    {numbers} WHERE mod(n, %(manual_every)s) = 0
    """,
    """
    INSERT INTO verification_webhookattempt (event_id, status, error, latency_ms, created_at)
    SELECT event.id, 200, '', 80, event.created_at FROM verification_webhookevent AS event
    WHERE event.message_id BETWEEN %(first_manual)s + %(first)s AND %(first_manual)s + %(last)s
    """,
)
NUMBERS = """
    FROM generate_series(%(first)s, %(last)s) AS n,
      LATERAL (SELECT now() - (%(rows)s - n) * %(apart)s * interval '1 second' AS at) AS moment,
      LATERAL (SELECT 1 + mod(n, %(recipients)s) AS id) AS recipient,
      LATERAL (
        SELECT id,
          CASE WHEN mod(id, 2) = 0 THEN %(big)s ELSE %(first_other)s + mod(id / 2, %(others)s) END AS project_id
      ) AS r
"""
SPENDS = """
    INSERT INTO verification_dailyspend (project_id, channel, day, messages)
    SELECT project.id, 'sms', day, %(rows)s / %(days)s / %(others)s
    FROM verification_project AS project,
      generate_series(current_date - %(days)s, current_date, interval '1 day') AS day
"""
TABLES = tuple(dict.fromkeys(statement.split()[2] for statement in (RECIPIENTS, *TRAFFIC, SPENDS)))


def fill(rows: int, say: Callable[[str], None], *, projects: int = PROJECTS) -> None:
    """Write ``rows`` verifications of the month that ends now into an empty database."""
    from django.db import connection

    from verification.models import Project, Provider

    big, *others = [Project.objects.create(name=f"Filled {number}") for number in range(projects)]
    provider = Provider.objects.create(project=big, channel="sms", type="http", name="G")
    add_people(big, others)
    recipients = max(1, rows // VERIFICATIONS_EACH)
    terms: dict[str, Any] = {
        "big": big.pk,
        "first_other": others[0].pk,
        "others": len(others),
        "provider": provider.pk,
        "rows": rows,
        "recipients": recipients,
        "apart": DAYS * 86_400 / rows,
        "days": DAYS,
        "first_manual": FIRST_MANUAL,
        "manual_every": MANUAL_EVERY,
    }
    began_at = time.monotonic()
    with connection.cursor() as cursor, without_indexes(cursor, TABLES):
        cursor.execute(RECIPIENTS, {**terms, "first": 1, "last": recipients})
        cursor.execute("SELECT setval(pg_get_serial_sequence('verification_recipient', 'id'), %s)", [recipients])
        for first in range(1, rows + 1, STEP):
            last = min(rows, first + STEP - 1)
            for statement in TRAFFIC:
                cursor.execute(statement.format(numbers=NUMBERS), {**terms, "first": first, "last": last})
            say(f"{last:,} verifications after {time.monotonic() - began_at:.0f} s")
        cursor.execute(SPENDS, terms)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")
    say(f"indexes and statistics after {time.monotonic() - began_at:.0f} s")


def add_people(big: Any, others: list[Any]) -> None:
    from django.contrib.auth.models import User

    from verification.models import Membership

    seen = ([], others[:1], [big], [others[0], big], [big, *others])
    for name, projects in zip(PEOPLE, seen, strict=True):
        user = User.objects.create_user(name, is_staff=True, is_superuser=not projects)
        Membership.objects.bulk_create(Membership(user=user, project=project) for project in projects)


def sizes() -> str:
    """Return the bytes of each table that was filled, with its indexes, a verification."""
    from django.db import connection

    from benchmarks.common.tables import table

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM verification_session")
        verifications = cursor.fetchone()[0]
        cursor.execute(
            "SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class WHERE relname = ANY(%s)"
            " ORDER BY 2 DESC",
            [list(TABLES)],
        )
        found = cursor.fetchall()
    rows = [(name, f"{own / verifications:.0f}", f"{its / verifications:.0f}") for name, own, its in found]
    whole = sum(own for _, own, _ in found), sum(its for _, _, its in found)
    rows.append(("together", *(f"{size / verifications:.0f}" for size in whole)))
    return table((f"bytes a verification, {verifications:,} of them", "rows", "indexes"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fill", description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, required=True, help="the folder of the database that is made")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"verifications; default {ROWS:,}")
    options = parser.parse_args()
    os.environ.update(
        DJANGO_SETTINGS_MODULE="config.settings", WATCHWORD_HOME=str(options.keep.resolve()), EMBEDDED_DURABLE="false"
    )
    django.setup()
    with migrated():
        fill(options.rows, lambda line: print(line, file=sys.stderr, flush=True))
        print(sizes())
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
