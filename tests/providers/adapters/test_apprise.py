from __future__ import annotations

import logging

import pytest
import requests

from providers import registry
from providers.base import Outcome
from providers.errors import ProviderError, SettingsInvalid
from providers.http import libraries
from providers.http.client import HttpClient
from providers.http.libraries import LibraryCall
from tests.fakes import http_server as fake
from tests.fakes.manners import SLOW_ANSWERS, HastyDoor
from tests.fakes.messages import error_of, make_sms, secrets_of
from tests.fakes.store import FakeStore

LOOPBACK = ("127.0.0.0/8",)
TYPE = "apprise"
DOES_MORE = (
    "amqp aprs blink1 dbus discord fcm gio glib gnome growl irc kde macosx mailto mailtos matrix mqtt mqtts nostr"
    " qt rsyslog slack smpp smpps syslog tgram vapid windows workflows xmpp"
)


def make(url, *, door=None):
    settings = registry.clean_settings(TYPE, {"url": url})
    return registry.build(TYPE, settings, http=door or HttpClient(LOOPBACK), store=FakeStore())


@pytest.fixture
def adapter(server):
    return make(f"json://user:hush-hush@127.0.0.1:{server.port}/{{to_digits}}")


# Settings


@pytest.mark.parametrize(
    "url",
    [
        "",
        "no URL",
        "{to}://example.com/",
        "pigeon://example.com/{to}",
        "json://example.com/",  # every code would go to the same place
        "twilio://{to}",
    ],
)
def test_it_refuses_wrong_urls(url):
    with pytest.raises(SettingsInvalid) as caught:
        make(url)
    assert list(caught.value.errors) == ["url"]


@pytest.mark.parametrize("scheme", DOES_MORE.split())
def test_what_does_more_than_ask_by_http_is_refused(scheme):
    """The desktop, programs, files of this machine, and sockets that no guard would judge."""
    with pytest.raises(SettingsInvalid, match="more on this machine than send HTTP requests"):
        make(f"{scheme}://user:password@example.com/{{to}}")


@pytest.mark.parametrize("scheme", ["file", "exec", "python", "config", "http", "https"])
def test_there_is_no_way_to_files_and_programs(scheme):
    with pytest.raises(SettingsInvalid):
        make(f"{scheme}:///etc/passwd?to={{to}}")


def test_most_services_may_be_used():
    from apprise.manager_plugins import NotificationManager

    from providers.adapters.apprise import _scheme_problem

    allowed = [scheme for scheme in NotificationManager().schemas() if not _scheme_problem(scheme)]
    assert len(allowed) > 180 and {"json", "twilio", "clicksend", "mailgun", "voipms", "ses"} <= set(allowed)


def test_a_url_is_read_without_asking_anybody(monkeypatch):
    """A plugin that asks while it is made gets no further than one that sends."""
    from apprise.plugins.custom_json import NotifyJSON

    make_plugin, met = NotifyJSON.__init__, []

    def asking(self, *arguments, **options):
        make_plugin(self, *arguments, **options)
        with pytest.raises(requests.ConnectionError) as caught:
            requests.get("https://example.com", timeout=1)
        met.append(str(caught.value))

    monkeypatch.setattr(NotifyJSON, "__init__", asking)
    make("json://example.com/{to}")
    assert met == ["there was no time left to ask the provider"]


def test_the_url_is_secret():
    settings = registry.clean_settings(TYPE, {"url": "json://example.com/{to}"})
    assert registry.split_secrets(TYPE, settings) == ({}, settings)


# Sending


def test_it_sends_a_message(adapter, server):
    result = adapter.send(make_sms(subject="Shop"))
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/4915112345678")
    assert (request.json()["title"], request.json()["message"]) == ("Shop", "Your code is 4711")
    assert (result.outcome, result.provider_status, result.is_delivered) == (Outcome.ACCEPTED, "200", True)


def test_what_stands_in_the_url_stays_one_part_of_it(server):
    adapter = make(f"json://127.0.0.1:{server.port}/a/{{to}}?-code={{code}}")
    adapter.send(make_sms(to="ada/../x?y=1&z@example.com", code="47&11"))
    assert server.requests[0].target.partition("?")[0] == "/a/ada%2F..%2Fx%3Fy=1&z@example.com"


@pytest.mark.parametrize(
    ("behaviour", "outcome"),
    [
        (fake.answer(400, b"about +4915112345678"), Outcome.DECLINED),
        (fake.answer(401, b"x"), Outcome.MISCONFIGURED),
        (fake.answer(402, b"x"), Outcome.OUT_OF_FUNDS),
        (fake.answer(429, b"x"), Outcome.RATE_LIMITED),
        (fake.answer(500, b"x"), Outcome.TEMPORARY),
        (fake.hang_up(), Outcome.UNKNOWN),
        (fake.huge_body(), Outcome.UNKNOWN),
        (fake.gzip_bomb(), Outcome.UNKNOWN),
    ],
)
def test_a_refusal_is_told_by_the_wire_and_never_repeated(adapter, server, behaviour, outcome):
    server.script(behaviour)
    assert (error_of(adapter).outcome, len(server.requests)) == (outcome, 1)


