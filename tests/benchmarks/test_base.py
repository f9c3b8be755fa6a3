"""The base of the benchmarks: a floor that starts, and a driver that reads answers right."""

import contextlib
import http.client
import subprocess
import sys
from itertools import islice

import pytest

from benchmarks import fill
from benchmarks.common.driver import percentile, take_message
from benchmarks.common.scripts import recipients
from benchmarks.common.service import free_port, gunicorn, wait_until_answering
from tests.config.test_deployment import PRODUCTION
from tests.conftest import ROOT
from verification.core.addresses import NumberType, parse_address
from verification.models import Message, Session
from verification.services.maintenance.retention import purge


def test_the_web_server_starts_the_floor():
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, *gunicorn(port), "benchmarks.floor.wsgi:application"], cwd=ROOT, env=PRODUCTION
    )
    try:
        wait_until_answering(port)
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("POST", "/session/nothing", "{}", {"Host": "codes.example.com"})
            assert connection.getresponse().status == 404
    finally:
        server.terminate()
        server.wait()


def test_recipients_differ_and_can_be_sent_to():
    drawn = list(islice(recipients(), 1_000))
    assert len(set(drawn)) == len(drawn)
    assert {parse_address(to).number_type for to in drawn} == {NumberType.MOBILE}


@pytest.mark.parametrize(
    "framing",
    [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"],
)
def test_a_message_is_taken_once_it_is_whole(framing):
    message = b"HTTP/1.1 200 OK\r\n" + framing
    assert all(take_message(message[:length]) is None for length in range(len(message)))
    head, body, rest = take_message(message + b"next")
    assert (head[:15], body, rest) == (b"HTTP/1.1 200 OK", b"hello", b"next")


def test_percentiles_are_values_that_were_seen():
    assert percentile(range(100), 0.5) == 50
    assert percentile(range(100), 0.99) == 99
    assert percentile([7.0], 0.99) == 7.0


@pytest.mark.django_db(transaction=True)
def test_a_filled_database_is_one_that_the_purge_can_empty_to_its_last_day():
    fill.fill(300, lambda line: None, projects=4)
    assert (Session.objects.count(), Message.objects.count()) == (300, 300 + 300 // fill.MANUAL_EVERY)
    assert "verification_message" in fill.sizes()
    purge(days=1)
    assert 10 <= Session.objects.count() <= 12  # 300 in 30 days are ten a day
