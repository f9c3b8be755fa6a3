from __future__ import annotations

from urllib.parse import quote, urlencode

import pytest

from providers import registry
from providers.base import Consent, HookRequest, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, NotConnected, ProviderError, SettingsInvalid
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.manners import HTML
from tests.fakes.messages import make_message

LOOPBACK = ("127.0.0.0/8",)
HOOK_URL = "https://codes.example/hooks/1/2"
SETTINGS = {"url": "https://gateway.example/cgi-bin/sendsms", "username": "tester", "password": "foobar"}
MARK = "f64bf32db88c4597617f35108721c002"  # of the id 42 under this password
PAGE = """Kannel bearerbox version `1.4.5'.

Status: running, uptime 0d 0h 0m 8s

Box connections:
    smsbox:(none), IP 127.0.0.1 (0 queued), (on-line 0d 0h 0m 6s)

SMSC connections:
    FAKE[FAKE]    FAKE:23100 (online 5s, rcvd: sms 0 (0.00,0.00,0.00) / dlr 0 (0.00,0.00,0.00), queued 0 msgs)
    SMPP[two]    SMPP:10.0.0.9:2775/2775:user:VMA (re-connecting, rcvd: sms 0 (0.00,0.00,0.00), queued 0 msgs)
"""


@pytest.fixture
def build(server, store):
    def make(**changes):
        raw = {**SETTINGS, "url": f"{server.url}/cgi-bin/sendsms", **changes}
        settings = registry.clean_settings("kannel", raw, LOOPBACK)
        return registry.build("kannel", settings, http=HttpClient(LOOPBACK), store=store)

    return make


@pytest.fixture
def build_with_status(build, server):
    def make(**changes):
        return build(status_url=f"{server.url}/status.txt", status_password="s&p", **changes)

    return make


def sms(**changes):
    return make_message(**{"hook_url": HOOK_URL, **changes})


def accepted(text="0: Accepted for delivery", status=202):
    return fake.answer(status, text.encode(), {"Content-Type": "text/html"})


def error_of(adapter, message=None):
    with pytest.raises(ProviderError) as caught:
        adapter.send(message or sms())
    for secret in ("4711", "15112345678", "foobar", "tester"):
        assert secret not in str(caught.value)
    return caught.value


def report(kind="1", method="GET", **changes):
    query = {"id": "42", "m": MARK, "t": kind, "a": "", "f": "5198eb10-49c9", **changes}
    return HookRequest(method, HOOK_URL, urlencode(query), {}, b"")


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"url": ""}, "url"),
        ({"url": "http://gateway.example:13013/cgi-bin/sendsms"}, "url"),
        ({"username": ""}, "username"),
        ({"password": ""}, "password"),
        ({"password": "pässword"}, "password"),
        ({"sender": "Łódź"}, "sender"),
        ({"smsc": "é"}, "smsc"),
        ({"max_messages": 0}, "max_messages"),
        ({"max_messages": 256}, "max_messages"),
        ({"status_url": "https://gateway.example/status.txt"}, "status_password"),
        ({"status_password": "x"}, "status_password"),
        ({"status_url": "https://gateway.example/status.txt?password=x", "status_password": "x"}, "status_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings("kannel", {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]
    assert "pässword" not in str(caught.value)


def test_passwords_are_secret():
    _, secret = registry.split_secrets("kannel", registry.clean_settings("kannel", SETTINGS))
    assert set(secret) == {"password", "status_password"}


# Sending


def test_it_posts_the_text_with_headers(build, server):
    server.script(accepted())
    result = build(sender="Shop", smsc="FAKE").send(sms())
    [request] = server.requests
    assert (request.method, request.target, request.body) == ("POST", "/cgi-bin/sendsms", b"Your code is 4711")
    assert {name: value for name, value in request.headers.items() if name.startswith(("x-", "content-"))} == {
        "content-type": "text/plain; charset=UTF-8",
        "content-length": "17",
        "x-kannel-username": "tester",
        "x-kannel-password": "foobar",
        "x-kannel-to": "4915112345678",
        "x-kannel-from": "Shop",
        "x-kannel-smsc": "FAKE",
        "x-kannel-validity": "3",
        "x-kannel-dlr-mask": "31",
        "x-kannel-dlr-url": f"{HOOK_URL}?id=42&m={MARK}&t=%d&a=%A&f=%F",
    }
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, None)
    assert (result.provider_status, result.is_delivered) == ("0", False)


@pytest.mark.parametrize(("text", "coding"), [("é€[]", None), ("Код 4711", "2"), ("4711 😀", "2"), ("`4711`", "2")])
def test_it_names_the_coding(build, server, text, coding):
    server.script(accepted())
    build().send(sms(text=text))
    [request] = server.requests
    assert (request.body.decode(), request.headers.get("x-kannel-coding")) == (text, coding)


