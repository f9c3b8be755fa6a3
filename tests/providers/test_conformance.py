"""Rules that hold for every adapter, whatever its vendor answers or calls with.

A new adapter is found by the registry. Where the settings made up for it are not valid, it gets a line in ``SAMPLES``.
"""

from __future__ import annotations

import json
import smtplib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers import registry
from providers.base import Health, HookRequest, Outcome, SettingKind
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import DEFAULT, HttpClient, Timeouts
from providers.parsing import smtp_answers
from providers.smpp import answers as smpp_answers
from tests.fakes import http_server as fake
from tests.fakes.hooks import FORM, JSON
from tests.fakes.manners import BAD_ANSWERS, SLOW_ANSWERS
from tests.fakes.messages import HOOK_URL, make_sms, secrets_of
from tests.fakes.store import FakeStore
from verification.services.delivery.policy import POLICY

LOOPBACK = ("127.0.0.0/8",)
SEND_SECONDS = 5.0  # what one offer may take, by HTTP

SAMPLES = {
    "apprise": {"url": "json://hush-user@127.0.0.1/{to}"},
    "anymail": {"service": "postmark", "from_email": "codes@example.com", "api_key": "hush-key", "has_webhook": True},
    "aws_sms": {"region": "eu-central-1"},
    "aws_sns": {"region": "eu-central-1"},
    "bird": {
        "workspace_id": "a1405560-c8d3-4b1a-877d-3f449ad95352",
        "channel_id": "0b0123bb-ef2e-468f-908a-c026d51636aa",
    },
    "eskiz": {"is_international": True},
    "http": {"message_id_path": "id"},
    "httpsms": {"sender": "+18005550199"},
    "smtp": {"from_email": "codes@example.com", "security": "none"},
    "telegram_bot": {"token": "123456:hush-hush-token", "username": "shop_bot"},
    "telnyx": {"public_key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "sender": "12345"},
    "twilio": {"account_sid": "AC" + "0" * 32, "auth_token": "hush-auth_token", "from_number": "+14155552345"},
    "whatsapp_cloud": {"app_secret": "hush-app_secret", "verify_token": "hush-verify_token"},
    "plivo": {"sender": "12345"},
}
TYPES = registry.all_types()


def _declared(type):
    return registry.adapter_class(type).declared


SPEAKS_HTTP = [type for type in TYPES if any(one.kind is SettingKind.URL for one in _declared(type))]
HAS_NETWORK = [
    type for type in TYPES if any(one.kind in (SettingKind.URL, SettingKind.HOST) for one in _declared(type))
]


class TokenStore(FakeStore):
    """Knows a token for every adapter that keeps one."""

    def get(self, name):
        return super().get(name) or "hush-token"


class CountingDoor(HttpClient):
    """Notes how long after its first request an adapter may still wait, and gives each request ``seconds``."""

    def __init__(self, seconds):
        super().__init__(LOOPBACK)
        self.seconds, self.allowed = seconds, 0.0
        self.began_at = None

    def request(self, method, url, *, timeout=DEFAULT, **options):
        now = time.monotonic()
        self.began_at = self.began_at or now
        self.allowed = max(self.allowed, round(now + timeout.total - self.began_at, 1))
        return super().request(method, url, timeout=Timeouts(self.seconds, self.seconds), **options)


def make(type, server, *, seconds=SEND_SECONDS):
    values = {setting.name: _value(setting, server) for setting in _declared(type)}
    raw = {name: value for name, value in values.items() if value is not None} | SAMPLES.get(type, {})
    settings = registry.clean_settings(type, raw, LOOPBACK)
    return registry.build(type, settings, http=CountingDoor(seconds), store=TokenStore())


def _value(setting, server):
    if setting.kind is SettingKind.URL and (setting.required or setting.name == "base_url"):
        return server.url
    if setting.kind is SettingKind.HOST:
        return "127.0.0.1"
    if setting.name == "port":
        return server.port
    if not setting.required or setting.default != "":
        return None
    return f"hush-{setting.name}" if setting.kind is SettingKind.SECRET else "12345"


def message_for(adapter):
    channel = adapter.channels[0]
    to = "ada@example.com" if channel == "email" else "+4915112345678"
    return make_sms(channel=channel, to=to, account_id="987654321")


def offer(adapter):
    """Send a message and return its outcome and record; nothing but a ProviderError may be raised."""
    try:
        result = adapter.send(message_for(adapter))
    except ProviderError as error:
        return error.outcome, f"{error!r} {error} {error.provider_status}"
    return result.outcome, f"{result!r}"


def give_away(adapter, text):
    return [secret for secret in secrets_of(adapter, message_for(adapter)) if secret in text]


@pytest.mark.requirement(69)
@pytest.mark.parametrize(("behaviour", "outcome"), BAD_ANSWERS)
@pytest.mark.parametrize("type", SPEAKS_HTTP)
def test_a_bad_answer_is_judged_and_never_repeated(server, caplog, type, behaviour, outcome):
    caplog.set_level("DEBUG")
    server.script(behaviour)
    adapter = make(type, server)
    found, record = offer(adapter)
    assert found is outcome
    assert give_away(adapter, record + caplog.text + repr(adapter)) == []
    assert [request.target for request in server.requests].count(server.requests[0].target) == 1
    assert adapter.http.allowed <= SEND_SECONDS


@pytest.mark.parametrize("behaviour", SLOW_ANSWERS)
def test_a_slow_answer_leaves_the_outcome_unknown(server, behaviour):
    for type in SPEAKS_HTTP:
        offer(make(type, server))  # the first loads its library, which is slow for other reasons

    def ask(type):
        with fake.FakeHttpServer(default=behaviour) as slow:
            adapter = make(type, slow, seconds=1.0)
            return type, offer(adapter)[0], len(slow.requests), adapter.http.allowed <= SEND_SECONDS

    with ThreadPoolExecutor(len(SPEAKS_HTTP)) as pool:
        assert list(pool.map(ask, SPEAKS_HTTP)) == [(type, Outcome.UNKNOWN, 1, True) for type in SPEAKS_HTTP]


@pytest.mark.parametrize("type", HAS_NETWORK)
def test_a_refused_connection_is_surely_not_sent(server, type):
    adapter = make(type, server)
    server.close()
    assert offer(adapter)[0] is Outcome.TEMPORARY


@pytest.mark.parametrize("type", SPEAKS_HTTP)
def test_a_redirect_leads_nowhere(server, type):
    with fake.FakeHttpServer() as private:
        server.script(fake.redirect(private.url))
        assert offer(make(type, server))[0] is Outcome.MISCONFIGURED
        assert private.connections == 0


# What vendors answer with a success of HTTP, in words and numbers that no table of ours lists.
REFUSALS = {
    "africas_talking": {"SMSMessageData": {"Message": "Sent to 0/1 Total Cost: 0", "Recipients": []}},
    "eskiz": {"status": "error", "message": "something new"},
    "http": {"status": "refused"},
    "infobip": {"messages": [{"messageId": "1", "status": {"groupName": "REJECTED", "id": 777, "name": "NEW"}}]},
    "telegram_bot": {"ok": False, "error_code": 400, "description": "Bad Request: SOMETHING_NEW"},
    "telegram_gateway": {"ok": False, "error": "SOMETHING_NEW"},
    "twilio": {"sid": "SM" + "0" * 32, "status": "failed", "error_code": 77777},
    "vonage": {"messages": [{"status": "77", "error-text": "something new"}]},
}
NEW = {"error": {"code": 777_777}, "errors": [{"code": "77777"}], "code": "something_new", "message": "Something new"}


def is_a_fault(outcome):
    return POLICY[outcome].is_fault


@pytest.mark.parametrize("status", [400, 403, 404, 406, 409, 410, 413, 422, 451])
@pytest.mark.parametrize("type", SPEAKS_HTTP)
def test_a_refusal_that_no_table_lists_is_nobodys_fault(server, type, status):
    server.script(fake.answer(status, NEW))
    assert is_a_fault(offer(make(type, server))[0]) is None


@pytest.mark.parametrize("type", SPEAKS_HTTP)
def test_a_refusal_in_a_good_answer_that_no_table_lists_is_nobodys_fault(server, type):
    server.script(fake.answer(200, REFUSALS.get(type, NEW)))
    assert not is_a_fault(offer(make(type, server))[0])  # Apprise takes it for an acceptance


@pytest.mark.parametrize("reply", ["554 something new", "550 5.9.9 no", "550 5.7.1 no", "451 something new"])
def test_a_mail_server_s_refusal_that_no_table_lists_is_nobodys_fault(reply):
    code, text = int(reply[:3]), reply[4:].encode()
    for error in (smtplib.SMTPRecipientsRefused({"ada": (code, text)}), smtplib.SMTPDataError(code, text)):
        assert is_a_fault(smtp_answers.explain(error, is_in_doubt=False).outcome) is None


@pytest.mark.parametrize("status", [0x45, 0x61, 0xFE, 0xFF, 0x400, 0x401])
def test_a_message_centre_s_refusal_that_no_table_lists_is_nobodys_fault(status):
    assert is_a_fault(smpp_answers.refusal("rejected the message", status).outcome) is None


@pytest.mark.requirement(23)
@pytest.mark.parametrize("status", [200, 202, 400, 403, 500])
@pytest.mark.parametrize("type", SPEAKS_HTTP)
def test_what_a_vendor_quotes_goes_on_no_record(server, caplog, type, status):
    """It answers with all that it was sent, in every place where adapters look for words."""
    caplog.set_level("DEBUG")
    server.script(_quote(status))
    adapter = make(type, server)
    _, record = offer(adapter)
    assert give_away(adapter, record + caplog.text) == []


def _quote(status):
    def behave(server, connection):
        request = server.asked
        said = f"{request.body.decode()} {request.target} {request.headers}"
        words = ["error", "errorCode", "error-text", "message", "description", "text", "title", "code", "status", "id"]
        quoted = dict.fromkeys(words, said)
        nested = {"ok": False, "messages": [quoted], "requestError": {"serviceException": {"messageId": said}}}
        return fake.answer(status, {**quoted, **nested, "message_uuid": [said]})(server, connection)

    return behave


@pytest.mark.parametrize("behaviour", [fake.hang_up(), fake.answer(200, b"<html>"), fake.answer(500, b"<html>")])
@pytest.mark.parametrize("type", SPEAKS_HTTP)
def test_a_check_says_what_is_wrong(server, type, behaviour):
    server.script(behaviour)
    adapter = make(type, server)
    try:
        health = adapter.check()
    except ProviderError as error:
        assert give_away(adapter, f"{error!r}") == []
    else:
        # Where nothing can be asked, the check says that it is not sure.
        assert isinstance(health, Health) and not (health.is_ok and health.is_sure)


class EveryHeader(dict):
    """Headers in which any name that an adapter looks for is there, with a value that no encoding knows."""

    def __missing__(self, name):
        return "\udcff"

    def __contains__(self, name):
        return True

    def get(self, name, default=None):
        return self[name]


NESTED = {
    "a": [{"b": None}, 5, "x"],
    "results": [{"status": [], "error": 5, "messageId": {}}],
    "entry": [{"changes": 1}],
}
BODIES = [
    b"",
    b"\xff\xfe\x00",
    b"null",
    b"[]",
    b"{}",
    b'"\\ud800"',
    b"[" * 60_000,
    b"=&=&%ff=%ff",
    b"a=b&" * 300,
    json.dumps(NESTED).encode(),
    json.dumps(dict.fromkeys(["messageId", "batch_id", "request_id", "status", "type", "message"], [])).encode(),
]


@pytest.mark.parametrize("type", TYPES)
def test_a_garbled_call_is_forged_or_unreadable(server, type):
    adapter = make(type, server)
    for body in BODIES:
        for kind in (JSON, FORM, ""):
            for method, query in (("POST", ""), ("POST", "id=%ff&id=x&a"), ("GET", "a=b&" * 300), ("GET", "\udcff")):
                request = HookRequest(method, HOOK_URL, query, EveryHeader({"content-type": kind}), body)
                assert _events(adapter.parse_hook, request) == ()
                _events(adapter.verify_hook, request)


def _events(read, request):
    try:
        reply = read(request)
    except (HookForged, HookUnreadable):
        return ()
    return reply.events if reply is not None else ()
