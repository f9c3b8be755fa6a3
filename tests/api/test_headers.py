"""Headers that every answer carries for browsers, whichever part of the service gave it."""

import pytest
from django.test import Client

DATA = ("/session/settings", "/session/nowhere", "/manual/channels", "/hooks/nobody/nothing")
PAGES = (
    "/",
    "/docs/",
    "/docs/errors/",
    "/docs/openapi.json",
    "/admin/",
    "/admin/login/",
    "/admin/nowhere/",
    "/nowhere",
)
FILES = ("/static/docs/docs.css", "/static/verification/channels/sms.svg", "/static/nowhere.svg")
YEAR = 31_536_000


@pytest.fixture(scope="module")
def visitor():
    return Client(raise_request_exception=False)


def policy_of(response):
    parts = (part.strip().partition(" ") for part in response["Content-Security-Policy"].split(";"))
    return {name: value for name, _, value in parts}


@pytest.mark.requirement(90)
@pytest.mark.django_db
@pytest.mark.parametrize("path", [*DATA, *PAGES, *FILES])
def test_no_answer_runs_what_is_not_ours_or_is_guessed_at_or_framed(visitor, path):
    response = visitor.get(path)
    policy = policy_of(response)
    assert policy["default-src"] in ("'self'", "'none'")
    assert "unsafe-inline" not in policy.get("script-src", "")
    assert policy["frame-ancestors"] == "'none'"
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", DATA)
@pytest.mark.django_db
def test_an_answer_of_the_api_loads_nothing_at_all(visitor, path):
    assert policy_of(visitor.get(path))["default-src"] == "'none'"


@pytest.mark.parametrize("path", ["/docs/", "/admin/login/"])
@pytest.mark.django_db
def test_a_page_tells_other_sites_nothing_of_its_address(visitor, path):
    response = visitor.get(path)
    assert response["Referrer-Policy"] == response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert policy_of(response)["base-uri"] == policy_of(response)["object-src"] == "'none'"


@pytest.mark.requirement(90)
@pytest.mark.django_db
@pytest.mark.parametrize(("includes", "rest"), [(False, ""), (True, "; includeSubDomains")])
def test_over_https_every_answer_keeps_browsers_there_for_a_year(settings, includes, rest):
    settings.SECURE_HSTS_SECONDS, settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = YEAR, includes
    visitor = Client(raise_request_exception=False)
    for path in ("/session/settings", "/docs/", "/admin/login/", "/nowhere", "/static/docs/docs.css"):
        told = visitor.get(path, secure=True)["Strict-Transport-Security"]
        assert told == f"max-age={YEAR}{rest}", path


@pytest.mark.requirement(106)
@pytest.mark.django_db
def test_trace_is_answered_by_nobody(visitor):
    for path in ("/session/settings", "/docs/"):
        assert visitor.trace(path).status_code in (401, 405)


@pytest.mark.django_db
def test_only_pages_are_redirected_to_https(settings):
    """A program follows no redirect with its key and its body, and a vendor's hook follows none at all."""
    settings.SECURE_SSL_REDIRECT = True
    visitor = Client(raise_request_exception=False)
    for path, status in (
        ("/session/settings", 401),
        ("/session", 401),
        ("/events", 401),
        ("/events/evt_1", 401),
        ("/connect/0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4", 404),
        ("/v2/Services/VA0/Verifications/VE0", 401),
        ("/hooks/nobody/nothing", 404),
        ("/metrics", 404),
    ):
        assert visitor.get(path).status_code == status
    assert visitor.post("/manual/send").status_code == 401
    assert visitor.get("/docs/").status_code == 301
