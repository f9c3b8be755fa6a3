"""Two gateways, the first of which fails in every way that we know: the code arrives through the second."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.fakes import http_server as fake
from tests.fakes.http_server import FakeHttpServer
from tests.faults.shop import add_gateway, open_shop, recipient
from tests.live import free_port, wait_until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live")]

EFFECT_SECONDS = 1  # how long a worker may go by what it read before
HTML = b"<html><body>Welcome to nginx!</body></html>"
TAKEN = fake.answer(200, {"status": "taken", "id": "8"})  # as the first gateway's rules want it
BROKEN = fake.answer(500, HTML)

# What the first gateway does, and what is on record for it.
SURELY_NOT_SENT = [
    pytest.param(BROKEN, "temporary", id="500"),
    pytest.param(fake.answer(200, HTML), "declined", id="HTML without the words that mean accepted"),
    pytest.param(fake.answer(429, b"", {"Retry-After": "60"}), "rate_limited", id="429"),
    pytest.param(fake.huge_body(status=503), "temporary", id="100 MB of error"),
    pytest.param(fake.answer(401, HTML), "misconfigured", id="401"),
]
MAY_BE_SENT = [
    pytest.param(fake.hang(), "unknown", id="silence"),
    pytest.param(fake.drip_body(), "unknown", id="slow drip"),
    pytest.param(fake.answer(200, {"status": "taken"}), "unclear", id="accepted without an id"),
    pytest.param(fake.huge_body(), "unknown", id="100 MB"),
    pytest.param(fake.reset(), "unknown", id="reset"),
    pytest.param(fake.hang_up(), "unknown", id="hangs up"),
]


@pytest.fixture(scope="module")
def port():
    """The port of the first gateway, in tests in which it listens."""
    return free_port()


@pytest.fixture(scope="module")
def shop(service, gateway, port):
    """Its only gateway so far is the second one. Answers of the first must hold a word and an id."""
    shop = open_shop(service, gateway)
    first = FakeHttpServer(port=port)
    first_id = add_gateway(shop, first, priority=1)
    rules = '{"success_match": "taken", "message_id_path": "id"}'
    service.query(
        "UPDATE verification_provider SET settings = settings || %s::jsonb WHERE id = %s RETURNING id", rules, first_id
    )
    return shop


@pytest.fixture
def first_id(service, shop):
    """The first gateway's id; what it does in a test is forgotten afterwards."""
    [(found,)] = service.query(
        "SELECT id FROM verification_provider WHERE project_id = %s ORDER BY priority LIMIT 1", shop.id
    )
    yield found
    was_slow = service.query(
        "UPDATE verification_deliveryattempt SET created_at = created_at - interval '1 hour'"
        " WHERE provider_id = %s RETURNING latency_ms >= 1000",
        found,
    )
    opened = service.query("DELETE FROM verification_circuitbreaker WHERE provider_id = %s RETURNING 1", found)
    if opened or (True,) in was_slow:
        time.sleep(EFFECT_SECONDS)


@pytest.fixture
def first(first_id, port):
    with FakeHttpServer(port=port, default=TAKEN) as server:
        yield server


def attempts_at(shop, to):
    """Priority of the provider and outcome, in the order in which they were asked."""
    return shop.service.query(
        "SELECT p.priority, a.outcome FROM verification_deliveryattempt AS a"
        " JOIN verification_provider AS p ON p.id = a.provider_id"
        " JOIN verification_message AS m ON m.id = a.message_id"
        " JOIN verification_recipient AS r ON r.id = m.recipient_id"
        " WHERE r.project_id = %s AND r.address = %s ORDER BY a.id",
        shop.id,
        to,
    )


def breaker(service, provider_id):
    """Return whether it is open, how often in a row, and why; None where nothing speaks against the provider."""
    found = service.query(
        "SELECT coalesce(open_until > now(), false), openings, reason FROM verification_circuitbreaker"
        " WHERE provider_id = %s",
        provider_id,
    )
    return found[0] if found else None


def log_in(shop):
    """Log in as a user does, over whichever gateway, and return the recipient."""
    to = recipient()
    session_id = shop.open_session(to)
    wait_until(lambda: shop.messages_to(to) == ["success"], "the code is sent")
    [text] = shop.sent_to(to)
    status, checked, _ = shop.check(session_id, text["code"])
    assert status == 200, checked
    assert shop.verify(checked["verify_token"])[:2] == (200, {"phone": to})
    return to


def send(shop):
    """A code of the customer's back end, accepted by one of the two; the recipient."""
    to = recipient()
    status, body, _ = shop.send(to)
    assert status == 200, body
    wait_until(lambda: shop.messages_to(to) == ["success"], "the code is sent")
    return to


