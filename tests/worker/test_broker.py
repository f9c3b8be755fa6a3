"""Wake-ups on their way to the workers, through a real Valkey."""

import dramatiq
import pytest
import redis
from django.conf import settings

from verification.worker import broker as brokers
from verification.worker.broker import ListBroker

QUEUE = "of one test"


@pytest.fixture
def broker():
    made = ListBroker(settings.BROKER_URL, timeout=5, middleware=[])
    made.flush(QUEUE)
    yield made
    made.flush(QUEUE)


def arrived(broker, number):
    """The ids in the wake-ups that come, until there are ``number`` or none comes for a while."""
    found = []
    while len(found) < number and (popped := broker.pop(QUEUE, number, seconds=2)):
        found += [dramatiq.Message.decode(each) for each in popped]
    assert len({message.message_id for message in found}) == len(found)
    return [message.args[0] for message in found]


def test_every_wake_up_arrives_in_its_order(broker):
    for number in range(100):
        broker.wake(QUEUE, number)
    assert arrived(broker, 100) == list(range(100))


def test_a_broker_that_hung_up_gets_the_next_wake_up_all_the_same(broker):
    broker.wake(QUEUE, 1)
    broker.wake(QUEUE, 2)
    broker.patient_client.client_kill_filter(_type="normal", skipme=True)
    broker.wake(QUEUE, 3)
    broker.wake(QUEUE, 4)
    assert arrived(broker, 4) == [1, 2, 3, 4]


def test_a_queue_that_no_worker_reads_keeps_its_newest(broker, monkeypatch):
    monkeypatch.setattr(brokers, "MAX_WAITING", 10)
    for number in range(12):
        broker.wake(QUEUE, number)
    assert arrived(broker, 100) == list(range(2, 12))


def test_a_broker_that_is_away_is_told_to_who_wakes():
    broker = ListBroker("redis://127.0.0.1:1/0", timeout=1, middleware=[])
    with pytest.raises(redis.RedisError):
        broker.wake(QUEUE, 1)
    with pytest.raises(redis.RedisError):
        broker.wake(QUEUE, 2)
