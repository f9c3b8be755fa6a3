"""Servers of tenants that never answer: whoever waits for them leaves the web processes and workers to the others."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit

import pytest
from django.conf import settings

from tests.fakes.http_server import FakeHttpServer, answer
from tests.fakes.telegram import SECRET_HEADER, TOKEN, USERNAME, start
from tests.faults.shop import open_shop, recipient
from tests.live import wait_until
from verification.core.bulkhead import Wait, limits
from verification.services.sessions.bot_updates import PER_PROJECT

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live")]

CALLS = 40  # more than both web processes have threads
USER, PASSWORD = "owner of hanging servers", "a password for one test"
_chats = itertools.count(778000111)

# A tenant whose every server is at one address: a bot, a gateway, and a member who may use the panel.
PREPARE = """
import json, sys
from django.contrib.auth import get_user_model
from verification.services.providers import accounts as providers
from verification.services.projects import projects
from verification.models import Provider

project_id, url, token, username, user, password = sys.argv[1:]
get_user_model().objects.create_superuser(user, password=password)
project = projects.find_project(project_id)
values = {"token": token, "username": username, "base_url": url}
bot = providers.add_provider(
    project=project, channel="messenger_a", provider_type="telegram_bot", name="Bot", values=values
)
secret = providers.adapter_of(bot)._hook_secret()
print(json.dumps({"bot": bot.pk, "hook": providers.hook_url(bot), "secret": secret}))
"""


class Hanging:
    """Answers nobody until the end, and knows how many it was asked by."""

    def __init__(self):
        self.ended = threading.Event()
        self.counting = threading.Lock()
        self.asked = 0

    def __call__(self, server, connection):
        with self.counting:
            self.asked += 1
        self.ended.wait()
        return answer(200, b'{"ok":true,"result":{}}')(server, connection)


@pytest.fixture
def hanging(tenants_server):
    tenants_server.default = made = Hanging()
    yield made
    made.ended.set()


@pytest.fixture(scope="module")
def tenants_server():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture(scope="module")
def tenant(service, tenants_server):
    return open_shop(service, tenants_server)


@pytest.fixture(scope="module")
def made(service, tenant, tenants_server):
    return json.loads(service.python(PREPARE, str(tenant.id), tenants_server.url, TOKEN, USERNAME, USER, PASSWORD))


class Panel:
    """Somebody who is logged in, as a browser would be."""

    def __init__(self, port):
        self.port = port
        self.cookies = {}
        self.ask("GET", "/admin/login/")
        self.post("/admin/login/", username=USER, password=PASSWORD)

    def post(self, path, **fields):
        return self.ask("POST", path, urlencode({**fields, "csrfmiddlewaretoken": self.cookies["csrftoken"]}))

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        for header in response.headers.get_all("Set-Cookie") or []:
            self.cookies.update({name: morsel.value for name, morsel in SimpleCookie(header).items()})
        connection.close()
        return response.status, text


def in_background(count, act):
    """``act`` in as many threads, and a list that what it returns is added to."""
    results = []
    threads = [threading.Thread(target=lambda: results.append(act()), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, results


def open_and_read(shop):
    """One whole code, from the request to the gateway."""
    shop.open_session(to := recipient())
    return shop.code_for(to)


@pytest.mark.requirement(14)
@pytest.mark.parametrize("page", ["project/{project}/test-event/", "provider/{bot}/check/"])
def test_the_neighbour_is_answered_while_a_tenants_server_hangs(service, shop, tenant, made, hanging, page):
    panel = Panel(service.port)
    path = "/admin/verification/" + page.format(project=tenant.id, bot=made["bot"])
    threads, answers = in_background(CALLS, lambda: panel.post(path, url=f"{tenant.gateway.url}/hook"))
    of_project, _ = limits(Wait.TENANTS_SERVER, settings.WEB_THREADS)
    most = of_project * service.web_processes
    wait_until(lambda: len(answers) + hanging.asked >= CALLS, "those beyond the tenant's room are told to try again")
    assert all(status == 200 and "Try again in a moment" in text for status, text in list(answers))
    asked = hanging.asked
    assert 0 < asked <= most
    assert open_and_read(shop)
    assert (hanging.asked, len(answers)) == (asked, CALLS - asked)  # nobody was answered or gave up meanwhile
    hanging.ended.set()
    for thread in threads:
        thread.join()
    assert {status for status, _ in answers} == {200}


@pytest.mark.requirement(14)
def test_the_neighbour_is_answered_while_a_bots_messenger_hangs(service, shop, tenant, made, hanging):
    path = urlsplit(made["hook"]).path

    def press_start():
        body = start(next(_chats), "")
        return service.call("POST", path, body, headers={SECRET_HEADER: made["secret"]})[0]

    threads, answers = in_background(CALLS, press_start)
    for thread in threads:
        thread.join()
    assert answers == [200] * CALLS
    wait_until(lambda: hanging.asked, "a worker says something in a chat")
    assert hanging.asked <= PER_PROJECT
    assert open_and_read(shop)
    waiting = "SELECT count(*) FROM verification_botupdate WHERE due_at IS NOT NULL"
    assert service.query(waiting)[0][0] > 0
    hanging.ended.set()
    wait_until(lambda: service.query(waiting) == [(0,)], "all of it is acted on")
