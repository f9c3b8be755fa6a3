"""The doctor's visit from outside: what it concludes from an answer, and a real one by TLS."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from django.core import signing

from providers.http import tls
from tests import factories
from tests.fakes.certificates import make_certificate
from tests.fakes.http_server import FakeHttpServer, answer, raw
from tests.live import free_port
from verification.checks import outside, providers
from verification.checks.registry import Aims
from verification.services.maintenance import visits
from verification.services.maintenance.visits import VisitAnswer
from verification.services.providers.accounts import hook_secret_of

URL = "https://codes.example.com"
DAY = 86_400


def names(found):
    return {finding.id for finding in found}


def seen(**values):
    """The answer of a sound service behind one proxy."""
    return {
        "version": outside.settings.VERSION,
        "host": "codes.example.com",
        "is_host_served": True,
        "is_https": True,
        "peer": "10.0.0.1",
        "forwarded_for": ["198.51.100.7"],
        "trusted_proxies": 1,
        **values,
    }


@pytest.mark.parametrize(
    ("forwarded_for", "trusted", "found"),
    [
        (["198.51.100.7"], 1, set()),  # a proxy that replaces the header
        ([outside.FORGED, "198.51.100.7"], 1, set()),  # one that adds to it
        ([outside.FORGED], 0, set()),  # no proxy
        (["198.51.100.7"], 2, set()),  # the second one adds nothing
        ([outside.FORGED], 1, {"client-addresses-forged"}),
        ([outside.FORGED, "198.51.100.7"], 2, {"client-addresses-forged"}),
        (["198.51.100.7"], 0, {"proxy-taken-for-caller"}),
        ([outside.FORGED, "198.51.100.7", "10.0.0.2"], 1, {"proxy-taken-for-caller"}),
    ],
)
def test_proxies_are_counted_by_what_they_write(forwarded_for, trusted, found):
    assert names(outside.proxies(seen(forwarded_for=forwarded_for, trusted_proxies=trusted))) == found


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, set()),
        ({"host": "codes.example.com:443"}, set()),
        ({"host": "backend"}, {"host-changed"}),
        ({"is_host_served": False}, {"host-refused"}),
        ({"is_https": False}, {"https-not-told"}),
        ({"is_https": False, "trusted_proxies": 0}, set()),  # the settings' check says that
        ({"version": "0.0.9"}, {"web-version-differs"}),
    ],
)
def test_the_host_the_scheme_and_the_version_are_compared(values, found):
    told = seen(**values)
    assert names([*outside.host(told, URL), *outside.scheme(told, URL), *outside.version(told)]) == found


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("max-age=31536000", set()),
        ("max-age=31536000; includeSubDomains", set()),
        ("includeSubDomains; max-age=31536000", set()),
        ("max-age=300", {"hsts-missing"}),
        ("", {"hsts-missing"}),
    ],
)
def test_hsts_is_asked_for_half_a_year(header, found):
    assert names(outside.hsts(VisitAnswer(200, {"strict-transport-security": header}, b"", time.time()))) == found


@pytest.mark.parametrize(
    ("status", "location", "found"),
    [
        (301, "https://codes.example.com/docs/", set()),
        (301, "http://other/", {"plain-http-served"}),
        (200, "", {"plain-http-served"}),
    ],
)
def test_plain_http_has_to_be_sent_on(status, location, found):
    assert names(outside.redirect(VisitAnswer(status, {"location": location}, b""))) == found


def test_a_certificate_near_its_end_and_another_clock_are_found():
    soon, later = time.time() + 3 * DAY, time.time() + 60 * DAY
    assert names(outside.certificate(VisitAnswer(200, {}, b"", soon))) == {"certificate-ends"}
    assert names(outside.certificate(VisitAnswer(200, {}, b"", later))) == set()
    assert names(outside.clock(VisitAnswer(200, {"date": formatdate(time.time() - 60)}, b""))) == {"web-clock-differs"}
    assert names(outside.clock(VisitAnswer(200, {"date": formatdate(time.time())}, b""))) == set()


@pytest.fixture
def https(tmp_path, monkeypatch):
    """A server with TLS whose root this process trusts."""
    certificate = make_certificate(tmp_path, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
    tls.context.cache_clear()
    with FakeHttpServer(tls=certificate.server_context()) as server:
        yield server
    tls.context.cache_clear()


def findings_of(url):
    return names(outside.seen_from_outside(Aims(url=url)))


def test_a_visit_by_tls_sees_the_certificate_and_its_header_says_who_visits(https, settings):
    told = seen(host="localhost", trusted_proxies=0, forwarded_for=[])
    https.default = answer(200, {"status": "ok", "seen": told})
    found = findings_of(f"https://localhost:{https.port}")
    assert found == {"certificate-ends", "hsts-missing"}  # it ends tomorrow
    [request] = https.requests
    assert request.target == "/readyz" and visits.is_ours(request.headers[visits.HEADER.lower()])
    assert request.headers["x-forwarded-for"] == outside.FORGED


def test_a_certificate_that_nobody_vouches_for_is_found(tmp_path):
    with FakeHttpServer(tls=make_certificate(tmp_path, "localhost").server_context()) as server:
        assert findings_of(f"https://localhost:{server.port}") == {"certificate-refused"}


def test_an_early_hint_of_a_proxy_is_not_the_answer():
    with FakeHttpServer(default=raw(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n")) as server:
        assert visits.visit(server.url).status == 404


def test_a_server_that_is_not_ours_is_found():
    with FakeHttpServer(default=answer(200, "<p>It works!</p>")) as server:
        assert findings_of(f"http://127.0.0.1:{server.port}") == {"another-answers"}
        assert findings_of(f"https://127.0.0.1:{server.port}") == {"not-reachable"}
        server.default = answer(404, "Not found")
        assert findings_of(f"http://127.0.0.1:{server.port}") == {"probe-kept-back"}
    assert findings_of(f"http://127.0.0.1:{free_port()}") == {"not-reachable"}


@pytest.fixture
def webhook(project):
    """The path of a webhook of a provider that reports."""
    row = factories.provider(project=project.row, channel="sms", type="twilio", name="Twilio")
    return f"/hooks/{row.uuid}/{hook_secret_of(row)}"


def test_a_webhook_that_a_proxy_closes_is_found(webhook):
    with FakeHttpServer(default=answer(404, {})) as server:
        server.script(answer(200, {"seen": seen()}))
        found = names(providers.webhooks_are_reached(Aims(url=f"http://127.0.0.1:{server.port}")))
    assert found == {"webhook-not-reached"}
    first, *others = server.requests
    assert (first.method, first.target) == ("GET", "/readyz")
    assert {request.method for request in others} == {"HEAD"}
    assert webhook in [request.target for request in others]


def test_a_strangers_server_is_not_told_the_secret_of_a_webhook(webhook):
    with FakeHttpServer(default=answer(200, {})) as server:
        assert names(providers.webhooks_are_reached(Aims(url=f"http://127.0.0.1:{server.port}"))) == set()
    assert [request.target for request in server.requests] == ["/readyz"]


@pytest.mark.requirement(112)
@pytest.mark.django_db
def test_only_a_visitor_with_our_key_is_told_how_it_is_seen(client, settings):
    given = {visits.HEADER: visits.signature(), "X-Forwarded-For": outside.FORGED}
    told = client.get("/readyz", headers=given).json()
    assert told["seen"]["forwarded_for"] == [outside.FORGED] and told["seen"]["version"] == settings.VERSION
    other = signing.TimestampSigner(key="another key", salt=visits.SALT).sign(visits.VISIT)
    for header in ("", "visit", other):
        assert "seen" not in client.get("/readyz", headers={visits.HEADER: header}).json()


def test_a_signature_is_good_for_two_minutes(monkeypatch):
    signed = visits.signature()
    assert visits.is_ours(signed)
    later = time.time() + visits.GOOD_SECONDS + 1
    monkeypatch.setattr("django.core.signing.time.time", lambda: later)
    assert not visits.is_ours(signed)
