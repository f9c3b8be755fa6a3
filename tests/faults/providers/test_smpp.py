"""The whole service over a message centre: workers with and without its connection, and a restart in the middle."""

from __future__ import annotations

import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from providers.smpp.pdu import ShortMessage, SmppAddress
from tests.fakes import smsc as fake
from tests.fakes.http_server import FakeHttpServer
from tests.fakes.smsc import PASSWORD, SYSTEM_ID, Smsc
from tests.faults.shop import Shop, add_gateway, recipient
from tests.live import wait_until as wait_for_long

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live"), pytest.mark.timeout(300)]

wait_until = partial(wait_for_long, seconds=120)  # some hundred messages on a busy machine

MESSAGES = 300
RESTART_AFTER = 100
LINES = "connections"  # the worker's name


@pytest.fixture(scope="module")
def smsc():
    with Smsc(receipt=fake.by_text) as running:
        yield running


@pytest.fixture(scope="module")
def provider_id(service, made, smsc):
    settings = {"host": "127.0.0.1", "port": smsc.port, "tls": "false", "system_id": SYSTEM_ID, "password": PASSWORD}
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    options += ["--channel", "sms", "--type", "smpp", "--name", "Operator", "--priority", "10"]
    return service.json("addprovider", str(made["project"]), *options)["provider"]


@pytest.fixture(scope="module")
def made(service):
    return service.json("createproject", "Shop over SMPP")


@pytest.fixture(scope="module")
def shop(service, made, provider_id, smsc):
    """A shop with an HTTP gateway behind the message centre, and an ordinary worker beside the connected one."""
    with FakeHttpServer() as gateway:
        shop = Shop(service, gateway, made["project"], made["api_key"], made["secret_key"])
        add_gateway(shop, gateway)
        shop.set(requests_per_second=0)  # all messages are asked for at once
        yield shop
        if LINES in service.processes:
            service.kill(LINES)


@pytest.fixture(autouse=True)
def connections_worker(service, shop, smsc, provider_id):
    """Every test finds the line bound and in use, whatever the one before it did to it."""
    if LINES not in service.processes:
        service.start_command(LINES, "worker", "--connections", "--threads", "8")
    wait_until(smsc.bound, "the connections worker is bound")
    forget_faults(shop, provider_id)
    wait_until(lambda: goes_over_the_bind(shop, smsc), "a message goes over the bind")


def goes_over_the_bind(shop, smsc):
    to = recipient()
    shop.send(to)
    ending(shop, to)
    return arrived(smsc, to)


def ending(shop, to):
    return wait_until(lambda: set(shop.messages_to(to)) <= {"success", "failed"} and shop.messages_to(to), "it ends")


def arrived(smsc, to):
    return [message for message in list(smsc.messages) if message.destination.number == to.removeprefix("+")]


def forget_faults(shop, provider_id):
    """Close the breaker that broken lines have opened, and forget the attempts."""
    shop.service.query(
        "UPDATE verification_circuitbreaker SET open_until = NULL WHERE provider_id = %s RETURNING 1", provider_id
    )
    shop.service.query("DELETE FROM verification_deliveryattempt WHERE provider_id = %s RETURNING 1", provider_id)


def test_a_code_goes_out_over_the_bind_and_its_receipt_comes_back(shop, smsc):
    to = recipient()
    shop.send(to, code="481516")
    assert ending(shop, to) == ["success"]
    [message] = arrived(smsc, to)
    assert b"481516" in message.content and shop.sent_to(to) == []


def test_a_user_ends_messages_by_stop_and_resumes_them_by_start(shop, smsc):
    to = recipient()

    def write(text):
        smsc.deliver(ShortMessage(SmppAddress(to.removeprefix("+"), ton=1, npi=1), SmppAddress("13013"), text))

    write(b"STOP")
    wait_until(lambda: shop.is_suppressed(to), "the number is suppressed")
    assert shop.send(to)[0] == 403
    write(b"START")
    wait_until(lambda: not shop.is_suppressed(to), "it is lifted")
    assert shop.send(to)[0] == 200


def test_messages_outlive_a_restart_of_the_message_centre(shop, smsc, provider_id):
    numbers = [recipient() for _ in range(MESSAGES)]
    before = len(smsc.messages)

    def restart():
        wait_until(lambda: len(smsc.messages) > before + RESTART_AFTER, "a third of the messages arrived")
        smsc.stop()
        smsc.start()

    with ThreadPoolExecutor(5) as pool:
        restarted = pool.submit(restart)
        assert Counter(pool.map(lambda to: shop.send(to)[0], numbers)) == {200: MESSAGES}
        restarted.result()
    wait_until(lambda: counts(shop, numbers) == {"success": MESSAGES}, "every message ends well")
    by_bind = Counter(f"+{message.destination.number}" for message in list(smsc.messages))
    by_gateway = Counter(request.json()["to"] for request in list(shop.gateway.requests))
    received = by_bind + by_gateway
    assert [to for to in numbers if not received[to]] == []
    # Twice only where the line broke before the answer, and then by another provider.
    assert max(by_bind[to] for to in numbers) == 1
    assert {to for to in numbers if received[to] > 1} <= in_doubt(shop, provider_id)


def counts(shop, numbers):
    rows = shop.service.query(
        "SELECT m.status, count(*) FROM verification_message AS m JOIN verification_recipient AS r"
        " ON r.id = m.recipient_id WHERE r.project_id = %s AND r.address = ANY (%s) GROUP BY 1",
        shop.id,
        numbers,
    )
    return dict(rows)


def in_doubt(shop, provider_id):
    rows = shop.service.query(
        "SELECT r.address FROM verification_deliveryattempt AS a JOIN verification_message AS m ON m.id = a.message_id"
        " JOIN verification_recipient AS r ON r.id = m.recipient_id WHERE a.provider_id = %s AND a.outcome = 'unknown'",
        provider_id,
    )
    return {to for (to,) in rows}


def test_without_a_connections_worker_the_next_provider_sends(service, shop, smsc):
    [peer] = wait_until(smsc.bound, "it is bound")
    service.kill(LINES, signal.SIGTERM)
    wait_until(lambda: peer.has_unbound, "the message centre has read its farewell")
    numbers = [recipient() for _ in range(5)]
    for to in numbers:
        shop.send(to)
    assert [ending(shop, to) for to in numbers] == [["success"]] * 5
    assert [(len(shop.sent_to(to)), len(arrived(smsc, to))) for to in numbers] == [(1, 0)] * 5
