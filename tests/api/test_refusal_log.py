"""The operator's log of a refusal, for a customer who asks about one."""

import json
import logging
from unittest.mock import Mock

import pytest
from django.test import Client

from config.logs import formatter
from tests.fakes.outage import database_away
from verification.core import caching, logs

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(caplog):
    """The lines so far, as they are written."""
    caplog.set_level(logging.INFO, logger=logs.__name__)
    write = formatter("json").format
    return lambda: [json.loads(write(record)) for record in caplog.records if record.name == logs.__name__]


@pytest.mark.requirement(97)
def test_a_refusal_is_found_by_its_request_id_with_code_project_and_endpoint(lines, client, project):
    given = {"x-api-key": project.api_key, "x-request-id": "ticket-4711"}
    response = client.get("/manual/message/+4915112345678?to=+4915112345678", headers=given)
    [line] = lines()
    told = ("request_id", "code", "status", "method", "path", "project")
    assert [line[name] for name in told] == [
        "ticket-4711",
        "wrong_key_kind",
        403,
        "GET",
        "/manual/message/<str:id>",
        project.id,
    ]
    assert response["X-Request-Id"] == "ticket-4711"
    assert "4915112345678" not in str(line) and project.api_key not in str(line)


@pytest.mark.requirement(97)
def test_a_wrong_webhook_address_is_not_written_out(lines, client):
    client.post("/hooks/00000000-0000-0000-0000-000000000000/its-secret")
    client.get("/hooks/its-secret/1/2/3")
    assert [line["path"] for line in lines()] == ["/hooks/<str:provider_uuid>/<str:secret>", "unknown"]
    assert "its-secret" not in str(lines())


def test_of_a_flood_so_many_lines_are_written_and_the_rest_are_counted():
    allowance = logs.LineBudget()
    taken = [allowance.take(100.5) for _ in range(logs.LINES_A_SECOND + 30)]
    assert taken.count((True, 0)) == logs.LINES_A_SECOND and taken[-1] == (False, 0)
    assert [allowance.take(101.0), allowance.take(101.0)] == [(True, 30), (True, 0)]


@pytest.mark.django_db(transaction=True)
def test_a_flood_of_requests_while_the_database_is_away_does_not_flood_the_log(client, project, caplog, monkeypatch):
    monkeypatch.setattr(logs, "LINES_A_SECOND", 2)
    seconds = iter([100.1, 100.2, 100.3, 100.4, 101.5])
    monkeypatch.setattr(logs, "time", Mock(monotonic=lambda: next(seconds)))
    caching.clear_all()
    with database_away():
        answers = [client.get("/session/settings", headers={"x-api-key": project.api_key}) for _ in range(5)]
    assert {answer.status_code for answer in answers} == {503}
    told = [
        getattr(record, "request_id", record.getMessage()) for record in caplog.records if record.name == logs.__name__
    ]
    shown = [answers[number]["X-Request-Id"] for number in (0, 1, 4)]
    assert told == [
        *shown[:2],
        "2 more requests found the database away or busy and were not logged, as there were more than 2 in a second.",
        shown[2],
    ]


@pytest.mark.requirement(97)
def test_a_form_that_was_forged_leaves_no_query_in_the_log(caplog):
    caplog.set_level(logging.WARNING, logger="django.security.csrf")
    Client(enforce_csrf_checks=True).post("/admin/login/?q=somebody@example.com", {"username": "ann"})
    [record] = [record for record in caplog.records if record.name == "django.security.csrf"]
    for log_format in ("json", "console"):
        line = formatter(log_format).format(record)
        assert "/admin/login/" in line and "somebody" not in line


@pytest.mark.parametrize(
    "content_type",
    ["multipart/form-data", "multipart/form-data; boundary=\xe9", "application/x-www-form-urlencoded; charset=utf-16"],
)
def test_a_form_that_cannot_be_read_is_the_senders_fault(caplog, content_type):
    response = Client(raise_request_exception=False).post("/admin/login/", b"x", content_type=content_type)
    assert response.status_code == 400
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_form_with_too_many_fields_leaves_the_line_of_a_refusal_and_no_other(lines, caplog):
    fields = {f"field{number}": "x" for number in range(1_001)}
    assert Client().post("/admin/login/", fields).status_code == 400
    assert [line["code"] for line in lines()] == ["parse_error"]
    assert len(caplog.records) == 1


@pytest.mark.requirement(97)
def test_forged_forms_share_the_lines_of_all_refusals(caplog, monkeypatch):
    monkeypatch.setattr(logs.allowance, "take", lambda _now: (False, 0))
    assert Client(enforce_csrf_checks=True).post("/admin/login/").status_code == 403
    assert [record for record in caplog.records if record.name == "django.security.csrf"] == []


@pytest.mark.requirement(97)
def test_a_forged_form_leaves_no_part_of_a_path_that_may_be_secret_in_the_log(caplog):
    Client(enforce_csrf_checks=True).post("/admin/invitation/its-secret/")
    [record] = [record for record in caplog.records if record.name == "django.security.csrf"]
    line = formatter("json").format(record)
    assert "/admin/invitation/<str:token>/" in line and "its-secret" not in line
