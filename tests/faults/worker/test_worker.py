"""The worker process: it delivers by real protocols, loses nothing when it dies, and sends nothing twice."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from tests.fakes.http_server import answer, hang
from tests.fakes.mail_server import Handler, mail_server
from tests.faults.shop import end_leases, recipient
from tests.live import ROOT, at_once, wait_until

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]


@pytest.fixture(autouse=True)
def worker_afterwards(service):
    yield
    if "worker0" not in service.processes:
        service.start_worker()


def row(service, message_id):
    [found] = service.query(
        "SELECT status, claims, lost_leases, is_counted FROM verification_message WHERE id = %s", message_id
    )
    return found


def send_into_a_hanging_gateway(shop):
    """A manual send that a worker has in hand: its recipient and id."""
    to = recipient()
    shop.gateway.script(hang())
    status, body, _ = shop.send(to)
    assert status == 200, body
    wait_until(lambda: shop.sent_to(to), "the worker asks the gateway")
    return to, body["message_id"]


# --- delivery -----------------------------------------------------------------------------------------------------


def test_a_code_goes_out_through_an_http_gateway(shop):
    to = recipient()
    session_id = shop.open_session(to)
    status, body, _ = shop.check(session_id, shop.code_for(to))
    assert (status, body["is_test"]) == (200, False)
    assert shop.sent_to(to)[0]["channel"] == "sms"
    wait_until(lambda: shop.messages_to(to) == ["success"], "the message is delivered")


def test_a_code_goes_out_through_a_mail_server(service, shop):
    handler = Handler()
    with mail_server(handler, has_login=False) as port:
        settings = {"host": "127.0.0.1", "port": port, "security": "none", "from_email": "codes@shop.example"}
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        service.json("addprovider", str(shop.id), "--channel", "email", "--type", "smtp", "--name", "Mail", *options)
        session_id = wait_until(lambda: mail_session(shop), "the channel is known to every process")
        [mail] = wait_until(lambda: handler.received, "the mail arrives")
    code = re.search(r"[0-9]{6}", mail.get_body(["plain"]).get_content())[0]
    assert handler.recipients == ["ann@example.com"]
    assert shop.check(session_id, code)[0] == 200


def mail_session(shop):
    status, body, _ = shop.create("ann@example.com")
    return body["session_id"] if status == 200 else None


def test_what_a_gateway_refuses_for_now_is_offered_to_it_again(shop):
    to = recipient()
    shop.gateway.script(answer(503))
    shop.send(to)
    wait_until(lambda: shop.messages_to(to) == ["success"], "the second try succeeds")
    assert len(shop.sent_to(to)) == 2


# --- workers that end ---------------------------------------------------------------------------------------------


def test_a_message_whose_worker_was_killed_is_sent_by_another_after_the_lease(service, shop):
    """The sweep takes it of its own accord, with nobody woken for it."""
    to, message_id = send_into_a_hanging_gateway(shop)
    [(lease,)] = service.query(
        "SELECT extract(epoch FROM due_at - claimed_at) FROM verification_message WHERE id = %s", message_id
    )
    assert lease <= 22  # the sweep comes round every second or two: 25 in all
    service.query(  # on a busy machine the next worker starts for so long
        "UPDATE verification_message SET due_at = now() + interval '1 hour' WHERE id = %s RETURNING id", message_id
    )
    service.kill("worker0")
    service.start_worker("worker1")
    assert row(service, message_id) == ("sending", 1, 0, True)
    end_leases(service)
    wait_until(lambda: row(service, message_id) == ("success", 2, 1, True), "another worker sends it")
    assert [body["message_id"] for body in shop.sent_to(to)] == [message_id, message_id]
    assert len({body["code"] for body in shop.sent_to(to)}) == 1
    service.kill("worker1")


def test_a_message_that_two_workers_died_with_is_not_sent_a_third_time(service, shop):
    to, message_id = send_into_a_hanging_gateway(shop)
    service.kill("worker0")
    shop.gateway.script(hang())
    end_leases(service)
    service.start_worker()
    wait_until(lambda: len(shop.sent_to(to)) == 2, "the second worker asks the gateway")
    service.kill("worker0")
    end_leases(service)
    service.start_worker()
    wait_until(lambda: row(service, message_id)[0] == "sent", "it is left to a receipt")
    assert len(shop.sent_to(to)) == 2
    assert row(service, message_id) == ("sent", 3, 2, True)


UNDER_NOHUP = pytest.mark.skipif(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, reason="It stays under nohup.")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=UNDER_NOHUP)])
def test_a_worker_told_to_stop_finishes_what_it_is_sending(service, shop, number):
    to, stopping = recipient(), "The worker is stopping"
    before = service.output("worker0").count(stopping)
    shop.gateway.script(slow_answer := SlowAnswer())
    _, body, _ = shop.send(to)
    wait_until(lambda: shop.sent_to(to), "the worker asks the gateway")
    worker = service.processes["worker0"]
    os.killpg(worker.pid, number)
    wait_until(lambda: service.output("worker0").count(stopping) > before, "the worker hears it")
    assert row(service, body["message_id"])[0] == "sending"
    slow_answer.is_due = True
    assert worker.wait(timeout=30) == 0
    del service.processes["worker0"]
    assert row(service, body["message_id"]) == ("success", 1, 0, True)
    assert "Traceback" not in service.output("worker0")


class SlowAnswer:
    """A good answer, but only once ``is_due``."""

    is_due = False

    def __call__(self, server, connection):
        wait_until(lambda: self.is_due or server.stopped.is_set(), "the answer is due")
        return answer()(server, connection)


def test_a_worker_is_on_record_while_it_runs(service):
    """Its row says what `stats` and the panel tell, and `health` looks for."""
    service.query("DELETE FROM verification_worker WHERE pid <> %s RETURNING pid", service.processes["worker0"].pid)
    [(pid, kinds)] = service.query("SELECT pid, kinds FROM verification_worker")
    assert (pid, kinds) == (service.processes["worker0"].pid, ["messages"])
    assert service.json("health", "--worker") == {"ok": True, "workers": 1}
    service.kill("worker0", signal.SIGTERM)
    assert service.query("SELECT pid FROM verification_worker") == []
    done = service.run("health", "--worker")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No worker runs on this machine" in done.stderr


def test_killing_an_idle_worker_loses_nothing(service, shop):
    service.kill("worker0")
    recipients = [recipient() for _ in range(5)]
    assert all(shop.create(to)[0] == 200 for to in recipients)
    assert all(shop.messages_to(to) == ["queued"] for to in recipients)
    service.start_worker()
    for to in recipients:
        wait_until(lambda to=to: shop.messages_to(to) == ["success"], "the next worker sends it")
        assert len(shop.sent_to(to)) == 1


def test_a_worker_killed_again_and_again_loses_nothing(service, shop):
    recipients = [recipient() for _ in range(12)]
    for number, to in enumerate(recipients):
        assert shop.create(to)[0] == 200
        if number % 4 == 3:
            service.kill("worker0")
            service.start_worker()
    end_leases(service)
    for to in recipients:  # left to a receipt, where two workers died with it: their starts may outlast a lease
        wait_until(lambda to=to: shop.messages_to(to) in (["success"], ["sent"]), "every message is sent")
        assert shop.sent_to(to)


# --- several workers ----------------------------------------------------------------------------------------------

WAKE_FIVE_TIMES = """
import json, sys
from verification.worker.broker import MESSAGES, broker
for message_id in json.load(sys.stdin) * 5:
    broker.wake(MESSAGES, message_id)
"""


def test_two_workers_woken_five_times_each_send_no_message_twice(service, shop):
    service.start_worker("worker1")
    recipients = [recipient() for _ in range(20)]
    answers = at_once(20, lambda number: shop.send(recipients[number]))
    ids = [body["message_id"] for _, body, _ in answers]
    subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", WAKE_FIVE_TIMES],
        cwd=ROOT,
        env=service.environment,
        input=json.dumps(ids).encode(),
        check=True,
    )
    for to in recipients:
        wait_until(lambda to=to: shop.messages_to(to) == ["success"], "every message is sent")
    service.kill("worker1", signal.SIGTERM)
    assert all(len(shop.sent_to(to)) == 1 for to in recipients)
    assert {row(service, message_id) for message_id in ids} == {("success", 1, 0, True)}
