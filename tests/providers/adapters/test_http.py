from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from providers import registry
from providers.base import CHANNELS, HookRequest, Outcome, ReceiptStatus
from providers.errors import (
    AddressBlocked,
    HookForged,
    HookUnreadable,
    ProviderError,
    SettingsInvalid,
)
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.http_server import answer
from tests.fakes.messages import make_message
from tests.providers.vendors import LOOPBACK, Vendor, each

NASTY = 'quote " backslash \\ line\nbreak {code} & = # % + é 😀'
HOOK_URL = "https://codes.example/hooks/1/2"
RECEIPTS = {
    "has_receipts": True,
    "receipt_id_field": "id",
    "receipt_status_field": "status",
    "receipt_success": "delivered, Read",
    "receipt_failed": "failed,undeliverable",
    "receipt_sent": "sent",
}


GOING = {"Retry-After": "7", "Location": "http://10.0.0.1/"}


def get(query, **headers):
    return HookRequest("GET", HOOK_URL, query, headers, b"")


def post(content, kind="application/json", query=""):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return HookRequest("POST", HOOK_URL, query, {"content-type": kind}, body)


DELIVERED = {"status": ReceiptStatus.SUCCESS, "message_id": 42, "provider_message_id": None}
BY_PATH = {
    "receipt_id_field": "results.0.id",
    "receipt_status_field": "results.0.status.code",
    "receipt_success": "0",
    "message_id_path": "id",
}
FORM = "application/x-www-form-urlencoded"