@pytest.mark.parametrize(("seconds", "minutes"), [(0, "1"), (60, "1"), (61, "2"), (600, "10")])
def test_the_validity_is_in_minutes(build, server, seconds, minutes):
    server.script(accepted())
    build().send(sms(expires_in=seconds))
    assert server.requests[0].headers["x-kannel-validity"] == minutes


def test_a_country_s_sender_comes_first(build, server):
    server.script(accepted())
    build(sender="Shop").send(sms(sender="4930123"))
    assert server.requests[0].headers["x-kannel-from"] == "4930123"


def test_without_settings_kannel_chooses(build, server):
    server.script(accepted())
    build().send(sms())
    assert not {"x-kannel-from", "x-kannel-smsc", "x-kannel-coding"} & set(server.requests[0].headers)


def test_a_percent_sign_of_our_own_is_doubled(build, server):
    server.script(accepted())
    build().send(sms(hook_url="https://codes.example/a%20b"))
    assert server.requests[0].headers["x-kannel-dlr-url"].startswith("https://codes.example/a%%20b?id=42&m=")


def test_without_a_hook_acceptance_is_the_end(build, server):
    server.script(accepted())
    assert build().send(sms(hook_url=None)).is_delivered
    assert not {"x-kannel-dlr-mask", "x-kannel-dlr-url"} & set(server.requests[0].headers)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", {}),
        (" \n", {}),
        ("x" * 161, {}),
        ("ы" * 71, {}),
        ("ы" * 202, {"max_messages": 3}),
    ],
)
def test_it_refuses_what_kannel_would_lose(build, server, text, settings):
    assert error_of(build(**settings), sms(text=text)).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


def test_a_long_text_goes_where_kannel_takes_it(build, server):
    server.script(accepted())
    assert build(max_messages=3).send(sms(text="ы" * 201)).outcome is Outcome.ACCEPTED


def test_a_sender_cannot_add_a_header(build, server):
    assert error_of(build(), sms(sender="Shop\r\nX-Kannel-To: 1")).outcome is Outcome.MISCONFIGURED
    assert server.requests == []


# The answer


def test_a_message_that_waits_for_an_smsc_is_accepted(build, server):
    server.script(accepted("3: Queued for later delivery"))
    result = build().send(sms())
    assert (result.outcome, result.provider_status) == (Outcome.ACCEPTED, "3")


@pytest.mark.parametrize(
    ("status", "text", "outcome"),
    [
        (202, "4: Something new about 4711", Outcome.UNCLEAR),
        (202, "00: Accepted", Outcome.UNCLEAR),
        (200, "0: Accepted for delivery", Outcome.UNCLEAR),
        (403, "Authorization failed for sendsms", Outcome.MISCONFIGURED),
        (400, "Missing receiver(s) number(s), rejected", Outcome.DECLINED),
        (400, "Invalid content-type", Outcome.DECLINED),
        (400, "Number(s) has/have been denied by white- and/or black-lists.", Outcome.DECLINED),
        (404, "Unknown request.", Outcome.MISCONFIGURED),
        (404, "<html>", Outcome.DECLINED),
        (503, "Temporal failure, try again later.", Outcome.TEMPORARY),
    ],
)
def test_it_reads_the_answer(build, server, status, text, outcome):
    server.script(accepted(text, status))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, str(status))


# Check


def test_check_asks_the_status_page(build_with_status, server):
    server.script(fake.answer(200, PAGE.encode()))
    health = build_with_status().check()
    assert health.is_ok and "1 of 2 SMSC links are online" in health.detail
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/status.txt?password=s%26p")


@pytest.mark.parametrize(
    ("page", "smsc", "told"),
    [
        (b"Denied", "", "password"),
        (b"Denied\n", "", "password"),
        (HTML, "", "not the plain one"),
        (b"", "", "not the plain one"),
        (PAGE.replace("running", "suspended").encode(), "", "suspended"),
        (PAGE.replace("(online", "(dead").encode(), "", "0 of 2"),
        (b"Status: running, uptime", "", "0 of 0"),
        (PAGE.encode(), "SMPP", "0 of 1"),
        (PAGE.encode(), "NOPE", "no SMSC with this name"),
        (PAGE.encode(), "smsbox:", "no SMSC with this name"),
    ],
)
def test_check_does_not_believe_a_good_status(build_with_status, server, page, smsc, told):
    server.script(fake.answer(200, page))
    health = build_with_status(smsc=smsc).check()
    assert not health.is_ok and told in health.detail and "s&p" not in health.detail


def test_check_knows_the_smsc_it_was_given(build_with_status, server):
    server.script(fake.answer(200, PAGE.encode()))
    assert build_with_status(smsc="FAKE").check().is_ok


def test_check_tells_of_an_answer_that_is_none(build_with_status, server):
    server.script(fake.answer(404))
    with pytest.raises(ProviderError):
        build_with_status().check()


