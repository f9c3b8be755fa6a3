from __future__ import annotations

import gzip
import logging
import os
import socket
import threading
import tracemalloc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from providers.base import Outcome
from providers.errors import AddressBlocked, NoAnswer, NotConnected, ProviderError
from providers.http import connections, ssrf
from providers.http.client import HttpAnswer, HttpClient, Timeouts, classify_status
from tests.fakes import http_server as fake
from tests.fakes.certificates import make_certificate
from tests.fakes.http_server import FakeHttpServer
from tests.live import at_once, free_port

LOOPBACK = ("127.0.0.0/8",)
SHORT = Timeouts(connect=1.5, total=1.5)  # s; on a full machine a connection alone may need half a second


@pytest.fixture
def door():
    opened = HttpClient(LOOPBACK)
    yield opened
    opened.close()


def idle_socket(door, server):
    """Return the socket of the connection that is kept to the server."""
    pool = door._pool(ssrf.read_url(server.url, LOOPBACK))
    kept = pool.pool.get_nowait()
    pool.pool.put(kept)
    return kept.sock


def status_answer(status, **headers):
    return HttpAnswer(status, {name.replace("_", "-"): value for name, value in headers.items()}, b"")


# What is sent


def test_it_posts_json(door, server):
    server.script(fake.answer(201, {"id": "abc"}, {"X-One": "1"}))
    answer = door.request("POST", server.url + "/send?a=1", json={"text": "Код"}, headers={"X-Key": "k"})
    assert (answer.status, answer.json(), answer.headers["x-one"]) == (201, {"id": "abc"}, "1")
    [request] = server.requests
    assert (request.method, request.target, request.json()) == ("POST", "/send?a=1", {"text": "Код"})
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-key"] == "k"
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("form", [{"a": "1 &", "b": ["2", "3"]}, [("a", "1 &"), ("b", "2"), ("b", "3")]])
def test_it_posts_a_form(door, server, form):
    door.request("POST", server.url, form=form)
    assert server.requests[0].body == b"a=1+%26&b=2&b=3"
    assert server.requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


def test_it_sends_basic_authentication(door, server):
    door.request("GET", server.url, auth=("user", "pass:word"))
    assert server.requests[0].headers["authorization"] == "Basic dXNlcjpwYXNzOndvcmQ="


def test_it_sends_no_cookies_back(door, server):
    server.script(fake.answer(200, b"", {"Set-Cookie": "session=1; Path=/"}))
    door.request("GET", server.url)
    door.request("GET", server.url)
    assert "cookie" not in server.requests[1].headers


@pytest.mark.requirement(74)
def test_it_takes_no_proxy_from_the_environment(door, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert door.request("GET", server.url).status == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("X-A", "b\r\nX-C: d"), ("X-A", "ü"), ("X A", "b"), ("Host", "other"), ("Transfer-Encoding", "chunked")],
)
def test_it_refuses_a_header_that_would_change_the_request(door, server, name, value):
    with pytest.raises(ProviderError) as caught:
        door.request("POST", server.url, headers={name: value})
    assert caught.value.outcome is Outcome.MISCONFIGURED
    assert server.requests == []


# What comes back


@pytest.mark.parametrize("body", [b"<html>", b'{"a":', b'{"a": NaN}', b'"\xff"', b"[" * 60_000, b""])
def test_json_is_strict(body):
    with pytest.raises(ValueError):
        HttpAnswer(200, {}, body).json()


def test_text_survives_a_wrong_charset():
    assert HttpAnswer(200, {}, b"ok \xff").text == "ok \ufffd"


@pytest.mark.requirement(75)
def test_an_answer_does_not_show_its_body():
    assert "4711" not in repr(HttpAnswer(200, {"x": "4711"}, b"4711"))


@pytest.mark.requirement(74)
def test_it_does_not_follow_a_redirect(door, server):
    server.script(fake.redirect("http://169.254.169.254/latest"))
    answer = door.request("GET", server.url)
    assert (answer.status, len(server.requests)) == (302, 1)


