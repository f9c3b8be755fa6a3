"""PostgreSQL and Valkey go away under a running service, and come back: nothing is lost, and nothing is miscounted."""

import contextlib
import signal
import threading
import time

import pytest
import redis

from tests.fakes.http_server import answer
from tests.faults.shop import end_leases, recipient, statuses
from tests.live import at_once, wait_until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("outages")]


@pytest.fixture(scope="module")
def service(own_service):
    return own_service


@pytest.fixture(autouse=True)
def everything_is_back_afterwards(service, shop):
    yield
    service.servers.start()
    if "worker0" not in service.processes:
        service.start_worker()
    wait_until(lambda: set(asked(shop)) == {200}, "every process serves again")


def asked(shop, count=12):
    """The statuses of so many calls, each on a connection of its own, which reach every process."""
    return [status for status, _, _ in at_once(count, lambda _: shop.as_app("GET", "/session/settings"))]


def wrong(code):
    return "".join(str((int(digit) + 1) % 10) for digit in code)


# --- Valkey -------------------------------------------------------------------------------------------------------


@pytest.fixture
def without_valkey(service):
    service.stop_server("valkey")


def test_without_the_broker_a_whole_verification_succeeds(shop, without_valkey):
    to = recipient()
    status, body, _ = shop.create(to)
    assert (status, body["sent_to"]) == (200, "sms")
    assert shop.check(body["session_id"], wrong(shop.code_for(to)))[1]["attempts_left"] == 4
    status, checked, _ = shop.check(body["session_id"], shop.code_for(to))
    assert status == 200
    assert shop.verify(checked["verify_token"])[:2] == (200, {"phone": to})


def test_without_the_broker_manual_sends_are_accepted_delivered_and_limited(shop, without_valkey):
    to = recipient()
    assert statuses(at_once(12, lambda _: shop.send(to))) == {200: 5, 429: 7}
    wait_until(lambda: shop.messages_to(to) == ["success"] * 5, "the sweep sends them")
    assert len(shop.sent_to(to)) == 5


def test_without_the_broker_parallel_wrong_codes_are_counted_exactly(shop, without_valkey):
    to = recipient()
    session_id = shop.open_session(to)
    code = wrong(shop.code_for(to))
    assert statuses(at_once(20, lambda _: shop.check(session_id, code))) == {400: 5, 429: 15}


def test_when_the_broker_is_back_workers_are_woken_again(service, shop, without_valkey):
    shop.open_session()
    wait_until(lambda: "broker hands out no wake-ups" in service.output("worker0"), "the worker notices")
    service.servers.start()
    with redis.Redis.from_url(service.servers.redis_url) as client:
        wait_until(lambda: client.info("clients")["blocked_clients"], "the worker waits at the broker")
        wait_until(lambda: shop.open_session() and wakes(client), "web processes use the broker again")
    to = recipient()
    shop.open_session(to)
    wait_until(lambda: shop.messages_to(to) == ["success"], "messages go out")
    assert "Traceback" not in service.output("worker0") + service.output("web")


def wakes(client):
    return client.info("commandstats").get("cmdstat_rpush", {}).get("calls", 0)


def test_a_worker_stops_in_order_while_the_broker_is_away(service, shop, without_valkey):
    to = recipient()
    shop.open_session(to)
    shop.code_for(to)
    worker = service.processes["worker0"]
    service.kill("worker0", signal.SIGTERM)
    assert worker.returncode == 0


def test_a_worker_that_starts_before_the_broker_delivers(service, shop, without_valkey):
    service.kill("worker0")
    to = recipient()
    shop.open_session(to)
    service.start_worker()
    wait_until(lambda: shop.messages_to(to) == ["success"], "the sweep sends it")


@pytest.mark.requirement(107)
def test_a_flushed_cache_changes_no_count_block_limit_or_token(service, shop):
    to, other = recipient(), recipient()
    session_id = shop.open_session(to)
    assert statuses(at_once(3, lambda _: shop.check(session_id, wrong(shop.code_for(to))))) == {400: 3}
    token = shop.token_for(other)
    assert statuses([shop.send(other) for _ in range(4)]) == {200: 4}
    with redis.Redis.from_url(service.servers.redis_url) as client:
        client.flushall()
    assert shop.check(session_id, wrong(shop.code_for(to)))[1]["attempts_left"] == 1
    assert shop.resend(session_id)[1]["code"] == "channel_timeout"
    assert shop.create(to)[1]["session_id"] == session_id
    assert shop.send(other)[1]["code"] == "too_many_sends"
    assert [shop.verify(token)[0] for _ in range(2)] == [200, 410]


# --- PostgreSQL ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def without_postgres(service, number=signal.SIGINT):
    """A fast stop, or a crash by another signal; afterwards it is started again."""
    service.stop_server("postgres", number)
    try:
        yield
    finally:
        service.servers.start()