VENDOR = Vendor(
    type="http",
    settings={"url": "https://gateway.example/send"},
    url_setting="url",
    secrets="headers password secret receipt_secret",
    wrong={
        "url": [
            "http://gateway.example/",
            "https://{to}.example/",
            {"method": "GET"},
            "https://gateway.example/send?user=shop&password=hush",
            "https://gateway.example/send?apikey=hush&to={to}",
            "https://gateway.example/send?to={to}&accessToken=hush{to}",
        ],
        "method": ["DELETE"],
        "body": [
            {"method": "GET", "url": "https://gateway.example/{to}", "body": "x"},
            "to={to}",
            {"body": '{"text": {text}}'},
            {"body": '{"code": {code}}'},
            {"body": '{"channel": {channel}}'},
            {"body": '{"api_key": "hush"}'},
            {"body": "user=shop&pwd=hush", "content_type": "form"},
            {"body": "client_secret: hush", "content_type": "text"},
            {"body": '{"hook": {hook_url}}'},
        ],
        "headers": [
            "no colon",
            "X Y: z",
            "Host: other.example",
            "Transfer-Encoding: chunked",
            "X-A: 1\nx-a: 2",
            "X-A: ü",
        ],
        "username": [{"password": "x"}, {"url": "https://gateway.example/send?user={username}"}],
        "secret": [{"url": "https://gateway.example/send?key={secret}"}],
        "password": [{"headers": "X-Password: {password}"}],
        "success_status": ["fine", "2xx 3xx"],
        "receipt_id_field": [{**RECEIPTS, "receipt_id_field": ""}],
        "receipt_status_field": [{**RECEIPTS, "receipt_status_field": ""}],
        "receipt_success": [{**RECEIPTS, "receipt_success": ""}],
        "receipt_failed": [{**RECEIPTS, "receipt_failed": "Delivered"}],
        "receipt_sent": [{**RECEIPTS, "receipt_sent": "failed"}],
        "receipt_secret_header": [{**RECEIPTS, "receipt_secret_header": "X Y"}, "Host"],
    },
    taken=answer(200, {"id": "abc"}),
    sends=[
        *[
            (
                {},
                {"channel": channel, "text": NASTY},
                {
                    "method": "POST",
                    "target": "/send",
                    "header content-type": "application/json",
                    "": {
                        "message_id": 42,
                        "to": "+4915112345678",
                        "channel": channel,
                        "code": "4711",
                        "text": NASTY,
                        "language": "en",
                    },
                    "is_delivered": True,
                },
            )
            for channel in CHANNELS
        ],
        *[
            ({"message_id_path": path}, {}, {"provider_message_id": found}, answer(200, body))
            for path, body, found in [
                ("id", {"id": "abc"}, "abc"),
                ("messages.0.id", {"messages": [{"id": 17}]}, "17"),
                ("0", ["x"], "x"),
                ("id", {"id": "y" * 999}, "y" * 200),
            ]
        ],
        ({"body": '{"to": "{to}", "report": "{hook_url}"}'}, {"hook_url": None}, {"report": ""}),
    ],
    refusals=[
        *[
            (answer(status, b"4711", GOING), outcome, str(status), {"retry_after": 7 if status in (429, 500) else None})
            for status, outcome in [
                (302, Outcome.MISCONFIGURED),
                (400, Outcome.DECLINED),
                (401, Outcome.MISCONFIGURED),
                (402, Outcome.OUT_OF_FUNDS),
                (429, Outcome.RATE_LIMITED),
                (500, Outcome.TEMPORARY),
            ]
        ],
        *[
            (answer(200, body), Outcome.UNCLEAR, None, {}, {}, {"message_id_path": "id"})
            for body in [
                *(b"<html>", b'{"id": ', b"", {"ok": False}, {"id": None}, {"id": ""}, {"id": True}, {"id": {}}),
                *([], "id", 5),
            ]
        ],
    ],
    hook_settings=RECEIPTS,
    takes_get=True,
    forged=[
        *[(HookRequest(method, HOOK_URL, "id=42&status=sent", {}, b""),) for method in ("PUT", "HEAD", "DELETE")],
        (get("id=42&status=delivered"), {"has_receipts": False}),
    ],
    reports=[
        *[
            (
                HookRequest("POST", HOOK_URL, "", {"content-type": kind}, b' {"id": "42", "status": "delivered"}'),
                DELIVERED,
            )
            for kind in ("text/plain", FORM, "")
        ],
        (get("id=42&status=delivered"), DELIVERED),
        (post(b"id=42&status=delivered", FORM), DELIVERED),
        (post(b"status=delivered", f"{FORM}; charset=utf-8", "id=42"), DELIVERED),
        (post({"id": "42", "status": "delivered"}), DELIVERED),
        (post({"id": 42, "status": "DELIVERED "}, "Application/JSON; charset=utf-8"), DELIVERED),
        (post({"status": "read"}, "application/vnd.gateway+json", "id=42&status=failed"), DELIVERED),
        (
            post({"results": [{"id": "abc", "status": {"code": 0}}]}),
            {"status": ReceiptStatus.SUCCESS, "provider_message_id": "abc", "message_id": None},
            BY_PATH,
        ),
        (
            get("message.id=42&status=sent"),
            {"message_id": 42, "status": ReceiptStatus.SENT},
            {"receipt_id_field": "message.id"},
        ),
        *[
            (get(f"id=42&status={word}"), {"status": status, "provider_status": word, "error": error})
            for word, status, error in [
                ("sent", ReceiptStatus.SENT, ""),
                ("read", ReceiptStatus.SUCCESS, ""),
                ("Undeliverable", ReceiptStatus.FAILED, "The gateway reports that it was not delivered."),
            ]
        ],
        (get("id=42&status=queued"), ()),
        *[
            (get(query), HookUnreadable)
            for query in [
                *("", "id=42", "status=delivered", "id=&status=delivered", "id=x42&status=delivered"),
                *(f"id={'9' * 19}&status=delivered", "&".join(["a=b"] * 300)),
            ]
        ],
        *each([post(body) for body in (b"", b"<html>", b"9" * 5000, [])], HookUnreadable),
        *each([post({"id": [42], "status": {}}), post({"id": True, "status": None})], HookUnreadable),
        (post(b"\xff", FORM), HookUnreadable),
        (post(b"--x", "multipart/form-data; boundary=x"), HookUnreadable),
    ],
)


@pytest.fixture
def build(server, store):
    def make(path="/send", **changes):
        raw = {"url": server.url + path, **changes}
        settings = registry.clean_settings("http", raw, LOOPBACK)
        return registry.build("http", settings, http=HttpClient(LOOPBACK), store=store)

    return make


def errors_of(**raw):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings("http", {"url": "https://gateway.example/send", **raw})
    return caught.value.errors


# Settings


