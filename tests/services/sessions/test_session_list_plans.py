"""The list of sessions reads what it shows, however many the tables have."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from verification.core import addresses
from verification.services.projects.snapshot import load_project
from verification.services.sessions import session_records
from verification.services.sessions.session_records import SessionFilter, SessionState

ROWS = 30_000  # half of them the project's
LIMIT, LOOK = 20, 100
FILL = """
INSERT INTO verification_recipient (project_id, address, language, verified_channel, created_at)
SELECT CASE WHEN mod(n, 2) = 0 THEN %(mine)s ELSE %(other)s END, '+49151123' || lpad(n::text, 6, '0'), 'en', '',
  now() - interval '1 hour' - n * interval '1 second'
FROM generate_series(1, %(rows)s) AS n;

INSERT INTO verification_session (id, project_id, recipient_id, language, code_length, code_digits, code_letters,
  channel, awaited_channel, link_payload, is_open, is_test, is_challenged, attempts, attempts_max, created_at,
  expires_at, reference)
SELECT '01' || lpad(id::text, 24, '0'), project_id, id, 'en', 6, true, false, 'sms', '', '', false, false, false, 0, 5,
  created_at, created_at + interval '3 minutes', CASE WHEN mod(id, 7) = 0 THEN 'login-' || id ELSE '' END
FROM verification_recipient;

ANALYZE verification_recipient, verification_session;
"""


@pytest.fixture(scope="module")
def filled(around_all_tests):
    """A project with many sessions, beside another one; and of one session its id, recipient and reference."""
    mine, other = factories.project().id, factories.project().id
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"mine": mine, "other": other, "rows": ROWS})
        cursor.execute(
            "SELECT s.id, address, reference FROM verification_session AS s"
            " JOIN verification_recipient AS r ON r.id = s.recipient_id"
            " WHERE s.project_id = %s AND reference <> '' ORDER BY s.created_at OFFSET 500 LIMIT 1",
            [mine],
        )
        one = cursor.fetchone()
    return load_project(mine), one


@pytest.mark.parametrize("asked", ["all", "after", "to", "reference", "state", "none of the state"])
def test_an_index_has_what_is_asked_for(filled, monkeypatch, asked):
    monkeypatch.setattr(session_records, "LOOK", LOOK)
    project, (session_id, to, reference) = filled
    wanted = {
        "all": {},
        "after": {"after": session_id},
        "to": {"address": addresses.stored(to)},
        "reference": {"reference": reference},
        "state": {"state": SessionState.EXPIRED},
        "none of the state": {"state": SessionState.CANCELLED},
    }[asked]
    with CaptureQueriesContext(connection) as statements:
        found = session_records.list_sessions(project, SessionFilter(limit=LIMIT, **wanted))
    assert len(found.sessions) == {"to": 1, "reference": 1, "none of the state": 0}.get(asked, LIMIT)
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement['sql']}")
            ((plan,),) = cursor.fetchone()
        assert most_rows(plan["Plan"]) <= LOOK + LIMIT, statement["sql"]


def most_rows(node):
    """Return the most rows that a step of the plan read, those that it threw away included."""
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return max([own, *(most_rows(each) for each in node.get("Plans", ()))])
