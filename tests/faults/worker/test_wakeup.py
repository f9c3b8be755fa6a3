"""The line from web processes to workers: it wakes, it does not poll, and nothing depends on it."""

import math
import re
import threading
import time
from collections import Counter

import pytest
import redis

from tests.faults.shop import recipient
from tests.live import wait_until
from verification.worker import broker as our
from verification.worker.broker import BOTS, MESSAGES, broker

LINES = (MESSAGES, BOTS)  # at which a worker without connections waits, a second at a time

# --- the live service: an idle worker and a lost wake-up ----------------------------------------------------------


@pytest.fixture
def valkey(service):
    with redis.Redis.from_url(service.servers.redis_url) as client:
        yield client


def calls(valkey):
    """Count the commands that were executed so far, by name, without this one."""
    stats = valkey.info("commandstats").items()
    return Counter({name.removeprefix("cmdstat_"): stat["calls"] for name, stat in stats if name != "cmdstat_info"})


@pytest.mark.live
@pytest.mark.xdist_group("live")
def test_an_idle_worker_waits_instead_of_polling(service, valkey):
    before, began = calls(valkey), time.monotonic()
    wait_until(lambda: calls(valkey)["blmpop"] >= before["blmpop"] + 2 * len(LINES), "it waits again and again")
    after = calls(valkey)
    seconds = math.ceil(time.monotonic() - began) + 1
    assert after["blmpop"] - before["blmpop"] <= len(LINES) * seconds
    assert after.total() - before.total() < 10 * seconds


@pytest.mark.live
@pytest.mark.xdist_group("live")
def test_a_wake_up_that_is_lost_does_not_lose_the_message(shop, valkey):
    lost = threading.Event()

    def lose_everything():
        while not lost.is_set():
            valkey.flushall()

    thief = threading.Thread(target=lose_everything)
    thief.start()
    try:
        to = recipient()
        assert shop.create(to)[0] == 200
        wait_until(lambda: shop.messages_to(to) == ["success"], "the sweep sends it")
    finally:
        lost.set()
        thief.join()
    assert len(shop.sent_to(to)) == 1


# --- the consumer by itself -----------------------------------------------------------------------------------------


@pytest.fixture
def consumer():
    broker.client.flushall()
    consumer = broker.consume(MESSAGES, prefetch=2, timeout=1000)
    yield consumer
    broker.client.flushall()


def next_in_background(consumer):
    """A consumer that waits, and where what it is given arrives."""
    given = []
    # It returns None where a second passes without a wake-up.
    waiting = threading.Thread(target=lambda: given.append(next(filter(None, consumer))))
    blocked = broker.client.info("clients")["blocked_clients"]
    waiting.start()
    wait_until(lambda: broker.client.info("clients")["blocked_clients"] > blocked, "the consumer waits")
    return waiting, given


def test_a_waiting_consumer_is_given_what_is_enqueued(consumer):
    waiting, given = next_in_background(consumer)
    broker.wake(MESSAGES, 7)
    waiting.join()
    assert [message.args for message in given] == [(7,)]


def test_a_consumer_takes_no_more_than_it_has_room_for(consumer):
    for message_id in range(3):
        broker.wake(MESSAGES, message_id)
    taken = [next(consumer), next(consumer)]
    assert next(consumer) is None
    consumer.ack(taken[0])
    assert next(consumer).args == (2,)


def waiting():
    return broker.client.llen(f"{our.NAMESPACE}:wake:{MESSAGES}")


def test_a_queue_that_nobody_reads_loses_its_oldest_before_it_fills_the_memory(consumer, monkeypatch):
    monkeypatch.setattr(our, "MAX_WAITING", 50)
    for message_id in range(53):
        broker.wake(MESSAGES, message_id)
    assert waiting() == 50
    assert next(consumer).args == (3,)


def test_nothing_but_the_queue_is_left_in_the_broker(consumer):
    broker.wake(MESSAGES, 7)
    consumer.ack(next(consumer))
    assert [key for key in broker.client.keys(f"{our.NAMESPACE}:*") if b"wake" in key] == []


def test_what_a_consumer_took_and_did_not_hand_out_goes_back_when_it_closes(consumer):
    for message_id in range(2):
        broker.wake(MESSAGES, message_id)
    taken = next(consumer)
    assert waiting() == 0
    consumer.requeue([taken])
    consumer.close()
    assert sorted(next(broker.consume(MESSAGES, prefetch=1)).args[0] for _ in range(2)) == [0, 1]


def test_a_wake_up_over_a_connection_that_was_closed_is_pushed_over_another(consumer):
    broker.wake(MESSAGES, 1)
    broker.patient_client.client_kill_filter(_type="normal", skipme=True)
    broker.wake(MESSAGES, 2)
    assert [next(consumer).args, next(consumer).args] == [(1,), (2,)]


@pytest.fixture
def absent_broker(tmp_path, monkeypatch):
    """A broker with nothing at its address. A consumer would pause before it asks again; here it does not."""
    monkeypatch.setattr(our, "AWAY_SECONDS", 0)
    absent = our.ListBroker(f"unix://{tmp_path}/nothing.sock", timeout=1, middleware=[])
    absent.declare_queue(MESSAGES)
    return absent


def test_a_consumer_waits_for_a_broker_that_is_away_and_says_so_once(absent_broker, caplog):
    consumer = absent_broker.consume(MESSAGES, prefetch=2, timeout=1000)
    assert [next(consumer) for _ in range(3)] == [None, None, None]
    said = [record.getMessage() for record in caplog.records if record.name == "verification.worker.broker"]
    assert len(said) == 1
    assert re.fullmatch(
        r"The broker hands out no wake-ups: .*nothing\.sock.*\. The workers' sweep delivers the messages\.", said[0]
    )


def test_a_consumer_is_not_held_up_by_what_cannot_be_put_back(absent_broker, consumer):
    broker.wake(MESSAGES, 7)
    message = next(consumer)
    consumer.broker = absent_broker
    consumer.requeue([message])
    consumer.ack(message)
    assert not consumer.in_progress