def test_errors_do_not_repeat_a_secret_header():
    assert "hush" not in str(errors_of(headers="X-Key: hush-ü"))


@pytest.mark.parametrize(
    "raw",
    [
        {"url": "https://gateway.example/send?keyword=otp&passenger=1&key={to_digits}"},
        {"body": '{"token": "{code}", "secret": "", "to": "{to}"}'},
        {"body": "password={password}&key={secret}", "content_type": "form", "password": "a", "secret": "b"},
    ],
)
def test_what_is_no_written_out_credential_is_taken(raw):
    assert registry.clean_settings("http", {"url": "https://gateway.example/send", **raw})


# Sending


@pytest.mark.requirement(94)
def test_credentials_come_from_the_encrypted_settings_and_end_no_place_they_stand_in(build, server):
    hush = 'p&s="w"\\'
    build(
        "/send?user={username}&pass={password}", username="shop", password=hush, secret=hush, body='{"key": "{secret}"}'
    ).send(make_message())
    [request] = server.requests
    assert parse_qs(urlsplit(request.target).query) == {"user": ["shop"], "pass": [hush]}
    assert request.json() == {"key": hush}
    assert "authorization" not in request.headers


def test_a_password_that_has_no_place_of_its_own_is_for_basic_authentication(build, server):
    build("/send?user={username}", username="shop", password="hush").send(make_message())
    assert server.requests[0].headers["authorization"].startswith("Basic ")


def test_a_value_that_looks_like_a_placeholder_is_not_filled_in_again(build, server):
    build("/send?key={secret}", secret="{code}").send(make_message())
    assert parse_qs(urlsplit(server.requests[0].target).query) == {"key": ["{code}"]}


def test_it_posts_the_fields_as_a_form(build, server):
    build(content_type="form").send(make_message(text=NASTY))
    fields = parse_qs(server.requests[0].body.decode(), strict_parsing=True)
    assert fields["text"] == [NASTY] and fields["to"] == ["+4915112345678"]
    assert server.requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


def test_it_posts_the_text(build, server):
    build(content_type="text").send(make_message(text=NASTY))
    assert server.requests[0].body.decode() == NASTY


def test_a_json_template_keeps_values_in_their_strings(build, server):
    body = '{"n": {message_id}, "d": {to_digits}, "t": "{text}", "s": "{subject}", "p": "{project}", "x": "{other}"}'
    build(body=body).send(make_message(text=NASTY, subject='","n":"'))
    assert server.requests[0].json() == {
        "n": 42,
        "d": 4915112345678,
        "t": NASTY,
        "s": '","n":"',
        "p": "Shop",
        "x": "{other}",
    }


def test_a_form_template_keeps_values_in_their_fields(build, server):
    build(content_type="form", body="a={to}&b={text}&c={code}").send(make_message(text=NASTY))
    fields = parse_qs(server.requests[0].body.decode(), strict_parsing=True)
    assert fields == {"a": ["+4915112345678"], "b": [NASTY], "c": ["4711"]}


def test_the_url_keeps_values_in_their_place(build, server):
    build("/{channel}/{to}?text={text}&x=%20", method="GET").send(make_message(text=NASTY))
    [request] = server.requests
    parts = urlsplit(request.target)
    assert (request.method, parts.path) == ("GET", "/sms/%2B4915112345678")
    assert parse_qs(parts.query) == {"text": [NASTY], "x": [" "]}
    assert request.body == b""


def test_a_long_text_fits_into_a_get(build, server):
    build("/?to={to}&text={text}", method="GET").send(make_message(text="ы" * 1000))
    assert len(server.requests[0].target) > 6000


def test_a_value_is_not_searched_for_placeholders(build, server):
    build(body='{"t": "{text}"}').send(make_message(text="{project}"))
    assert server.requests[0].json() == {"t": "{project}"}


def test_it_sends_headers_and_a_login(build, server):
    adapter = build(
        headers="X-Key: a:b\nX-Id: {message_id}\nContent-Type: application/vnd.x+json",
        username="u",
        password="p",
        method="PUT",
    )
    adapter.send(make_message())
    [request] = server.requests
    assert (request.method, request.headers["authorization"]) == ("PUT", "Basic dTpw")
    assert (request.headers["x-key"], request.headers["x-id"]) == ("a:b", "42")
    assert request.headers["content-type"] == "application/vnd.x+json"


