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
    NotConnected,
    ProviderError,
    SettingsInvalid,
)
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.messages import make_message

LOOPBACK = ("127.0.0.0/8",)
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


@pytest.mark.requirement(84)
@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ({"url": "http://gateway.example/"}, "url"),
        ({"url": "https://{to}.example/"}, "url"),
        ({"method": "DELETE"}, "method"),
        ({"method": "GET"}, "url"),
        ({"method": "GET", "url": "https://gateway.example/{to}", "body": "x"}, "body"),
        ({"body": "to={to}"}, "body"),
        ({"body": '{"text": {text}}'}, "body"),
        ({"body": '{"code": {code}}'}, "body"),
        ({"body": '{"channel": {channel}}'}, "body"),
        ({"headers": "no colon"}, "headers"),
        ({"headers": "X Y: z"}, "headers"),
        ({"headers": "Host: other.example"}, "headers"),
        ({"headers": "Transfer-Encoding: chunked"}, "headers"),
        ({"headers": "X-A: 1\nx-a: 2"}, "headers"),
        ({"headers": "X-A: ü"}, "headers"),
        ({"password": "x"}, "username"),
        ({"url": "https://gateway.example/send?user=shop&password=hush"}, "url"),
        ({"url": "https://gateway.example/send?apikey=hush&to={to}"}, "url"),
        ({"url": "https://gateway.example/send?to={to}&accessToken=hush{to}"}, "url"),
        ({"body": '{"api_key": "hush"}'}, "body"),
        ({"body": "user=shop&pwd=hush", "content_type": "form"}, "body"),
        ({"body": "client_secret: hush", "content_type": "text"}, "body"),
        ({"url": "https://gateway.example/send?key={secret}"}, "secret"),
        ({"headers": "X-Password: {password}"}, "password"),
        ({"url": "https://gateway.example/send?user={username}"}, "username"),
        ({"success_status": "fine"}, "success_status"),
        ({"success_status": "2xx 3xx"}, "success_status"),
        ({"body": '{"hook": {hook_url}}'}, "body"),
        ({**RECEIPTS, "receipt_id_field": ""}, "receipt_id_field"),
        ({**RECEIPTS, "receipt_status_field": ""}, "receipt_status_field"),
        ({**RECEIPTS, "receipt_success": ""}, "receipt_success"),
        ({**RECEIPTS, "receipt_failed": "Delivered"}, "receipt_failed"),
        ({**RECEIPTS, "receipt_sent": "failed"}, "receipt_sent"),
        ({**RECEIPTS, "receipt_secret_header": "X Y"}, "receipt_secret_header"),
        ({"receipt_secret_header": "Host"}, "receipt_secret_header"),
    ],
)
def test_it_refuses_wrong_settings(raw, name):
    assert list(errors_of(**raw)) == [name]


def test_errors_do_not_repeat_a_secret_header():
    assert "hush" not in str(errors_of(headers="X-Key: hush-ü"))


def test_headers_password_and_the_receipts_secret_are_secrets():
    values = registry.clean_settings("http", {"url": "https://gateway.example/"})
    _, secret = registry.split_secrets("http", values)
    assert set(secret) == {"headers", "password", "secret", "receipt_secret"}


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


@pytest.mark.parametrize("channel", CHANNELS)
def test_it_posts_the_fields_as_json(build, server, channel):
    result = build().send(make_message(channel=channel, text=NASTY))
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/send")
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {
        "message_id": 42,
        "to": "+4915112345678",
        "channel": channel,
        "code": "4711",
        "text": NASTY,
        "language": "en",
    }
    assert (result.outcome, result.is_delivered) == (Outcome.ACCEPTED, True)


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