def test_an_error_status_is_an_answer(door, server):
    server.script(fake.answer(500, b"broken"))
    assert door.request("POST", server.url, json={}).status == 500


@pytest.mark.requirement(69)
@pytest.mark.parametrize("is_announced", [True, False])
def test_it_stops_reading_a_huge_body(door, server, is_announced):
    server.script(fake.huge_body(is_announced=is_announced))
    tracemalloc.start()
    with pytest.raises(NoAnswer, match="larger"):
        door.request("POST", server.url, json={})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
    assert server.bytes_sent < 50_000_000


@pytest.mark.requirement(69)
def test_it_stops_unpacking_a_bomb(door, server):
    server.script(fake.gzip_bomb())
    tracemalloc.start()
    with pytest.raises(NoAnswer, match="larger"):
        door.request("POST", server.url, json={})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_it_unpacks_what_was_packed_unasked(door, server):
    server.script(fake.answer(200, gzip.compress(b'{"id": "a"}'), {"Content-Encoding": "gzip"}))
    assert door.request("POST", server.url, json={}).json() == {"id": "a"}


@pytest.mark.parametrize(
    "behaviour",
    [
        fake.hang(),
        fake.drip_headers(),
        fake.drip_body(),
        fake.drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        fake.drip(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        fake.hang_up(),
        fake.reset(),
        fake.reset(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc"),
        fake.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nabc"),
        fake.raw(b"220 mail.example ESMTP\r\n"),
        fake.raw(b"\x00\xff\x00\xff\r\n\r\n"),
        fake.raw(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 50_000),
        fake.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    ],
)
def test_what_is_no_complete_answer_leaves_the_outcome_unknown(door, server, behaviour):
    server.script(behaviour)
    with pytest.raises(NoAnswer) as caught:
        door.request("POST", server.url + "/secret-path?key=secret-key", json={"code": "4711"}, timeout=SHORT)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert "secret" not in str(caught.value) and "4711" not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\nX-Ref: a b\nContent-Length: 2\n\nok",
        b"HTTP/1.1 200 OK\r\nX-Ref: a\r\n b\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200\r\nx-ref: a b\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 200 \r\nX-Ref: a b\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 Y\r\nX-Ref: a b\r\nTransfer-Encoding: chunked\r\n\r\n1;x\r\no\r\n1\r\nk\r\n0\r\nA: b\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\nX-Ref: c\r\n\r\nHTTP/1.1 200 OK\r\nX-Ref: a b\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nX-Ref: a b\r\n\r\nok",
    ],
)
def test_it_reads_what_old_gateways_write(door, server, answer):
    server.script(fake.raw(answer))
    read = door.request("POST", server.url, json={}, timeout=SHORT)
    assert (read.status, read.headers["x-ref"], read.body) == (200, "a b", b"ok")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nx-a: " + b"b" * 20_000_000,
        b"HTTP/1.1 200 OK\r\n" + (b"x-a: " + b"b" * 60_000 + b"\r\n") * 90 + b"Content-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"b" * 20_000_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"x-a: b\r\n" * 100_000 + b"\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100_000 + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_it_stops_reading_what_is_no_body(door, server, answer):
    server.script(fake.raw(answer))
    tracemalloc.start()
    with pytest.raises(NoAnswer):
        door.request("POST", server.url, json={})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged", b"HTTP", b"\x00"])
def test_nothing_after_an_answer_is_taken_for_the_next(door, server, more):
    server.script(fake.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + more, keep=True))
    assert door.request("POST", server.url, json={}).body == b"ok"
    assert door.request("POST", server.url, json={}).body == b"{}"
    assert [request.connection for request in server.requests] == [1, 2]