def asked_for(server, to):
    return [request for request in list(server.requests) if request.json()["to"] == to]


def move_time_aside(service, provider_id, interval):
    service.query(
        "UPDATE verification_circuitbreaker SET open_until = now() + %s::interval"
        " WHERE provider_id = %s RETURNING provider_id",
        interval,
        provider_id,
    )


# --- the code arrives -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("behaviour", "outcome"), SURELY_NOT_SENT + MAY_BE_SENT)
def test_the_code_arrives_once_through_the_second_gateway(shop, first, behaviour, outcome):
    first.script(behaviour)
    to = log_in(shop)
    assert attempts_at(shop, to) == [(1, outcome), (100, "accepted")]
    # Where the first may have sent it too, the user has the same code twice.
    [request] = asked_for(first, to)
    assert request.json()["code"] == shop.sent_to(to)[0]["code"]


def test_it_arrives_while_nobody_listens_at_the_first(shop, first_id):
    to = log_in(shop)
    assert attempts_at(shop, to) == [(1, "temporary"), (100, "accepted")]


@pytest.mark.requirement(74)
def test_a_redirect_into_our_network_is_not_followed(shop, first):
    with FakeHttpServer() as inside:
        first.script(fake.redirect(f"{inside.url}/admin"))
        to = log_in(shop)
    assert attempts_at(shop, to) == [(1, "misconfigured"), (100, "accepted")]
    assert inside.connections == 0


def test_a_first_gateway_that_works_leaves_the_second_alone(shop, first):
    to = send(shop)
    assert attempts_at(shop, to) == [(1, "accepted")]
    assert shop.sent_to(to) == []


def test_a_body_without_end_is_not_read(shop, first):
    first.script(fake.huge_body())
    log_in(shop)
    assert first.bytes_sent < 50_000_000  # of which most is still on its way


# --- set aside --------------------------------------------------------------------------------------------------------


def test_a_gateway_that_asks_for_a_pause_gets_it(service, shop, first, first_id):
    first.script(*[fake.answer(429, b"", {"Retry-After": "60"})] * 2)
    send(shop)
    assert breaker(service, first_id) is None  # it may be the limit of one recipient
    send(shop)
    wait_until(lambda: breaker(service, first_id), "it is set aside")
    assert breaker(service, first_id)[:2] == (True, 1)
    wait_until(lambda: asked_for(first, send(shop)) == [], "messages go straight to the second")


def test_a_gateway_that_keeps_failing_is_set_aside_and_comes_back_by_itself(service, shop, first, first_id):
    first.default = BROKEN
    for _ in range(5):
        assert attempts_at(shop, send(shop)) == [(1, "temporary"), (100, "accepted")]
    wait_until(lambda: breaker(service, first_id), "it is set aside")
    is_open, openings, reason = breaker(service, first_id)
    assert (is_open, openings) == (True, 1)
    assert "HTTP 500" in reason

    move_time_aside(service, first_id, "1 hour")
    wait_until(lambda: asked_for(first, send(shop)) == [], "messages go straight to the second")
    assert [attempts_at(shop, send(shop)) for _ in range(3)] == [[(100, "accepted")]] * 3

    # Its time is over, and it still fails: one message finds out, and arrives.
    before = len(first.requests)
    move_time_aside(service, first_id, "-1 second")
    wait_until(lambda: asked_for(first, send(shop)), "a message probes it")
    wait_until(lambda: breaker(service, first_id)[:2] == (True, 2), "it is set aside for longer")
    assert len(first.requests) == before + 1

    first.default = TAKEN
    move_time_aside(service, first_id, "-1 second")
    wait_until(lambda: asked_for(first, send(shop)), "a message probes it")
    wait_until(lambda: breaker(service, first_id)[:2] == (False, 0), "it is back")
    wait_until(lambda: attempts_at(shop, send(shop)) == [(1, "accepted")], "messages go over it again")


def test_of_many_messages_at_once_one_probes(service, shop, first, first_id):
    service.query(
        "INSERT INTO verification_circuitbreaker (provider_id, opened_at, open_until, openings, reason)"
        " VALUES (%s, now(), now() - interval '1 second', 1, '') RETURNING provider_id",
        first_id,
    )
    first.default = BROKEN
    time.sleep(EFFECT_SECONDS)
    everyone = [recipient() for _ in range(12)]
    for to in everyone:
        assert shop.send(to)[0] == 200
    for to in everyone:
        wait_until(lambda to=to: shop.messages_to(to) == ["success"], "the code is sent")
    assert len(list(itertools.chain.from_iterable(asked_for(first, to) for to in everyone))) == 1
