"""Rules of every endpoint: methods, bodies, headers, and one shape for every failure."""

import re
from urllib.parse import urlsplit

import pytest

from tests.api.calls import ENDPOINTS, POSTS, problem
from verification.services.providers import accounts

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def project(shared_project):
    return shared_project


every_endpoint = pytest.mark.parametrize(("method", "path", "kind"), ENDPOINTS)
every_post = pytest.mark.parametrize(("method", "path", "kind"), POSTS)


# --- the shape of a failure ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "/session/nowhere",
        "/session/nowhere/cancel",
        "/session/create/x",
        "/session/create//",
        "/session//create",
        "/Session/create",
        "/manual/",
        "/session/create.json",
        "/session/%00",
        "/sessi%C3%B6n/create",
        "/%FF",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_path_is_a_problem(api, method, path):
    response = api.call(method, path, key=api.api_key)
    assert problem(response) == (404, "not_found")
    assert response["Content-Type"] == "application/problem+json"
    assert response["Cache-Control"] == "no-store"
    assert response["X-Request-Id"] == response.data["request_id"]


@pytest.mark.requirement(106)
def test_an_unforeseen_exception_is_a_problem_without_details(api, project, caplog):
    bot = project.provider("messenger_a", name="bot", type="collector_faulty")
    response = api.call("POST", urlsplit(accounts.hook_url(bot)).path)
    assert problem(response) == (500, "internal_error")
    assert response["Content-Type"] == "application/problem+json"
    assert "p4ssw0rd" not in response.content.decode() + caplog.text
    assert response.data["request_id"] in {getattr(record, "request_id", "") for record in caplog.records}


# --- methods ---------------------------------------------------------------------------------------------------------


@every_endpoint
def test_another_method_is_refused_and_the_right_one_told(api, method, path, kind):
    for other in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"} - {method}:
        response = api.call(other, path, {}, key=api.key(kind))
        assert problem(response) == (405, "method_not_allowed")
        assert method in response["Allow"].split(", ")


@pytest.mark.requirement(102)
def test_the_method_cannot_be_overridden(api):
    headers = {"x-http-method-override": "GET"}
    response = api.call("POST", "/session/channels", {"_method": "GET"}, key=api.api_key, headers=headers)
    assert problem(response) == (405, "method_not_allowed")


# --- the key comes first ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), [("POST", "/session/create"), ("GET", "/events")])
@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"method": "DELETE"}, id="method"),
        pytest.param({"method": "OPTIONS"}, id="options"),
        pytest.param({"content_type": "text/plain", "raw": "x"}, id="content type"),
        pytest.param({"raw": "{"}, id="malformed"),
        pytest.param({"raw": '{"a": "' + "x" * 20_000 + '"}'}, id="too large"),
    ],
)
def test_without_a_key_nothing_else_is_looked_at(api, method, path, request_):
    response = api.call(**{"method": method, "path": path, **request_})
    assert problem(response) == (401, "missing_api_key")


# --- bodies ----------------------------------------------------------------------------------------------------------


def large_body(size):
    body = '{"to": "+4915112345678", "x": "'
    return body + "x" * (size - len(body) - 2) + '"}'


@pytest.mark.requirement(100)
@every_post
def test_a_body_over_16_kib_is_too_large(api, method, path, kind):
    response = api.call(method, path, key=api.key(kind), raw=large_body(16 * 1024 + 1))
    assert problem(response) == (413, "body_too_large")


@pytest.mark.requirement(102)
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/merge-patch+json",
        "application/jsonp",
        "json",
        "*/*",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        "application/json; charset=",
    ],
)
def test_another_content_type_is_refused(api, content_type):
    for method, path, kind in POSTS:
        response = api.call(method, path, key=api.key(kind), raw='{"to": "+4915112345678"}', content_type=content_type)
        assert problem(response) == (415, "unsupported_media_type"), path


# --- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{"accept": "text/html"}, {"accept": "application/xml;q=1"}, {"accept": "x"}])
@pytest.mark.parametrize("query", ["", "?format=api", "?format=xml"])
def test_whatever_is_asked_for_the_answer_is_json(api, headers, query):
    response = api.call("GET", f"/session/settings{query}", key=api.api_key, headers=headers)
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


OF_THE_MOMENT = ("request_id", "after")


@every_endpoint
def test_a_trailing_slash_makes_no_difference(api, method, path, kind):
    body = {} if method == "POST" else None
    without, with_slash = (api.call(method, path + end, body, key=api.key(kind)) for end in ("", "/"))
    assert without.status_code not in (301, 302, 308)
    for answer in (without, with_slash):
        if isinstance(answer.data, dict):
            answer.data = {name: value for name, value in answer.data.items() if name not in OF_THE_MOMENT}
    assert (with_slash.status_code, with_slash.data) == (without.status_code, without.data)


# --- hosts and request ids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "testserver.evil.example", "", "testserver:x", "a b"])
def test_a_host_that_is_not_served_is_refused(api, host):
    response = api.call("GET", "/session/settings", key=api.api_key, headers={"host": host})
    assert problem(response) == (400, "host_not_allowed")
    assert response["Content-Type"] == "application/problem+json"


@pytest.mark.requirement(105)
def test_the_forwarded_host_counts_for_nothing(api):
    headers = {"x-forwarded-host": "evil.example"}
    assert api.call("GET", "/session/settings", key=api.api_key, headers=headers).status_code == 200


@pytest.mark.parametrize("request_id", ["a", "A-b_c.9", "x" * 64])
def test_a_well_formed_request_id_is_echoed(api, request_id):
    response = api.call("GET", "/session/settings", headers={"x-request-id": request_id})
    assert response["X-Request-Id"] == response.data["request_id"] == request_id


@pytest.mark.requirement(120)
@pytest.mark.parametrize("request_id", ["", " ", "x" * 65, "a b", "a/b", "a\nb", "ä", "a,b", "<a>"])
def test_any_other_request_id_is_replaced(api, request_id):
    response = api.call("GET", "/session/settings", headers={"x-request-id": request_id})
    assert response["X-Request-Id"] == response.data["request_id"] != request_id
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", response["X-Request-Id"])


def test_every_request_has_an_id_of_its_own(api):
    assert api.settings()["X-Request-Id"] != api.settings()["X-Request-Id"]
