"""Repairs of what comes from the web server, before Django reads it."""

import io

import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import UnreadablePostError
from django.test import RequestFactory

from verification.api.wsgi import (
    UNREADABLE_CONTENT_TYPE,
    CutOff,
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
    seen = passed_on(with_length_of_chunked_body, **{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": CutOff()})
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
