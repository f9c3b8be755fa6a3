"""Repairs of what comes from the web server, before Django reads it."""

import io
import json

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import UnreadablePostError
from django.test import RequestFactory

from tests.conftest import load_application
from verification.api.wsgi import (
    UNREADABLE_CONTENT_TYPE,
    IncompleteBody,
    with_length_of_chunked_body,
    with_readable_content_type,
)


def passed_on(repair, **environ):
    """The environment as the application behind a repair sees it."""
    seen = []
    repair(lambda environ, start_response: seen.append(environ) or [])(environ, None)
    return seen[0]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-16", "text/plain", "", "x"]
)
def test_a_readable_content_type_is_left_alone(content_type):
    assert passed_on(with_readable_content_type, CONTENT_TYPE=content_type)["CONTENT_TYPE"] == content_type


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=nonsense", "application/json; charset=rot13", "application/json; charset*=nonsense''x"],
)
def test_an_unreadable_content_type_becomes_one_that_nothing_accepts(content_type):
    assert passed_on(with_readable_content_type, CONTENT_TYPE=content_type)["CONTENT_TYPE"] == UNREADABLE_CONTENT_TYPE


def test_a_chunked_body_gets_a_length():
    seen = passed_on(
        with_length_of_chunked_body, **{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(b"x" * 5000)}
    )
    assert seen["CONTENT_LENGTH"] == "5000"
    assert seen["wsgi.input"].read() == b"x" * 5000


def test_of_a_chunked_body_no_more_is_read_than_shows_that_it_is_too_large():
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    stream = io.BytesIO(b"x" * 10 * most)
    seen = passed_on(with_length_of_chunked_body, **{"HTTP_TRANSFER_ENCODING": "Chunked", "wsgi.input": stream})
    assert seen["CONTENT_LENGTH"] == str(most + 1)
    assert stream.tell() == most + 1


def test_a_chunked_body_that_is_cut_off_is_told_to_who_reads_it():
    seen = passed_on(
        with_length_of_chunked_body, **{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": IncompleteBody()}
    )
    with pytest.raises(UnreadablePostError):
        WSGIRequest(RequestFactory()._base_environ(**seen)).read()


def test_django_still_needs_both():
    """The day one of these fails, its repair can go."""
    with pytest.raises(ValueError):
        WSGIRequest(RequestFactory()._base_environ(CONTENT_TYPE="application/json; charset*=nonsense''%41"))
    with pytest.raises(LookupError):
        WSGIRequest(RequestFactory()._base_environ(CONTENT_TYPE="text/plain; charset=rot13", QUERY_STRING="a=%41")).GET  # noqa: B018
    chunked = RequestFactory()._base_environ(**{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(b"x")})
    assert WSGIRequest(chunked).read() == b""


# --- queries, by the whole application ----------------------------------------------------------------------------


@pytest.fixture
def answered(db, monkeypatch):
    """Ask the web server's entry. It closes connections after a request, and the tests' transaction lives in one."""
    monkeypatch.setattr(connection, "close_if_unusable_or_obsolete", lambda: None)

    def ask(path, query, content_type, *, method="GET"):
        told = []
        environ = RequestFactory()._base_environ(
            PATH_INFO=path, QUERY_STRING=query, CONTENT_TYPE=content_type, REQUEST_METHOD=method
        )
        response = load_application()(environ, lambda status, headers: told.extend([int(status[:3]), dict(headers)]))
        return *told, b"".join(response)

    return ask


@pytest.mark.parametrize(
    ("query", "content_type"),
    [
        ("xn--" + "9" * 30, "x/y; charset=idna"),
        ("a-" + "9" * 30, "x/y; charset=punycode"),
        ("+2AA-=1&+2AA-=2", "application/json; charset=utf-7"),
        ("\\ud800=1&\\ud800=2", "x/y; charset=unicode_escape"),
        ("project=+AAA-", "application/json; charset=utf-7"),
        ("project=%D8%00%DF", "application/json; charset=utf-16"),
    ],
)
@pytest.mark.parametrize("path", ["/nowhere", "/session", "/session/challenge", "/events", "/docs/", "/admin/login/"])
def test_a_query_is_read_as_utf_8_whatever_charset_the_content_type_names(path, query, content_type, answered, caplog):
    assert answered(path, query, content_type)[0] in (200, 302, 400, 401, 404)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


ODD_PATHS = [
    "/session/challenge", "/docs/", "/docs/guides/", "/admin/login/", "/verify/x", "/demo/", "/nowhere", "/livez",
    "/metrics", "/v2/Services", "/hooks/0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4/x", "/static/nothing.css", "/llms.txt",
    "/connect/0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4", "/", "/docs", "/admin/", "/admin/accept/x/y/",
]  # fmt: skip


@pytest.mark.parametrize(("method", "content_type"), [("GET", "application/json; charset=utf-8"), ("POST", "")])
@pytest.mark.parametrize("path", ODD_PATHS)
def test_more_fields_than_are_read_of_a_query_are_no_fault_of_ours(path, method, content_type, answered, caplog):
    status, _, _ = answered(path, "&".join(["a=1"] * 1001), content_type, method=method)
    assert status < 500
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", ""])
def test_the_api_answers_too_many_fields_of_a_query_with_a_problem(content_type, answered):
    status, headers, body = answered("/session/challenge", "&".join(["a=1"] * 1001), content_type)
    assert (status, headers["Content-Type"]) == (400, "application/problem+json")
    assert json.loads(body)["code"] == "parse_error"