def test_a_url_cannot_ask_for_retries(server):
    server.script(fake.answer(500))
    assert error_of(make(f"json://127.0.0.1:{server.port}/{{to}}?retry=5&wait=60")).outcome is Outcome.TEMPORARY
    assert len(server.requests) == 1


def test_no_service_makes_us_wait(adapter, server, monkeypatch):
    """Plugins sleep as long as a service's Retry-After says; here none of them does."""
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"slept {seconds} s"))
    server.script(fake.answer(429, b"x", {"Retry-After": "3600"}))
    assert error_of(adapter).retry_after == 3600


@pytest.mark.parametrize("behaviour", SLOW_ANSWERS)
def test_a_slow_answer_leaves_the_outcome_unknown(server, behaviour):
    server.script(behaviour)
    adapter = make(f"json://127.0.0.1:{server.port}/{{to}}", door=HastyDoor(LOOPBACK))
    assert error_of(adapter).outcome is Outcome.UNKNOWN


def test_a_refused_connection_is_surely_not_sent(adapter, server):
    server.close()
    assert error_of(adapter).outcome is Outcome.TEMPORARY


def test_nothing_is_logged(adapter, server, caplog):
    caplog.set_level(logging.DEBUG)
    server.script(fake.answer(500, b"x"))
    error_of(adapter)
    assert [secret for secret in secrets_of(adapter, make_sms()) if secret in caplog.text] == []


def test_check_goes_to_the_host_and_asks_nothing(adapter, server):
    assert "can be reached" in adapter.check().detail
    assert server.requests == []


def test_check_tells_that_the_host_is_away(adapter, server):
    server.close()
    with pytest.raises(ProviderError, match="connection refused"):
        adapter.check()


# The guard


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.7", "169.254.169.254", "inside.example"])
@pytest.mark.parametrize("scheme", ["json", "jsons", "xmls", "forms", "gotifys", "apprises"])
def test_a_tenant_reaches_nothing_inside(server, scheme, host):
    """Plain text by the writing of the URL, TLS by the address behind the name."""
    door = HttpClient(resolver=lambda *_: ["127.0.0.1"])
    adapter = make(f"{scheme}://{host}:{server.port}/{{to}}/abcdefghijklmno", door=door)
    assert error_of(adapter).outcome is Outcome.MISCONFIGURED
    with pytest.raises(ProviderError):
        adapter.check()
    assert server.connections == 0


def test_the_address_that_is_judged_is_the_one_connected_to():
    looked_up = []

    def resolver(host, port, seconds):
        looked_up.append(host)
        return ["8.8.8.8"] if len(looked_up) > 1 else ["10.0.0.7"]

    with pytest.raises(ProviderError, match="is not a public address"):
        make("jsons://rebind.example/{to}", door=HttpClient(resolver=resolver)).send(make_sms())
    assert looked_up == ["rebind.example"]


def test_a_redirect_leads_nowhere(adapter, server):
    with fake.FakeHttpServer() as private:
        server.script(fake.redirect(private.url))
        assert error_of(adapter).outcome is Outcome.MISCONFIGURED
        assert private.connections == 0


def test_neither_proxies_nor_passwords_of_the_environment_are_used(server, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login operator password hush-operator\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    make(f"json://127.0.0.1:{server.port}/{{to}}").send(make_sms())
    assert "authorization" not in server.requests[0].headers


# Sessions


def test_outside_of_a_conversation_sessions_stay_as_they_are():
    with libraries.sessions_through_door(LibraryCall(HttpClient())):
        inside = requests.Session()
    assert not inside.trust_env and requests.Session().trust_env
    assert isinstance(requests.Session().get_adapter("https://x"), requests.adapters.HTTPAdapter)


def test_inside_every_session_is_guarded(server):
    with libraries.sessions_through_door(LibraryCall(HttpClient())):
        with pytest.raises(requests.ConnectionError, match="not a public one"):
            requests.get(server.url, timeout=1)
        with pytest.raises(requests.ConnectionError):
            requests.post(f"http://localhost:{server.port}", data="x", timeout=1)
    assert server.connections == 0


def test_a_conversation_ends_at_its_deadline(server):
    call = LibraryCall(HttpClient(LOOPBACK), seconds=0)
    with pytest.raises(ProviderError, match="no time left"):
        call.ask("GET", server.url, {}, None)
    assert server.connections == 0


def test_no_process_pays_for_a_library_that_it_does_not_use():
    import subprocess
    import sys

    code = (
        "import sys; from providers import registry; from providers.http import libraries; registry.all_types();"
        "print(sorted({'apprise', 'botocore', 'boto3', 'requests', 'anymail'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_class_of_sessions_is_replaced_for_apprise_alone():
    import subprocess
    import sys

    code = (
        "import requests; from providers.http import libraries; from providers.http.client import HttpClient;"
        "made, call = requests.Session.__init__, libraries.LibraryCall(HttpClient());"
        "libraries.requests_session(call); libraries.through_door(call).__enter__();"
        "print(made is requests.Session.__init__);"
        "libraries.sessions_through_door(call).__enter__(); print(made is requests.Session.__init__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
