"""The whole service over a real Kannel: the code goes out, Kannel reports, and the customer's server is told."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from standardwebhooks import Webhook

from tests.conftest import ROOT
from tests.fakes.http_server import FakeHttpServer
from tests.faults.shop import Shop, recipient
from tests.live import wait_until
from tests.servers.kannel import PASSWORD, USERNAME, Kannel, is_installed

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("live"),
    pytest.mark.skipif(not is_installed(), reason="Debian's packages kannel and kannel-extras are not installed."),
]

# What the provider's page shows to its owner.
HOOK_URL = """
import sys
from verification.models import Provider
from verification.services.providers.accounts import hook_url
print(hook_url(Provider.objects.get(pk=sys.argv[1])))
"""


@pytest.fixture(scope="module")
def kannel(tmp_path_factory):
    with Kannel(tmp_path_factory.mktemp("kannel")) as running:
        yield running


@pytest.fixture(scope="module")
def customer():
    """The customer's server, where callbacks arrive."""
    with FakeHttpServer() as server:
        yield server


@pytest.fixture(scope="module")
def made(service):
    return service.json("createproject", "Shop over Kannel")


@pytest.fixture(scope="module")
def provider_id(service, made, kannel):
    settings = {"url": kannel.sendsms_url, "username": USERNAME, "password": PASSWORD, "max_messages": 3}
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    options += ["--channel", "sms", "--type", "kannel", "--name", "Kannel"]
    return service.json("addprovider", str(made["project"]), *options)["provider"]


@pytest.fixture(scope="module")
def shop(service, made, provider_id, customer):
    return Shop(service, customer, made["project"], made["api_key"], made["secret_key"])


def texts_to(kannel, to):
    """Return the texts that the operator was given for this number."""
    return re.findall(rf"<\S+ {to.removeprefix('+')} text ([^>]*)>", kannel.received())


def message(shop, message_id):
    status, body, _ = shop.as_server("GET", f"/manual/message/{message_id}")
    assert status == 200, body
    return body


def callbacks_of(customer, message_id):
    return [request for request in list(customer.requests) if request.headers["webhook-id"] == f"msg_{message_id}"]


def send(shop, kannel, customer):
    """A manual send that has reached the operator: its id."""
    to = recipient()
    status, body, _ = shop.send(to, code="481516", callback_url=f"{customer.url}/codes")
    assert status == 200, body
    [text] = wait_until(lambda: texts_to(kannel, to), "the operator gets the text")
    assert "481516" in text
    return body["message_id"]


def test_a_delivered_message_is_a_success_and_the_customer_is_told(shop, kannel, customer, made):
    message_id = send(shop, kannel, customer)
    wait_until(lambda: message(shop, message_id)["status"] == "success", "Kannel's report counts")
    [call] = wait_until(lambda: callbacks_of(customer, message_id), "the customer is called")

    told = Webhook(made["webhook_secret"]).verify(call.body, call.headers)
    assert (call.method, call.target, call.headers["content-type"]) == ("POST", "/codes", "application/json")
    assert re.fullmatch(r"[0-9-]{10}T[0-9:.]+Z", told.pop("finished_at"))
    assert told == message(shop, message_id) == {"id": message_id, "channel": "sms", "status": "success", "error": None}
    wait_until(lambda: is_delivered(shop, message_id), "the callback is noted")
    assert len(callbacks_of(customer, message_id)) == 1


def is_delivered(shop, message_id):
    [(found,)] = shop.service.query(
        "SELECT delivered_at IS NOT NULL AND due_at IS NULL FROM verification_webhookevent WHERE message_id = %s",
        message_id,
    )
    return found


def test_the_report_of_delivery_is_on_record(shop, kannel, customer, provider_id):
    message_id = send(shop, kannel, customer)
    wait_until(lambda: message(shop, message_id)["status"] == "success", "Kannel's report counts")
    [row] = shop.service.query(
        "SELECT m.code_encrypted IS NULL, m.provider_id, a.outcome, a.provider_message_id"
        " FROM verification_message AS m JOIN verification_deliveryattempt AS a ON a.message_id = m.id WHERE m.id = %s",
        message_id,
    )
    assert row == (True, provider_id, "accepted", None)


def test_a_user_logs_in_with_the_code_from_the_operator(shop, kannel):
    to = recipient()
    session_id = shop.open_session(to)
    [text] = wait_until(lambda: texts_to(kannel, to), "the operator gets the text")
    status, checked, _ = shop.check(session_id, re.search(r"\b[0-9]{6}\b", text)[0])
    assert status == 200, checked
    assert shop.verify(checked["verify_token"])[:2] == (200, {"phone": to})


@pytest.fixture(scope="module")
def users_write(service, provider_id, tmp_path_factory):
    """Let a user write one text to a Kannel that is set up as docs/providers/kannel.md says. Returns what it has sent
    when ``is_heard`` holds."""
    page = (ROOT / "docs" / "providers" / "kannel.md").read_text()
    [documented] = re.findall(r"group = sms-service\nkeyword = default\n(.*?)```", page, re.DOTALL)
    url = service.python(HOOK_URL, str(provider_id)).strip()
    service_lines = documented.replace("https://codes.example.com/hooks/…/…", url)
    assert url in service_lines

    def write(sender, text, is_heard):
        texts = [f"{sender.removeprefix('+')} 13013 text {text}"]
        with Kannel(tmp_path_factory.mktemp("kannel"), service=service_lines, texts=texts) as kannel:
            wait_until(is_heard, f"{text} is heard")
            return kannel.received()

    return write


def test_a_user_ends_messages_by_stop_and_resumes_them_by_start(shop, users_write):
    to = recipient()
    sent = users_write(to, "Stop", lambda: shop.is_suppressed(to))
    assert not re.findall(rf"<\S+ {to.removeprefix('+')} ", sent)  # no reply
    assert shop.send(to)[0] == 403
    users_write(to, "START", lambda: not shop.is_suppressed(to))
    assert shop.send(to)[0] == 200


def test_a_forged_report_changes_nothing(shop, kannel, customer, provider_id):
    message_id = send(shop, kannel, customer)
    path = urlsplit(shop.service.python(HOOK_URL, str(provider_id)).strip()).path
    forged = f"?id={message_id}&m={'0' * 32}&t=2&a=&f="
    assert shop.service.call("GET", f"{path}{forged}")[0] == 401
    assert shop.service.call("GET", f"{path}-wrong{forged}")[0] == 404
    wait_until(lambda: message(shop, message_id)["status"] == "success", "Kannel's own report counts")
