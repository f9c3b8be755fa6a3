"""Calls from browsers: only the session endpoints, only from origins that a project lists."""

from unittest import mock

import pytest

from tests import factories
from tests.api.calls import ENDPOINTS, Api, problem
from tests.fakes.outage import database_away
from verification.api import authentication

pytestmark = pytest.mark.django_db

ORIGIN = "https://app.example.com"
FOR_BROWSERS = [endpoint for endpoint in ENDPOINTS if endpoint[2] == "api"]
every_browser_endpoint = pytest.mark.parametrize(("method", "path", "kind"), FOR_BROWSERS)


@pytest.fixture
def project(project):
    return project.set(origins=[ORIGIN])


def preflight(api, path, *, origin=ORIGIN, method="POST"):
    headers = {"origin": origin, "access-control-request-method": method}
    return api.call("OPTIONS", path, headers=headers)


def varies_on(response):
    return response["Vary"].lower().split(", ")


def cors_headers(response):
    return [name for name in response.headers if name.lower().startswith("access-control-")]


# --- preflights ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement(104)
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://app.example.com.evil.example",
        "https://evil-app.example.com",
        "https://sub.app.example.com",
        "https://app.example.com/",
        "HTTPS://APP.EXAMPLE.COM",
        "null",
        "*",
        "",
    ],
)
def test_a_preflight_from_any_other_origin_is_not_allowed(api, origin):
    assert cors_headers(preflight(api, "/session/create", origin=origin)) == []


def test_an_origin_of_any_enabled_project_will_do_for_a_preflight(api):
    factories.project().set(origins=["https://other.example"])
    assert preflight(api, "/session/create", origin="https://other.example").has_header("Access-Control-Allow-Origin")


def test_an_origin_of_a_disabled_project_will_not(api, project):
    project.set(is_enabled=False)
    assert cors_headers(preflight(api, "/session/create")) == []


# --- answers ---------------------------------------------------------------------------------------------------------


@every_browser_endpoint
@pytest.mark.parametrize("key", ["", "ww_api_nonsense"])
def test_an_origin_of_any_project_may_read_that_its_key_is_wrong(api, method, path, kind, key):
    refused, elsewhere = (
        api.call(method, path, {}, key=key, headers={"origin": origin}) for origin in (ORIGIN, "https://evil.example")
    )
    assert refused.status_code == elsewhere.status_code == 401
    assert refused["WWW-Authenticate"] == "ApiKey"
    assert refused["Access-Control-Allow-Origin"] == ORIGIN
    assert cors_headers(elsewhere) == []


def test_without_a_key_nothing_else_may_be_read(api):
    response = api.call("GET", "/session/challenge?project=nobody", headers={"origin": ORIGIN})
    assert problem(response) == (400, "validation_error")
    assert cors_headers(response) == []


def test_while_the_database_is_away_a_missing_key_is_still_told(api, transactional_db):
    with database_away():
        response = api.call("POST", "/session/create", {}, headers={"origin": ORIGIN})
    assert problem(response) == (401, "missing_api_key")
    assert cors_headers(response) == []


@pytest.mark.requirement(104)
def test_the_keys_own_project_must_list_the_origin(api):
    factories.project().set(origins=["https://other.example"])
    response = api.create(headers={"origin": "https://other.example"})
    assert response.status_code == 200
    assert cors_headers(response) == []


def test_a_project_that_lists_none_allows_none(client, project):
    other = factories.project()
    response = Api(client, other.api_key, other.secret_key).create(headers={"origin": ORIGIN})
    assert cors_headers(response) == []


def test_the_origin_of_an_app_can_be_listed(api, project):
    project.set(origins=["capacitor://localhost"])
    response = api.create(headers={"origin": "capacitor://localhost"})
    assert response["Access-Control-Allow-Origin"] == "capacitor://localhost"


REFUSED = [
    {"raw": "{"},
    {"raw": "x" * 16_385},
    {"raw": "{}", "content_type": "text/plain"},
    {"headers": {"host": "evil.example"}},
    {"headers": {"origin": "https://evil.example", "host": "evil.example"}},
    {"headers": {"origin": "null"}},
]


@pytest.mark.parametrize("path", [path for _, path, _ in FOR_BROWSERS] + ["/session/challenge", "/session/create/"])
@pytest.mark.parametrize("given", REFUSED)
def test_every_refusal_varies_on_the_origin_too(api, path, given):
    for method in ("POST", "OPTIONS", "HEAD"):
        assert "origin" in varies_on(api.call(method, path, key=api.api_key, **given)), method


@every_browser_endpoint
def test_what_fails_varies_on_the_origin_too(api, transactional_db, method, path, kind, monkeypatch):
    with database_away():
        assert "origin" in varies_on(api.call(method, path, {}, key=api.api_key))
    monkeypatch.setattr(authentication.keys, "authenticate", mock.Mock(side_effect=RuntimeError))
    failed = api.call(method, path, {}, key=api.api_key)
    assert problem(failed) == (500, "internal_error")
    assert "origin" in varies_on(failed)