@pytest.mark.parametrize(
    ("path", "body", "found"),
    [
        ("id", {"id": "abc"}, "abc"),
        ("messages.0.id", {"messages": [{"id": 17}]}, "17"),
        ("0", ["x"], "x"),
        ("id", {"id": "y" * 999}, "y" * 200),
    ],
)
def test_it_finds_the_gateways_id(build, server, path, body, found):
    server.script(fake.answer(200, body))
    assert build(message_id_path=path).send(make_message()).provider_message_id == found


@pytest.mark.parametrize(
    "body",
    [b"<html>", b'{"id": ', b"", {"ok": False}, {"id": None}, {"id": ""}, {"id": True}, {"id": {}}, [], "id", 5],
)
def test_an_answer_without_the_expected_id_is_unclear(build, server, body):
    server.script(fake.answer(200, body))
    with pytest.raises(ProviderError) as caught:
        build(message_id_path="id").send(make_message())
    assert caught.value.outcome is Outcome.UNCLEAR


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


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (302, Outcome.MISCONFIGURED),
        (400, Outcome.DECLINED),
        (401, Outcome.MISCONFIGURED),
        (402, Outcome.OUT_OF_FUNDS),
        (429, Outcome.RATE_LIMITED),
        (500, Outcome.TEMPORARY),
    ],
)
def test_it_reads_a_refusal(build, server, status, outcome):
    server.script(fake.answer(status, b"4711", {"Retry-After": "7", "Location": "http://10.0.0.1/"}))
    with pytest.raises(ProviderError) as caught:
        build().send(make_message())
    assert (caught.value.outcome, caught.value.provider_status) == (outcome, str(status))
    assert caught.value.retry_after == (7 if status in (429, 500) else None)
    assert "4711" not in str(caught.value)


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


def test_check_tells_of_a_gateway_that_is_away(store, server):
    settings = {"url": server.url}
    server.__exit__()
    with pytest.raises(NotConnected):
        registry.build("http", settings, http=HttpClient(LOOPBACK), store=store).check()


def test_the_template_of_the_documentation_is_json():
    body = json.dumps({"to": "{to}", "text": "{text}"})
    assert registry.clean_settings("http", {"url": "https://gateway.example/", "body": body})["body"] == body


# Receipts


def get(query, **headers):
    return HookRequest("GET", HOOK_URL, query, headers, b"")


def post(content, kind="application/json", query=""):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return HookRequest("POST", HOOK_URL, query, {"content-type": kind}, body)


def receipts_of(adapter, request):
    adapter.verify_hook(request)
    return adapter.parse_hook(request).events


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_json_is_read_whatever_it_is_called(build, kind):
    request = HookRequest("POST", HOOK_URL, "", {"content-type": kind}, b' {"id": "42", "status": "delivered"}')
    [receipt] = receipts_of(build(**RECEIPTS), request)
    assert receipt.message_id == 42


def test_with_receipts_acceptance_is_not_the_end(build, server):
    body = '{"to": "{to}", "report": "{hook_url}?id={message_id}"}'
    result = build("/{hook_url}", headers="X-Report: {hook_url}", body=body, **RECEIPTS).send(
        make_message(hook_url=HOOK_URL)
    )
    [request] = server.requests
    assert request.target == "/https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2"
    assert request.json()["report"] == f"{HOOK_URL}?id=42" and request.headers["x-report"] == HOOK_URL
    assert (result.outcome, result.is_delivered) == (Outcome.ACCEPTED, False)


def test_without_a_hook_the_placeholder_is_empty(build, server):
    build(body='{"to": "{to}", "report": "{hook_url}"}').send(make_message())
    assert server.requests[0].json()["report"] == ""


@pytest.mark.parametrize(
    "request_",
    [
        get("id=42&status=delivered"),
        post(b"id=42&status=delivered", "application/x-www-form-urlencoded"),
        post(b"status=delivered", "application/x-www-form-urlencoded; charset=utf-8", "id=42"),
        post({"id": "42", "status": "delivered"}),
        post({"id": 42, "status": "DELIVERED "}, "Application/JSON; charset=utf-8"),
        post({"status": "read"}, "application/vnd.gateway+json", "id=42&status=failed"),
    ],
)
def test_it_reads_a_receipt_however_it_comes(build, request_):
    [receipt] = receipts_of(build(**RECEIPTS), request_)
    assert (receipt.status, receipt.message_id, receipt.provider_message_id) == (ReceiptStatus.SUCCESS, 42, None)


