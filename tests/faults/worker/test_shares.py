"""Projects that share a worker: one whose gateway is slow does not hold up another's codes."""

import select
import threading

import pytest

from tests.fakes.http_server import FakeHttpServer, answer
from tests.faults.shop import open_shop, recipient
from tests.live import at_once, wait_until
from verification.services.delivery.fairness import share_of
from verification.worker.schedule import SWEEP_THREADS

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live")]

THREADS = 8  # that are woken; the sweep has its own
MESSAGES = 30


class Turnstile:
    """Lets no request pass until it is opened, and knows how many waited at once. Who gave up waits no more."""

    def __init__(self):
        self.opened = threading.Event()
        self.counting = threading.Lock()
        self.held = []
        self.asked = self.most_waiting = 0

    def __call__(self, server, connection):
        with self.counting:
            self.asked += 1
            self.held.append(connection)
            self.most_waiting = max(self.most_waiting, self._count())
        self.opened.wait()
        with self.counting:
            self.held.remove(connection)
        return answer()(server, connection)

    @property
    def waiting(self):
        with self.counting:
            return self._count()

    def _count(self):
        return sum(not has_hung_up(connection) for connection in self.held)


def has_hung_up(connection):
    """Whoever waits for an answer says nothing, so that only the end of the connection is to be read."""
    return bool(select.select([connection], [], [], 0)[0])


@pytest.fixture(scope="module")
def slow_shop(service):
    with FakeHttpServer() as gateway:
        yield open_shop(service, gateway)


@pytest.fixture(scope="module")
def other_slow_shop(service):
    with FakeHttpServer() as gateway:
        yield open_shop(service, gateway)


@pytest.fixture
def turnstile(slow_shop):
    slow_shop.gateway.default = made = Turnstile()
    yield made
    made.opened.set()


def send_many(shop):
    recipients = [recipient() for _ in range(MESSAGES)]
    assert {status for status, _, _ in at_once(MESSAGES, lambda number: shop.send(recipients[number]))} == {200}
    return recipients


def delivered_once(shop, recipients):
    for to in recipients:  # unconfirmed, where the gateway hung for longer than a call may take
        wait_until(lambda to=to: shop.messages_to(to)[0] in ("success", "sent"), "every message is sent")
    return all(len(shop.sent_to(to)) == 1 for to in recipients)


def code_goes_out_meanwhile(shop, turnstile):
    """A whole code of the shop, during which no delivery of the others' begins or ends. On a busy machine one may give
    up just then, and the next code is looked at."""

    def is_independent():
        before = turnstile.waiting, turnstile.asked
        open_and_read(shop)
        return 0 < before[0] == turnstile.waiting and turnstile.asked == before[1]

    return wait_until(is_independent, "a code goes out while the others wait")


END_ALL = (
    "UPDATE verification_message SET status = 'failed', finished_at = clock_timestamp(), code_encrypted = NULL"
    " WHERE status IN ('queued', 'sending') RETURNING id"
)


def start_alone(service):
    """A worker that has not delivered for anybody yet, and to which no other test has left a message."""
    for name in set(service.processes) - {"web"}:
        service.kill(name)
    service.query(END_ALL)
    service.start_worker(threads=THREADS)


def test_a_single_project_has_all_threads(service, slow_shop, turnstile):
    start_alone(service)
    recipients = send_many(slow_shop)
    wait_until(lambda: turnstile.waiting >= THREADS + SWEEP_THREADS, "every thread is at it")
    turnstile.opened.set()
    assert delivered_once(slow_shop, recipients)


@pytest.mark.requirement(14)
def test_a_code_goes_out_while_another_projects_gateway_holds_its_share_of_the_threads(shop, slow_shop, turnstile):
    open_and_read(shop)
    slow_shop.gateway.default = answer()
    open_and_read(slow_shop)  # the worker knows of both
    slow_shop.gateway.default = turnstile
    recipients = send_many(slow_shop)
    wait_until(lambda: turnstile.waiting >= share_of(THREADS), "the slow gateway holds all that it may")
    code_goes_out_meanwhile(shop, turnstile)
    turnstile.opened.set()
    assert delivered_once(slow_shop, recipients)
    assert turnstile.most_waiting <= share_of(THREADS) + share_of(SWEEP_THREADS)


@pytest.mark.requirement(14)
def test_a_code_goes_out_while_the_gateways_of_two_projects_hang(shop, slow_shop, other_slow_shop, turnstile):
    for other in (shop, slow_shop, other_slow_shop):
        other.gateway.default = answer()
        open_and_read(other)
    slow_shop.gateway.default = other_slow_shop.gateway.default = turnstile
    recipients = [(other, send_many(other)) for other in (slow_shop, other_slow_shop)]
    wait_until(lambda: turnstile.waiting >= share_of(THREADS), "the slow gateways hold what they may")
    code_goes_out_meanwhile(shop, turnstile)
    turnstile.opened.set()
    for other, numbers in recipients:
        assert delivered_once(other, numbers)


def open_and_read(shop):
    """One whole code, from the request to the gateway."""
    shop.open_session(to := recipient())
    assert shop.code_for(to)