def test_check_says_that_it_cannot_ask(build, server):
    health = build().check()
    assert health.is_ok and "only its status page" in health.detail and server.requests == []


def test_check_tells_of_a_gateway_that_is_away(build, server):
    adapter = build()
    server.__exit__()
    with pytest.raises(NotConnected):
        adapter.check()


# Verifying reports


def test_it_accepts_a_report_with_our_mark(build):
    build().verify_hook(report())


@pytest.mark.parametrize(
    "request_",
    [
        report(id="43"),
        report(id="042"),
        report(id=""),
        report(id="x"),
        report(m=""),
        report(m="é"),
        report(m=MARK[:-1]),
        report(m=MARK.upper()),
        report(m="0" * 32),
        report(method="POST"),
        HookRequest("GET", HOOK_URL, "", {}, b""),
        HookRequest("GET", HOOK_URL, "&".join(["a=b"] * 100), {}, b""),
    ],
)
def test_it_refuses_a_forged_or_altered_report(build, request_):
    with pytest.raises(HookForged):
        build().verify_hook(request_)


def test_the_mark_is_of_this_password(build):
    with pytest.raises(HookForged):
        build(password="other").verify_hook(report())


# Reading reports


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("1", ReceiptStatus.SUCCESS, ""),
        ("2", ReceiptStatus.FAILED, "The operator could not deliver it."),
        ("4", ReceiptStatus.SENT, ""),
        ("8", ReceiptStatus.SENT, ""),
        ("16", ReceiptStatus.FAILED, "The operator rejected it."),
        ("9", ReceiptStatus.SUCCESS, ""),
        ("12", ReceiptStatus.SENT, ""),
        ("18", ReceiptStatus.FAILED, "The operator could not deliver it."),
        ("20", ReceiptStatus.FAILED, "The operator rejected it."),
        ("3", ReceiptStatus.SUCCESS, ""),
        ("36", ReceiptStatus.SENT, ""),
    ],
)
def test_it_reads_a_report(build, kind, status, error):
    [receipt] = build().parse_hook(report(kind)).events
    assert (receipt.status, receipt.message_id, receipt.provider_message_id) == (status, 42, None)
    assert (receipt.provider_status, receipt.error) == (kind, error)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ACK/", "2"),
        ("NACK/11/Invalid destination 4915112345678", "2 11"),
        ("id:77 sub:001 dlvrd:000 stat:UNDELIV err:042 text:Your code is 4711", "2 UNDELIV 042"),
        ("<script>", "2"),
    ],
)
def test_it_takes_only_reasons_from_the_operator_s_text(build, text, told):
    [receipt] = build().parse_hook(report("2", a=text)).events
    assert receipt.provider_status == told


def test_what_the_operator_gave_up_in_time_is_expired_and_says_so(build):
    [receipt] = build().parse_hook(report("2", a="id:77 stat:EXPIRED err:000 text:4711")).events
    told = "The operator could not deliver it in time (EXPIRED)."
    assert (receipt.status, receipt.error) == (ReceiptStatus.EXPIRED, told)


def test_the_operators_reason_stands_in_the_error(build):
    [receipt] = build().parse_hook(report("2", a="id:77 stat:UNDELIV err:042 text:4711")).events
    assert receipt.error == "The operator could not deliver it (UNDELIV)."


def wrote(text, sender="%2B4915112345678"):
    """Return a user's text as the sms-service of docs/providers/kannel.md passes it on."""
    return HookRequest("GET", HOOK_URL, f"sender={sender}&text={quote(text)}", {}, b"")


@pytest.mark.parametrize(
    ("request_", "is_given"),
    [(wrote("STOP"), False), (wrote("arrêt"), False), (wrote("Stop", "4915112345678"), False), (wrote("START"), True)],
)
def test_it_reads_the_keyword_that_a_user_wrote(build, request_, is_given):
    adapter = build()
    adapter.verify_hook(request_)
    reply = adapter.parse_hook(request_)
    assert (reply.events, reply.body) == ((Consent("+4915112345678", is_given),), b"")


@pytest.mark.parametrize("request_", [wrote("Hello"), wrote("STOP", "Shop"), wrote("")])
def test_it_keeps_nothing_else_that_users_write(build, request_):
    adapter = build()
    adapter.verify_hook(request_)
    assert adapter.parse_hook(request_).events == ()


def test_a_report_without_our_mark_is_not_taken_for_a_text(build):
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("GET", HOOK_URL, "id=42&t=2&sender=1&text=STOP", {}, b""))


@pytest.mark.parametrize("request_", [report(""), report("64"), report("delivered"), report(id=""), report(id="4 2")])
def test_it_does_not_read_garbage(build, request_):
    with pytest.raises(HookUnreadable):
        build().parse_hook(request_)