def test_a_text_cannot_add_a_header(build, server):
    with pytest.raises(ProviderError) as caught:
        build(headers="X-Text: {text}").send(make_message(text="a\r\nX-B: c"))
    assert caught.value.outcome is Outcome.MISCONFIGURED
    assert server.requests == []


# The answer


def test_an_accepting_answer_holds_the_expected_text(build, server):
    server.script(fake.answer(200, b"OK 17"), fake.answer(200, b"ERROR 17 4711"))
    adapter = build(success_match="OK")
    assert adapter.send(make_message()).outcome is Outcome.ACCEPTED
    with pytest.raises(ProviderError) as caught:
        adapter.send(make_message())
    assert caught.value.outcome is Outcome.DECLINED
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "status", "is_accepted"),
    [
        ("", 202, True),
        ("200", 202, False),
        ("200, 202", 202, True),
        ("200,3xx", 302, True),
        ("2xx", 302, False),
    ],
)
def test_the_owner_says_which_status_means_accepted(build, server, wanted, status, is_accepted):
    server.script(fake.answer(status))
    adapter = build(success_status=wanted)
    if is_accepted:
        assert adapter.send(make_message()).outcome is Outcome.ACCEPTED
    else:
        with pytest.raises(ProviderError):
            adapter.send(make_message())


def test_a_gateway_inside_is_not_reached_without_leave(server, store):
    settings = {"url": server.url}
    with pytest.raises(AddressBlocked):
        registry.build("http", settings, http=HttpClient(), store=store).send(make_message())


# Check


def test_check_connects_and_sends_nothing(build, server):
    health = build("/{to}?text={text}", method="GET").check()
    assert health.is_ok and not health.is_sure and "checking more would mean sending a message" in health.detail
    assert server.requests == []


@pytest.mark.parametrize(("status", "is_ok"), [(200, True), (401, False), (403, True), (429, True), (500, True)])
def test_check_is_sure_of_refused_credentials_alone(build, server, status, is_ok):
    server.script(fake.answer(status, {}))
    health = build("/send", username="me", password="secret").check()
    assert (health.is_ok, health.is_sure) == (is_ok, not is_ok) and str(status) in health.detail
    assert [(request.method, request.body) for request in server.requests] == [("OPTIONS", b"")]


@pytest.mark.parametrize("status", [404, 410])
def test_check_doubts_the_path_of_a_url_that_is_not_found(build, server, status):
    server.script(fake.answer(status, {}))
    health = build("/send").check()
    assert health.is_ok and not health.is_sure
    assert "path of the URL" in health.detail and str(status) in health.detail


def test_the_template_of_the_documentation_is_json():
    body = json.dumps({"to": "{to}", "text": "{text}"})
    assert registry.clean_settings("http", {"url": "https://gateway.example/", "body": body})["body"] == body


# Receipts


def test_with_receipts_acceptance_is_not_the_end(build, server):
    body = '{"to": "{to}", "report": "{hook_url}?id={message_id}"}'
    result = build("/{hook_url}", headers="X-Report: {hook_url}", body=body, **RECEIPTS).send(
        make_message(hook_url=HOOK_URL)
    )
    [request] = server.requests
    assert request.target == "/https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2"
    assert request.json()["report"] == f"{HOOK_URL}?id=42" and request.headers["x-report"] == HOOK_URL
    assert (result.outcome, result.is_delivered) == (Outcome.ACCEPTED, False)


@pytest.mark.parametrize("changes", [{}, {"receipt_secret_header": "X-Signature"}])
def test_a_receipt_carries_the_secret_in_a_header(build, changes):
    adapter = build(**RECEIPTS, receipt_secret="hush", **changes)
    name = changes.get("receipt_secret_header", "X-Receipt-Secret").lower()
    adapter.verify_hook(get("", **{name: "hush"}))
    for headers in ({}, {name: ""}, {name: "hush "}, {name: "Hush"}, {name: "é"}, {"x-other": "hush"}):
        with pytest.raises(HookForged):
            adapter.verify_hook(get("", **headers))
