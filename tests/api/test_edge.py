"""Repairs to a request before Django reads it."""

import io

import pytest
from django.conf import settings

from verification.api.edge import UNREADABLE_CONTENT_TYPE, edge


def passed_on(**environ):
    """The environment as the application behind the edge sees it."""
    seen = []
    edge(lambda environ, start_response: seen.append(environ) or [])(environ, None)
    return seen[0]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-16", "text/plain", "", "x"]
)
def test_a_readable_content_type_is_left_alone(content_type):
    assert passed_on(CONTENT_TYPE=content_type)["CONTENT_TYPE"] == content_type


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=nonsense", "application/json; charset*=nonsense''x"]
)
def test_an_unreadable_content_type_becomes_one_that_nothing_accepts(content_type):
    assert passed_on(CONTENT_TYPE=content_type)["CONTENT_TYPE"] == UNREADABLE_CONTENT_TYPE


def test_a_chunked_body_gets_a_length():
    seen = passed_on(**{"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(b"x" * 5000)})
    assert seen["CONTENT_LENGTH"] == "5000"
    assert seen["wsgi.input"].read() == b"x" * 5000


def test_of_a_chunked_body_no_more_is_read_than_shows_that_it_is_too_large():
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    stream = io.BytesIO(b"x" * 10 * most)
    seen = passed_on(**{"HTTP_TRANSFER_ENCODING": "Chunked", "wsgi.input": stream})
    assert seen["CONTENT_LENGTH"] == str(most + 1)
    assert stream.tell() < 2 * most
