"""Lists of traffic read what they show, however many rows the tables have."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests import factories
from verification.admin.base.pagination import LOOKED_THROUGH, MAX_COUNT
from verification.core import request_ids
from verification.models import Membership

ROWS = 4 * LOOKED_THROUGH  # of each table, most of them the first project's
NUMBER = "+49151123000001"
TABLES = ("verification_message", "verification_session", "verification_recipient", "verification_webhookevent")
LIST_LENGTH = 50
RANGE = f"{timezone.now() - timedelta(hours=30):%Y-%m-%dT%H}..{timezone.now() - timedelta(hours=6):%Y-%m-%dT%H}"
READ = """
SELECT sum(pg_stat_get_xact_tuples_returned(oid)) FROM (
  SELECT indexrelid FROM pg_index WHERE indrelid = 'verification_message'::regclass
  UNION ALL SELECT 'verification_message'::regclass
) AS read (oid)
"""
FILL = """
INSERT INTO verification_recipient (project_id, address, language, verified_channel, created_at)
SELECT CASE WHEN mod(n, 10) = 0 THEN %(second)s ELSE %(first)s END,
  '+49151123' || lpad(n::text, 6, '0'), 'en', '', at
FROM generate_series(1, %(rows)s) AS n, LATERAL (SELECT now() - n * interval '1 second' AS at) AS moment;

INSERT INTO verification_session (id, project_id, recipient_id, language, code_length, code_digits, code_letters,
  channel, awaited_channel, link_payload, is_open, is_test, is_challenged, attempts, attempts_max, created_at,
  expires_at)
SELECT '01' || lpad(id::text, 24, '0'), project_id, id, 'en', 6, true, false, 'sms', '', '', false, false, false, 0, 5,
  created_at, created_at + interval '3 minutes'
FROM verification_recipient;

INSERT INTO verification_message (id, project_id, recipient_id, session_id, channel, language, status, is_test,
  is_counted, callback_url, claims, lost_leases, created_at, due_at, expires_at, finished_at)
SELECT id, project_id, id, '01' || lpad(id::text, 24, '0'), 'sms', 'en',
  CASE WHEN project_id = %(first)s AND mod(id, 3) = 0 THEN 'failed' ELSE 'success' END, false, true, '', 1, 0,
  created_at, created_at, created_at + interval '3 minutes', created_at
FROM verification_recipient;

INSERT INTO verification_webhookevent (type, message_id, project_id, url, tries, created_at, delivered_at)
SELECT 'message.finished', id, project_id, 'https://shop.example/', 1, created_at, created_at FROM verification_message;

ANALYZE verification_recipient, verification_session, verification_message, verification_webhookevent;
"""


@pytest.fixture(scope="module")
def filled(around_all_tests):
    """The ids of two projects with much traffic, and people who see one, both, or everything. One lost messages."""
    first, second = factories.project("First").row, factories.project("Second").row
    User.objects.create_superuser("root")
    seen = {"owner": [first], "of the second": [second], "of both": [first, second]}
    for name, projects in seen.items():
        user = User.objects.create_user(name, is_staff=True)
        Membership.objects.bulk_create(Membership(user=user, project=project) for project in projects)
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"first": first.pk, "second": second.pk, "rows": ROWS})
    return first.pk, second.pk


def opened(who, name, query):
    client = Client()
    client.force_login(User.objects.get(username=who))
    with CaptureQueriesContext(connection) as asked:
        response = client.get(reverse(f"admin:verification_{name}_changelist"), query)
    assert response.status_code == 200
    return response, [each["sql"] for each in asked if any(table in each["sql"] for table in TABLES)]


def plans_of(statements):
    for statement in statements:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}")
            yield statement, "\n".join(line for (line,) in cursor.fetchall())


def rows_read_by(statement):
    """Return the number of entries of the messages' table and of its indexes that the statement reads."""
    with connection.cursor() as cursor:
        cursor.execute(READ)
        (before,) = cursor.fetchone()
        cursor.execute(statement)
        cursor.execute(READ)
        return cursor.fetchone()[0] - before