def test_it_reads_a_receipt_by_paths_and_the_gateway_s_id(build):
    paths = {"receipt_id_field": "results.0.id", "receipt_status_field": "results.0.status.code"}
    adapter = build(**{**RECEIPTS, **paths, "receipt_success": "0"}, message_id_path="id")
    [receipt] = receipts_of(adapter, post({"results": [{"id": "abc", "status": {"code": 0}}]}))
    assert (receipt.status, receipt.provider_message_id, receipt.message_id) == (ReceiptStatus.SUCCESS, "abc", None)


def test_a_field_may_have_dots_in_its_name(build):
    adapter = build(**{**RECEIPTS, "receipt_id_field": "message.id"})
    [receipt] = receipts_of(adapter, get("message.id=42&status=sent"))
    assert (receipt.message_id, receipt.status) == (42, ReceiptStatus.SENT)


@pytest.mark.parametrize(
    ("word", "status", "error"),
    [
        ("sent", ReceiptStatus.SENT, ""),
        ("read", ReceiptStatus.SUCCESS, ""),
        ("Undeliverable", ReceiptStatus.FAILED, "The gateway reports that it was not delivered."),
    ],
)
def test_the_owner_says_what_a_status_means(build, word, status, error):
    [receipt] = receipts_of(build(**RECEIPTS), get(f"id=42&status={word}"))
    assert (receipt.status, receipt.provider_status, receipt.error) == (status, word, error)


def test_it_passes_over_an_unknown_status(build):
    assert receipts_of(build(**RECEIPTS), get("id=42&status=queued")) == ()


@pytest.mark.parametrize(
    "request_",
    [
        get(""),
        get("id=42"),
        get("status=delivered"),
        get("id=&status=delivered"),
        get("id=x42&status=delivered"),
        get(f"id={'9' * 19}&status=delivered"),
        get("&".join(["a=b"] * 300)),
        post(b""),
        post(b"<html>"),
        post(b"[" * 60_000),
        post(b"9" * 5000),
        post(b"\xff", "application/x-www-form-urlencoded"),
        post([]),
        post({"id": [42], "status": {}}),
        post({"id": True, "status": None}),
        post(b"--x", "multipart/form-data; boundary=x"),
    ],
)
def test_it_does_not_read_garbage(build, request_):
    with pytest.raises(HookUnreadable):
        build(**RECEIPTS).parse_hook(request_)


@pytest.mark.parametrize("changes", [{}, {"receipt_secret_header": "X-Signature"}])
def test_a_receipt_carries_the_secret_in_a_header(build, changes):
    adapter = build(**RECEIPTS, receipt_secret="hush", **changes)
    name = changes.get("receipt_secret_header", "X-Receipt-Secret").lower()
    adapter.verify_hook(get("", **{name: "hush"}))
    for headers in ({}, {name: ""}, {name: "hush "}, {name: "Hush"}, {name: "é"}, {"x-other": "hush"}):
        with pytest.raises(HookForged):
            adapter.verify_hook(get("", **headers))


@pytest.mark.parametrize("method", ["PUT", "HEAD", "DELETE"])
def test_a_receipt_is_a_get_or_a_post(build, method):
    with pytest.raises(HookForged):
        build(**RECEIPTS).verify_hook(HookRequest(method, HOOK_URL, "id=42&status=sent", {}, b""))


def test_no_receipt_is_taken_where_none_is_set_up(build):
    with pytest.raises(HookForged):
        build().verify_hook(get("id=42&status=delivered"))