def test_without_the_database_the_answer_is_503_and_says_when_to_come_back(service, shop):
    session_id = shop.open_session()
    with without_postgres(service):
        time.sleep(1)  # until the processes ask again who holds the key
        answers = at_once(16, lambda number: shop.create() if number % 2 else shop.check(session_id, "000000"))
    assert statuses(answers) == {503: 16}
    for _, body, headers in answers:
        assert body["code"] == "service_unavailable"
        assert headers["content-type"] == "application/problem+json"
        assert int(headers["retry-after"]) > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["fast stop", "crash"])
def test_every_process_serves_again_after_the_database_was_restarted(service, shop, number):
    asked(shop, 40)  # every thread has a connection that will be dead
    web = service.processes["web"].pid
    with without_postgres(service, number):
        pass
    answers = at_once(40, lambda _: shop.create())
    assert set(statuses(answers)) <= {200, 503}
    assert statuses(answers).get(503, 0) <= 8  # at most one a thread
    assert set(asked(shop, 40)) == {200}
    assert service.processes["web"].pid == web and service.processes["web"].poll() is None


def test_what_was_answered_with_200_survives_a_restart_under_load(service, shop):
    accepted, seen, over = [], set(), threading.Event()

    def load():
        while not over.is_set():
            to = recipient()
            with contextlib.suppress(OSError):
                status, body, _ = shop.create(to)
                seen.add(status)
                if status == 200:
                    accepted.append((to, body["session_id"]))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(accepted) > 20, "requests are served")
    with without_postgres(service):
        wait_until(lambda: 503 in seen, "requests are refused")
    before = len(accepted)
    wait_until(lambda: len(accepted) > before + 20, "requests are served again")
    over.set()
    for thread in threads:
        thread.join()
    assert seen == {200, 503}
    found = {session_id for (session_id,) in service.query("SELECT id FROM verification_session")}
    assert {session_id for _, session_id in accepted} <= found
    end_leases(service)  # of claims whose answer the worker never got
    for to, _ in accepted:
        wait_until(lambda to=to: shop.messages_to(to) == ["success"], "every accepted message is sent")


def test_a_running_worker_goes_on_after_the_database_was_restarted(service, shop):
    with without_postgres(service):
        wait_until(lambda: "the sweep failed" in service.output("worker0"), "the worker notices")
    to = recipient()
    wait_until(lambda: shop.create(to)[0] == 200, "requests are served again")
    wait_until(lambda: shop.messages_to(to) == ["success"], "the worker sends it")
    assert "Traceback" not in service.output("worker0")


def test_the_sweep_goes_on_with_new_connections_after_the_database_was_restarted(service, shop, without_valkey):
    def deliver():
        recipients = [recipient() for _ in range(12)]  # more than the sweep has threads
        assert statuses(at_once(12, lambda number: shop.create(recipients[number]))) == {200: 12}
        for to in recipients:
            wait_until(lambda to=to: shop.messages_to(to) == ["success"], "the sweep sends it")

    deliver()
    with without_postgres(service):
        pass
    wait_until(lambda: set(asked(shop)) == {200}, "every process serves again")
    deliver()
    assert service.query(
        "SELECT max(lost_leases) FROM (SELECT * FROM verification_message ORDER BY created_at DESC LIMIT 12) AS last"
    ) == [(0,)]


def test_what_a_gateway_accepted_while_the_database_was_away_is_not_sent_again(service, shop):
    to, is_back = recipient(), threading.Event()

    def accept_later(server, connection):
        is_back.wait()
        return answer()(server, connection)

    shop.gateway.script(accept_later)
    status, body, _ = shop.send(to)
    assert status == 200
    wait_until(lambda: shop.sent_to(to), "the worker asks the gateway")
    with without_postgres(service):
        is_back.set()
        time.sleep(1)  # in which the worker cannot record the answer
    wait_until(lambda: shop.messages_to(to) == ["success"], "the answer is recorded")
    [(claims,)] = service.query("SELECT claims FROM verification_message WHERE id = %s", body["message_id"])
    assert (claims, len(shop.sent_to(to))) == (1, 1)


def test_a_worker_that_starts_before_the_database_waits_for_it(service, shop):
    to = recipient()
    service.kill("worker0")
    shop.open_session(to)
    before = service.output("worker0")
    with without_postgres(service):
        service.start_worker()
        wait_until(lambda: "the sweep failed" in service.output("worker0").removeprefix(before), "it says so")
    wait_until(lambda: shop.messages_to(to) == ["success"], "it sends what was waiting")
    assert "Traceback" not in service.output("worker0")


# --- a web server that starts first -------------------------------------------------------------------------------


def test_a_web_server_that_starts_before_both_serves_once_they_are_there(service, shop):
    service.kill("web")
    service.stop_server("valkey")
    with without_postgres(service):
        service.start_web()  # a request without a key needs neither
        assert shop.create()[0] == 503
    wait_until(lambda: set(asked(shop)) == {200}, "it serves")
    assert shop.create()[0] == 200
