"""The API's answers, byte for byte, against those that were recorded (corpus.json).

``RECORD_CORPUS=1 python -m pytest tests/api/corpus/test_corpus.py`` writes the file anew. A commit that
changes it says why.
Requests come in by the application that the web server calls.

Two answers to one request differ only in what chance or time decides. That is put into words, by these rules:

- ids of sessions, UUIDs, moments, envelopes of codes and payloads of links become ``<session>``, ``<uuid>``,
  ``<moment>``, ``<envelope>`` and ``<payload>``
- ids of messages and providers, which are the only numbers under "message_id" and "id", become ``<id>``
- a request's id that we drew becomes ``<request>``; the caller's own stays
- a puzzle's random members become ``<random>``
- the parts of a policy, which come in any order, are sorted
- seconds to wait, which fall while the test runs, are rounded up to half minutes, where there are more than three
- the id and the place of an event become ``<event>`` and ``<place>``

Of the headers those are compared that mean something to callers (``HEADERS``). What nearly every answer carries
(``USUAL``) is written down only where an answer differs: null where the header is missing.
"""

import io
import json
import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from django.db import connection
from django.test import RequestFactory
from django.utils.datastructures import CaseInsensitiveMapping

from tests.api.corpus.scenes import SCENES
from tests.conftest import load_application
from verification.core import caching

pytestmark = pytest.mark.django_db

FILE = Path(__file__).with_name("corpus.json")
IS_RECORDING = bool(os.environ.get("RECORD_CORPUS"))
HEADERS = (
    "Content-Type",
    "Allow",
    "Vary",
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
    "Cache-Control",
    "ETag",
    "X-Request-Id",
    "Access-Control-Allow-Origin",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Headers",
    "Access-Control-Allow-Credentials",
    "Access-Control-Expose-Headers",
    "Access-Control-Max-Age",
    "Content-Security-Policy",
    "X-Content-Type-Options",
    "WWW-Authenticate",
    "X-Test-Login",
    "Idempotency-Replayed",
    "Location",
    "Set-Cookie",
)
USUAL = {
    "Cache-Control": "no-store",
    "X-Request-Id": "corpus",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
HALF_A_MINUTE = 30  # seconds
RULES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b", "<session>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<moment>"),
        (r"aes256:[^\"]+", "<envelope>"),
        (r"\?start=[\w-]+", "?start=<payload>"),
        (r'"(message_id|id)":\d+', r'"\1":<id>'),
        (r'"(nonce|salt|signature|keyPrefix)":"[0-9a-f]+"', r'"\1":"<random>"'),
        (r'"expiresAt":\d+', '"expiresAt":<moment>'),
        (r'"after":"\d{10,}-\d+"', '"after":"<place>"'),
        (r'"id":"evt_\d+"', '"id":"<event>"'),
        (r'"request_id":"[0-9a-f]{32}"', '"request_id":"<request>"'),
    )
)
_SECONDS = re.compile(r'(?<="timeout":)\d+|(?<="retry_after":)\d+')


@pytest.fixture
def application(db, monkeypatch):
    """The web server's. It closes connections after a request, and the tests' transaction lives in one."""
    monkeypatch.setattr(connection, "close_if_unusable_or_obsolete", lambda: None)
    return load_application()


@pytest.fixture(autouse=True)
def no_counts_of_before():
    from tests.fakes.outage import lose_counts

    lose_counts()