def test_the_answer_to_head_has_no_body(door, server):
    server.script(fake.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"))
    assert door.request("HEAD", server.url, timeout=SHORT).headers["content-length"] == "100"


@pytest.mark.parametrize("method", ["GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\nGET", "", "get it"])
def test_a_method_does_not_change_the_request(door, server, method):
    with pytest.raises(ProviderError):
        door.request(method, server.url)
    assert server.requests == []


@pytest.mark.parametrize("behaviour", [fake.huge_body(status=503), fake.drip_body(status=503)])
def test_an_error_status_stands_without_its_body(door, server, behaviour):
    server.script(behaviour)
    answer = door.request("POST", server.url, json={}, timeout=SHORT)
    assert (answer.status, answer.body) == (503, b"")


def test_status_and_headers_can_be_enough(door, server):
    server.script(fake.huge_body())
    assert door.request("POST", server.url, json={}, wants_body=False).status == 200


def test_a_body_that_nobody_wants_is_not_waited_for_and_costs_no_connection_if_it_is_there(door, server):
    server.script(fake.drip_body(), fake.answer(), fake.answer())
    for _ in range(3):
        assert door.request("POST", server.url, json={}, wants_body=False).body == b""
    assert [request.connection for request in server.requests] == [1, 2, 2]


@pytest.mark.parametrize("status", [100, 101, 102, 103, 104, 199])
def test_an_interim_answer_alone_leaves_the_outcome_unknown(door, server, status):
    server.script(fake.raw(b"HTTP/1.1 %d Wait\r\n\r\n" % status))
    with pytest.raises(NoAnswer):
        door.request("POST", server.url, json={})


@pytest.mark.parametrize("final", [200, 204, 500])
def test_the_final_answer_counts_after_any_interim_ones_and_the_connection_is_kept(door, server, final):
    interim = b"HTTP/1.1 %d Wait\r\nLink: </a>\r\nConnection: close\r\nContent-Length: 9\r\nX-Ref: c\r\n\r\n"
    answer = b"".join(interim % status for status in (100, 101, 102, 103, 103, 199))
    body = b"" if final == 204 else b"{}"
    answer += b"HTTP/1.1 %d Done\r\nX-Ref: a\r\nContent-Length: %d\r\n\r\n" % (final, len(body)) + body
    server.script(fake.raw(answer, keep=True))
    read = door.request("POST", server.url, json={})
    assert (read.status, read.headers, read.body) == (final, {"x-ref": "a", "content-length": str(len(body))}, body)
    assert door.request("POST", server.url, json={}).status == 200
    assert [request.connection for request in server.requests] == [1, 1]


def test_an_interim_answer_does_not_end_a_call_that_waits_for_the_headers_alone(door, server):
    server.script(fake.raw(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"))
    assert door.request("POST", server.url, json={}, wants_body=False).status == 410


def test_a_server_that_does_not_read_leaves_the_outcome_unknown(door):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(NoAnswer):
            door.request("POST", url, content=b"x" * 50_000_000, timeout=SHORT)


# Connections


def test_a_refused_connection_is_safe_to_try_again(door):
    with pytest.raises(NotConnected) as caught:
        door.request("POST", f"http://127.0.0.1:{free_port()}", json={})
    assert caught.value.outcome is Outcome.TEMPORARY


def test_an_unknown_host_is_safe_to_try_again():
    door = HttpClient(resolver=lambda host, port, timeout: [])
    with pytest.raises(NotConnected, match="no such host"):
        door.request("POST", "https://nowhere.example", json={})


def test_a_failed_tls_handshake_is_safe_to_try_again(door, server):
    with pytest.raises(NotConnected, match="TLS"):
        door.request("POST", server.url.replace("http:", "https:"), json={}, timeout=SHORT)


def test_a_silent_tls_handshake_ends_in_time(door):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(NotConnected, match="in time"):
            door.request("POST", url, json={}, timeout=SHORT)


def test_it_keeps_a_connection(door, server):
    door.request("GET", server.url)
    door.request("GET", server.url)
    assert [request.connection for request in server.requests] == [1, 1]


def test_it_does_not_use_a_connection_that_the_server_has_closed(door, server):
    moment = threading.Event()
    server.script(fake.close_later(moment))
    door.request("POST", server.url, json={})
    kept = idle_socket(door, server)
    moment.set()
    # The server's end must have arrived before the next request: wait for it on the kept socket itself.
    kept.setblocking(True)
    kept.recv(1, socket.MSG_PEEK)
    assert door.request("POST", server.url, json={}).status == 200
    assert [request.connection for request in server.requests] == [1, 2]


def test_it_sends_nothing_twice(door, server):
    server.script(fake.answer(), fake.hang_up())
    door.request("GET", server.url)
    with pytest.raises(NoAnswer):
        door.request("GET", server.url)
    assert len(server.requests) == 2


def test_a_failed_call_does_not_spoil_the_next(door, server):
    server.script(fake.drip_body(), fake.answer(200, {"ok": 1}))
    with pytest.raises(NoAnswer):
        door.request("GET", server.url, timeout=SHORT)
    assert door.request("GET", server.url).json() == {"ok": 1}


def test_close_ends_the_connections_and_the_door_stays_usable(door, server):
    door.request("GET", server.url)
    door.close()
    door.request("GET", server.url)
    assert [request.connection for request in server.requests] == [1, 2]


def test_it_does_not_use_a_connection_that_was_idle_for_long(door, server, monkeypatch):
    door.request("GET", server.url)
    monkeypatch.setattr(connections, "KEEP_SECONDS", -1.0)
    door.request("GET", server.url)
    assert [request.connection for request in server.requests] == [1, 2]


def test_threads_share_connections_one_after_the_other(door, server):
    door.request("GET", server.url)
    thread = threading.Thread(target=door.request, args=("GET", server.url))
    thread.start()
    thread.join()
    assert [request.connection for request in server.requests] == [1, 1]


def test_threads_at_the_same_moment_have_a_connection_each(door, server):
    both = threading.Barrier(2, timeout=20)

    def wait(server, connection):
        both.wait()
        return fake.answer()(server, connection)

    server.script(wait, wait)
    answers = at_once(2, lambda _: door.request("GET", server.url).status)
    assert answers == [200, 200] and {request.connection for request in server.requests} == {1, 2}


@pytest.mark.parametrize("header", [b"no colon", b": no name", b"\x00\xff: x"])
def test_nothing_of_a_request_is_logged(door, server, caplog, header):
    caplog.set_level(logging.DEBUG)
    server.script(fake.raw(b"HTTP/1.1 200 OK\r\n" + header + b"\r\nContent-Length: 2\r\n\r\nok"))
    door.request("POST", server.url + "/bot-secret/send?key=secret", json={"code": "4711"})
    assert caplog.text == ""


def test_a_fork_does_not_share_connections(door, server, monkeypatch):
    door.request("GET", server.url)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    door.request("GET", server.url)
    assert [request.connection for request in server.requests] == [1, 2]


# The guard


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "https://127.0.0.1:{port}", "http://localhost:{port}"])
def test_it_does_not_reach_this_machine_without_leave(server, url):
    with pytest.raises(AddressBlocked) as caught:
        HttpClient().request("GET", url.format(port=server.port))
    assert caught.value.outcome is Outcome.MISCONFIGURED
    assert server.connections == 0


def test_it_judges_the_address_behind_a_name(server):
    door = HttpClient(resolver=lambda host, port, timeout: ["127.0.0.1"])
    with pytest.raises(AddressBlocked):
        door.request("GET", "https://inside.example/")


def test_plain_http_by_name_reaches_allowed_networks_only():
    door = HttpClient(LOOPBACK, resolver=lambda host, port, timeout: ["93.184.216.34"])
    with pytest.raises(AddressBlocked):
        door.request("GET", "http://outside.example/")


def test_https_keeps_the_name_for_host_and_certificate(certificate):
    door = HttpClient(LOOPBACK, resolver=lambda host, port, timeout: ["127.0.0.1"])
    with FakeHttpServer(certificate.server_context()) as secure:
        assert door.request("GET", f"https://gateway.test:{secure.port}/x").status == 200
        assert secure.requests[0].headers["host"] == f"gateway.test:{secure.port}"
    door.close()


def test_https_refuses_a_certificate_for_another_name(certificate):
    door = HttpClient(LOOPBACK, resolver=lambda host, port, timeout: ["127.0.0.1"])
    with FakeHttpServer(certificate.server_context()) as secure:
        with pytest.raises(NotConnected, match="certificate"):
            door.request("POST", f"https://other.test:{secure.port}/x", json={})
        assert secure.requests == []


def test_https_refuses_a_certificate_that_nobody_vouches_for(tmp_path):
    stranger = make_certificate(tmp_path, "gateway.test")
    with (
        FakeHttpServer(stranger.server_context()) as secure,
        pytest.raises(NotConnected, match="certificate"),
    ):
        HttpClient(LOOPBACK).request("POST", secure.url, json={})


@pytest.mark.parametrize("behaviour", [fake.hang(), fake.drip_headers(), fake.drip_body()])
def test_the_deadline_holds_through_tls(certificate, behaviour):
    door = HttpClient(LOOPBACK, resolver=lambda host, port, timeout: ["127.0.0.1"])
    with FakeHttpServer(certificate.server_context()) as secure:
        secure.script(behaviour)
        with pytest.raises(NoAnswer, match="in time"):
            door.request("POST", f"https://gateway.test:{secure.port}/x", json={}, timeout=SHORT)
        assert len(secure.requests) == 1


def test_it_keeps_a_connection_with_tls(certificate):
    door = HttpClient(LOOPBACK, resolver=lambda host, port, timeout: ["127.0.0.1"])
    with FakeHttpServer(certificate.server_context()) as secure:
        for _ in range(2):
            assert door.request("POST", f"https://gateway.test:{secure.port}/x", json={}).status == 200
        assert [request.connection for request in secure.requests] == [1, 1]


def test_touch_connects_and_asks_nothing(certificate):
    with FakeHttpServer(certificate.server_context()) as secure:
        HttpClient(LOOPBACK).touch(secure.url)
        assert secure.requests == []


def test_touch_notices_a_closed_door(server):
    with pytest.raises(AddressBlocked):
        HttpClient().touch(server.url)


# Classification


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.UNCLEAR),
        (302, Outcome.MISCONFIGURED),
        (400, Outcome.DECLINED),
        (401, Outcome.MISCONFIGURED),
        (402, Outcome.OUT_OF_FUNDS),
        (403, Outcome.DECLINED),
        (404, Outcome.DECLINED),
        (408, Outcome.RATE_LIMITED),
        (422, Outcome.DECLINED),
        (429, Outcome.RATE_LIMITED),
        (500, Outcome.TEMPORARY),
        (502, Outcome.UNKNOWN),
        (503, Outcome.TEMPORARY),
        (504, Outcome.UNKNOWN),
        (524, Outcome.UNKNOWN),
        (999, Outcome.TEMPORARY),
    ],
)
def test_it_classifies_a_status(status, outcome):
    error = classify_status(status_answer(status))
    assert (error.outcome, error.provider_status, error.retry_after) == (outcome, str(status), None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2),
        ("120", 120),
        ("1.5", 1.5),
        ("-1", None),
        ("1000000000", 3600),
        ("1e9", 3600),
        ("9" * 400, 3600),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600),
        ("Mon, 99999999999 Jan 2020 00:00:00 GMT", None),
    ],
)
def test_it_reads_retry_after(value, seconds):
    assert classify_status(status_answer(429, retry_after=value)).retry_after == seconds


def test_it_reads_retry_after_as_a_date():
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    seconds = classify_status(status_answer(503, retry_after=moment)).retry_after
    assert 0 < seconds <= 100