@pytest.mark.parametrize("who", ["root", "owner", "of both"])
@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("message", {}),
        ("message", {"q": NUMBER}),
        ("message", {"channel__exact": "voice"}),
        ("message", {"status": "lost"}),
        ("message", {"status": "waiting"}),
        ("message", {"since": "week", "test": "only"}),
        ("message", {"o": "5"}),
        ("message", {"between": RANGE}),
        ("message", {"between": RANGE, "status": "lost"}),
        ("message", {"between": RANGE, "country": "DE"}),
        ("message", {"between": RANGE, "provider": "7", "language": "en"}),
        ("session", {}),
        ("session", {"q": NUMBER}),
        ("session", {"state": "locked"}),
        ("session", {"since": "hour", "channel__exact": "voice"}),
        ("session", {"o": "-4"}),
        ("session", {"between": RANGE}),
        ("session", {"between": RANGE, "country": "none"}),
        ("session", {"between": RANGE, "provider": "7", "state": "verified"}),
        ("recipient", {}),
        ("recipient", {"q": NUMBER}),
        ("recipient", {"verified_channel__exact": "sms"}),
        ("recipient", {"o": "2"}),
        ("webhookevent", {}),
        ("webhookevent", {"state": "given_up"}),
    ],
)
def test_no_list_of_traffic_reads_a_whole_table(filled, who, name, query):
    _, statements = opened(who, name, query)
    read = [plan for _, plan in plans_of(statements) if any(f"Seq Scan on {table}" in plan for table in TABLES)]
    assert statements and read == []


@pytest.mark.parametrize("who", ["root", "owner", "of both"])
@pytest.mark.parametrize(
    "term",
    [NUMBER, "0151 123000001", "01" + "0" * 23 + "1", "17", "vendor-id-1", "a@b.example", "id of a request"],
)
def test_the_search_reads_no_whole_table(filled, who, term):
    term = (
        request_ids.generate_request_id() if term == "id of a request" else term
    )  # it tells its time, which has to be about now
    client = Client()
    client.force_login(User.objects.get(username=who))
    with CaptureQueriesContext(connection) as asked:
        client.get(reverse("admin:verification_find"), {"q": term})
    statements = [each["sql"] for each in asked if any(table in each["sql"] for table in TABLES)]
    read = [plan for _, plan in plans_of(statements) if any(f"Seq Scan on {table}" in plan for table in TABLES)]
    assert statements and read == []


def test_a_project_that_is_chosen_is_read_by_its_own_index(filled):
    _, statements = opened("root", "session", {"project": filled[1]})
    assert not [plan for _, plan in plans_of(statements) if "Seq Scan on verification_session" in plan]


def test_a_filter_says_how_far_back_it_looked(filled):
    response, _ = opened("owner", "message", {"channel__exact": "voice"})
    assert f"the newest {LOOKED_THROUGH:,} messages" in response.content.decode()
    assert "Filters search only" not in opened("owner", "message", {})[0].content.decode()
    assert "Filters search only" not in opened("owner", "message", {"status": "lost"})[0].content.decode()


@pytest.mark.parametrize(
    ("who", "query"),
    [
        ("of the second", {"status": "lost"}),
        ("of the second", {"status": "failed"}),
        ("of the second", {"status": "expired", "channel__exact": "sms"}),
        ("root", {"status": "lost", "project": 2}),
        ("root", {"status": "expired"}),
        ("of both", {"status": "expired", "since": "week"}),
    ],
)
def test_where_nothing_was_lost_nothing_is_read(filled, who, query):
    query = {name: filled[1] if name == "project" else value for name, value in query.items()}
    _, statements = opened(who, "message", query)
    assert sum(map(rows_read_by, statements)) < LIST_LENGTH


def test_the_lost_messages_of_several_projects_are_counted_and_shown_newest_first(filled):
    response, _ = opened("of both", "message", {"status": "lost"})
    shown = [message.created_at for message in response.context["cl"].result_list]
    assert (len(shown), shown) == (LIST_LENGTH, sorted(shown, reverse=True))
    assert f"more than {MAX_COUNT:,} messages" in response.content.decode()
    assert "Filters search only" not in response.content.decode()
    together = {"status": "lost", "since": "day", "channel__exact": "sms"}
    assert f"the newest {MAX_COUNT:,} messages" in opened("of both", "message", together)[0].content.decode()


def test_a_count_that_stops_says_so(filled):
    assert f"more than {MAX_COUNT:,} messages" in opened("owner", "message", {})[0].content.decode()


def test_a_short_count_is_exact(filled):
    assert "1 message</p>" in opened("owner", "message", {"q": NUMBER})[0].content.decode()