class Asking:
    """Asks one scene's requests in turn, and remembers what later ones need."""

    def __init__(self, application, project, outbox):
        self.application = application
        self.project = project
        self.outbox = outbox
        self.kept = {}

    def ask(self, request):
        if request.before:
            request.before(self.project, self.kept)
        status, headers, body = self.call(request)
        if request.keep and status == "200":
            told = json.loads(body)
            self.kept |= {name: str(told[member]) for name, member in request.keep.items()}
            self.outbox.deliver()
        return {
            "request": request.told,
            "status": int(status),
            "headers": _unusual({name: _in_words(name, headers[name]) for name in HEADERS if name in headers}),
            "body": _normal(body.decode()),
        }

    def call(self, request):
        environ = self.environ(request)
        told = []
        answer = self.application(environ, lambda status, headers, exc_info=None: told.append((status, headers)))
        try:
            body = b"".join(answer)
        finally:
            if hasattr(answer, "close"):
                answer.close()
        [(status, headers)] = told
        if request.method == "HEAD":  # of which the web server sends no body
            body = b""
        return status[:3], CaseInsensitiveMapping(headers), body

    def environ(self, request):
        raw = self.filled(request.raw.decode("latin-1")).encode("latin-1")
        path, _, query = self.filled(request.path).partition("?")
        made = RequestFactory().generic(request.method, path, b"", QUERY_STRING=query).environ
        made["REQUEST_METHOD"] = request.method
        made["PATH_INFO"] = unquote_to_bytes(path).decode("latin-1")
        made["wsgi.input"] = io.BytesIO(raw)
        made["HTTP_HOST"] = "testserver"
        if not any(name == "x-request-id" for name in request.headers):
            made["HTTP_X_REQUEST_ID"] = "corpus"
        if request.body is not None or request.method == "POST":
            if request.type is not None:
                made["CONTENT_TYPE"] = request.type
            made["CONTENT_LENGTH"] = str(len(raw))
        if request.chunked:
            made["HTTP_TRANSFER_ENCODING"] = "chunked"
            made["wsgi.input_terminated"] = True
            made.pop("CONTENT_LENGTH", None)
        if request.key:
            made["HTTP_X_API_KEY"] = getattr(self.project, f"{request.key}_key")
        for name, value in request.headers.items():
            variable = name.upper().replace("-", "_")
            named = variable if variable in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{variable}"
            made[named] = self.filled(value).encode().decode("latin-1")
        return made

    def filled(self, text):
        if "{code}" in text:
            self.kept["code"] = self.outbox.code
        for name, value in self.kept.items():
            text = text.replace("{" + name + "}", value)
        return text


def _normal(body):
    for pattern, words in RULES:
        body = pattern.sub(words, body)
    return _SECONDS.sub(lambda found: _rounded(found[0]), body)


def _rounded(seconds):
    """Seconds to wait, with room for a test that takes long."""
    number = int(seconds)
    return seconds if number <= 3 else str(-(-number // HALF_A_MINUTE) * HALF_A_MINUTE)


def _in_words(name, value):
    if name == "Retry-After":
        return _rounded(value)
    if name == "Content-Security-Policy":
        return "; ".join(sorted(value.split("; ")))
    return "<request>" if re.fullmatch(r"[0-9a-f]{32}", value) else value


def _unusual(headers):
    missing = {name: None for name in USUAL if name not in headers}
    return {name: value for name, value in headers.items() if USUAL.get(name) != value} | missing


def _recorded():
    return json.loads(FILE.read_text()) if FILE.exists() else {}


@pytest.mark.requirement(1, 25, 35, 36, 37, 38, 41, 104)
@pytest.mark.parametrize("scene", SCENES)
def test_every_answer_is_what_was_recorded(application, outbox, settings, long_second, scene):
    from tests import factories

    asking = Asking(application, factories.project(name="Corpus", channels=("sms", "voice", "email")), outbox)
    settings.ALTCHA_COST = 10
    answers = []
    for request in SCENES[scene]:
        caching.clear_all()
        answers.append(asking.ask(request))
    if IS_RECORDING:
        FILE.write_text(json.dumps(_recorded() | {scene: answers}, indent=1, ensure_ascii=False) + "\n")
    recorded = _recorded()[scene]
    for answer, expected in zip(answers, recorded, strict=True):
        assert answer == expected


def test_the_corpus_holds_every_scene_and_no_other():
    assert list(_recorded()) == list(SCENES)


def test_other_programs_do_not_inherit_what_a_web_process_sets_for_itself(application):
    assert "DATABASE_STATEMENT_TIMEOUT" not in os.environ
