"""A client's connection to a web process, on a real socket: what is taken as a request, and what is not."""

import asyncio
import contextlib
import json
import os
import socket
import threading
from unittest.mock import Mock

import pytest
import uvloop
from django.core.handlers.wsgi import WSGIRequest
from django.http import UnreadablePostError

from config.processes import connection, request, webprocess
from config.processes.webprocess import WebProcess
from config.processes.webserver import listen
from tests.live import wait_until

SECONDS = 20  # none of which passes unless something is wrong
HOST = b"Host: testserver\r\n"
GET = b"GET /a?b=c HTTP/1.1\r\n" + HOST + b"\r\n"


gate = threading.Semaphore(0)  # lets one request to /wait go
waits = threading.Semaphore(0)  # counts the requests to /wait that came


def tell(environ, start_response):
    """Answer with the request as the application sees it."""
    if environ["PATH_INFO"] == "/wait":
        waits.release()
        assert gate.acquire(timeout=SECONDS)
    if environ["PATH_INFO"] == "/broken":
        raise RuntimeError
    try:
        body = environ["wsgi.input"].read().decode("latin-1")
    except TimeoutError:
        body = "did not arrive"
    start_response("200 OK", [("content-type", "application/json")])
    seen = {name: value for name, value in environ.items() if isinstance(value, str)}
    return [json.dumps({**seen, "body": body}).encode()]


@pytest.fixture(scope="module")
def port():
    """A web process in a thread of this one. Its time for bodies is short."""
    listener = listen("127.0.0.1", 0)
    process = WebProcess(tell)
    process.body_seconds = 0.5
    runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)

    def run():
        with runner:
            runner.run(process.serve(listener, parent=os.getppid()))

    number = listener.getsockname()[1]
    thread = threading.Thread(target=run)
    thread.start()
    yield number
    process.stop()
    thread.join(SECONDS)


@pytest.fixture
def client(port):
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as made:
        yield made


def read_all(client):
    """Everything until the server hangs up."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(65536):
            data += part
    return data


def read_one(file):
    """Status, headers and body of the next answer."""
    status = int(file.readline().split()[1])
    headers = {}
    while (line := file.readline().strip()) != b"":
        name, _, value = line.decode().partition(": ")
        headers[name] = value
    body = file.read(int(headers.get("content-length", 0)))
    return status, headers, body


def ask(client, data):
    client.sendall(data)
    status, _, body = read_one(client.makefile("rb"))
    assert status == 200
    return json.loads(body)


def post(*headers, body=b""):
    return b"POST / HTTP/1.1\r\n" + HOST + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


def test_a_request_is_told_as_pep_3333_wants_it(client, port):
    seen = ask(client, b"POST /%C3%B6?x=%20 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nX-Y: 1\r\nx-y: 2\r\n\r\nab")
    assert (seen["REQUEST_METHOD"], seen["PATH_INFO"], seen["QUERY_STRING"]) == ("POST", "/\xc3\xb6", "x=%20")
    assert (seen["REMOTE_ADDR"], seen["SERVER_PORT"], seen["body"]) == ("127.0.0.1", str(port), "ab")
    assert (seen["HTTP_X_Y"], seen["CONTENT_LENGTH"]) == ("1,2", "2")


@pytest.mark.parametrize(
    ("target", "path", "host"),
    [
        (b"http://shop.example/a?b", "/a", "shop.example"),
        (b"HTTP://shop.example?b", "/", "shop.example"),
        (b"http://http/a?b", "/a", "http"),
    ],
)
def test_a_proxys_form_of_the_target_is_read(client, target, path, host):
    seen = ask(client, b"GET " + target + b" HTTP/1.1\r\nHost: other.example\r\n\r\n")
    assert (seen["PATH_INFO"], seen["QUERY_STRING"], seen["HTTP_HOST"]) == (path, "b", host)


def test_what_follows_a_chunked_body_adds_no_header(client):
    trailer = b"x-api-key: stolen\r\n"
    seen = ask(client, post(b"Transfer-Encoding: chunked", b"Trailer: x", body=b"1\r\na\r\n0\r\n" + trailer + b"\r\n"))
    assert (seen["body"], seen["CONTENT_LENGTH"]) == ("a", "1")
    assert "HTTP_X_API_KEY" not in seen


@pytest.mark.parametrize("loose", [b"0\r\nX: ", b"1;x="])
def test_a_chunked_body_brings_no_more_beside_it_than_a_head_may_hold(client, loose):
    client.sendall(post(b"Transfer-Encoding: chunked", body=loose))
    with contextlib.suppress(ConnectionError):
        for _ in range(32):
            client.sendall(b"x" * request.MAX_HEAD_BYTES)
    assert read_all(client).startswith(b"HTTP/1.1 400 ")


WISH = b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"


@pytest.mark.parametrize(
    ("framing", "body"),
    [(b"Content-Length: 2", b"ab"), (b"Transfer-Encoding: chunked", b"2\r\nab\r\n0\r\n\r\n")],
)
def test_a_body_arrives_whatever_protocol_its_sender_would_rather_speak(client, framing, body):
    """Java's client wishes for HTTP/2 with each request, and its body follows the head."""
    client.sendall(post(*WISH, framing))
    client.sendall(body)
    answer = read_all(client)
    assert b"connection: close\r\n" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["body"] == "ab"


def test_a_chunked_body_of_which_nothing_came_is_not_taken_for_an_empty_one():
    late = request.Request(method=b"POST", target=b"/", is_chunked=True, is_whole=False)
    environ = webprocess.to_environ(late, {"SERVER_PROTOCOL": "HTTP/1.1"}, None)
    with pytest.raises(UnreadablePostError):
        _ = WSGIRequest(environ).body


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(client):
    client.sendall(post(b"Content-Length: 2", b"Expect: 100-continue"))
    file = client.makefile("rb")
    assert file.readline().startswith(b"HTTP/1.1 100") and file.readline() == b"\r\n"
    client.sendall(b"ab")
    assert json.loads(read_one(file)[2])["body"] == "ab"


def test_a_client_that_has_sent_all_still_gets_its_answer(client):
    client.sendall(GET)
    client.shutdown(socket.SHUT_WR)
    assert read_all(client).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ],
)
def test_the_connection_ends_where_the_client_says_so_or_speaks_otherwise(client, data):
    client.sendall(data)
    answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 200") and b"connection: close\r\n" in answer


@pytest.mark.parametrize(
    "data",
    [
        post(b"Content-Length: 1", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
        post(b"Transfer-Encoding: chunked", b"Content-Length: 1", body=b"0\r\n\r\n"),
        post(b"Content-Length: 1", b"Content-Length: 2", body=b"ab"),
        post(b"Content-Length: +1", body=b"a"),
        post(b"Content-Length: 1, 1", body=b"a"),
        post(b"Content-Length : 1", body=b"a"),
        post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n"),
        post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),
        post(b"Transfer-Encoding: chunked", body=b"1;\n\ra\r\n0\r\n\r\n"),
        post(b"Transfer-Encoding: chunked", body=b"0x1\r\na\r\n0\r\n\r\n"),
        post(b"X: a\nContent-Length: 1", body=b"a"),
        post(b"X: a\r\n folded"),
        post(b"X\x00: a"),
        b"GET / HTTP/1.1\nHost: h\n\n",
        b"GET ftp://h/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET h:1 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
        post(b"Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"),
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET /a#b HTTP/1.1\r\n" + HOST + b"\r\n",
    ],
)
def test_what_two_servers_could_read_differently_is_refused(client, data):
    client.sendall(data + GET)
    answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"parse_error"' in answer and answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"x" * request.MAX_HEAD_BYTES,
        b"\r\n".join(b"X: 1" for _ in range(request.MAX_HEADERS + 1)),
    ],
)
def test_a_head_out_of_all_measure_is_refused(client, head):
    client.sendall(b"GET / HTTP/1.1\r\n" + HOST + head + b"\r\n\r\n")
    assert read_all(client).startswith(b"HTTP/1.1 400 ")


def test_a_client_cannot_pile_up_requests_without_end(client):
    with contextlib.suppress(ConnectionError):
        client.sendall(GET * 5_000)
    assert read_all(client).count(b"HTTP/1.1 200") < 5_000


def test_requests_ahead_of_their_answers_are_answered_in_order(client):
    number = connection.MAX_WAITING
    client.sendall(b"".join(b"GET /%d HTTP/1.1\r\n%s\r\n" % (place, HOST) for place in range(number)))
    file = client.makefile("rb")
    paths = [json.loads(read_one(file)[2])["PATH_INFO"] for _ in range(number)]
    assert paths == [f"/{place}" for place in range(number)]


def test_a_body_that_does_not_come_is_told_as_such(client):
    client.sendall(post(b"Content-Length: 2", body=b"a"))
    assert b"did not arrive" in read_all(client)


def test_a_client_that_does_not_go_on_is_given_up(client, monkeypatch, port):
    ask(client, GET)  # so that its time is counted before that becomes short
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert read_all(slow) == b""
        client.sendall(GET)
        assert read_all(client).count(b"HTTP/1.1 200") == 1  # and then nothing for too long


def test_a_process_beyond_its_connections_takes_the_next_when_one_ends(port, monkeypatch):
    monkeypatch.setattr(webprocess, "CONNECTIONS", 2)
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as third:
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=SECONDS))
        third.sendall(GET)
        assert third.recv(12) == b"HTTP/1.1 200"


def test_an_answer_without_a_body_has_none():
    asked = request.Request(method=b"HEAD")
    answer = webprocess.render(asked, 200, [("Content-Length", "5")], b"")
    assert b"content-length: 5\r\n" in answer and answer.endswith(b"\r\n\r\n")
    assert b"content-length" not in webprocess.render(request.Request(method=b"OPTIONS"), 204, [], b"")


def test_whether_a_process_lives_is_answered_without_one_of_its_threads():
    """They may all wait for the database, and a restart would not bring it back."""
    process = WebProcess(tell)

    class Answered:
        def answer(self, data):
            self.data = data

    asker = Answered()
    process.start(asker, request.Request(method=b"GET", target=b"/livez"))
    assert asker.data.startswith(b"HTTP/1.1 200 OK") and asker.data.endswith(b'{"status": "ok"}')


def test_a_request_beyond_those_that_a_process_holds_is_told_to_come_back(client, port, monkeypatch):
    monkeypatch.setattr(webprocess, "MAX_IN_WORK", 1)
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as first:
        first.sendall(b"GET /wait HTTP/1.1\r\n" + HOST + b"\r\n")
        assert waits.acquire(timeout=SECONDS)
        client.sendall(GET)
        file = client.makefile("rb")
        status, headers, body = read_one(file)
        assert (status, headers["Retry-After"], json.loads(body)["code"]) == (503, "1", "service_unavailable")
        gate.release()
        assert read_one(first.makefile("rb"))[0] == 200
        client.sendall(GET)
        assert read_one(file)[0] == 200


def named(to):
    """A request of the API to /wait that names a recipient."""
    body = json.dumps({"to": to}).encode()
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    return b"POST /wait HTTP/1.1\r\nX-Api-Key: key\r\n" + HOST + length + body


def test_a_flood_of_one_project_leaves_room_for_others(client, port, monkeypatch):
    monkeypatch.setattr(webprocess, "MAX_OF_CALLER", 1)
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as first:
        first.sendall(named("a"))
        assert waits.acquire(timeout=SECONDS)
        client.sendall(named("b"))
        file = client.makefile("rb")
        status, headers, body = read_one(file)
        assert (status, headers["Retry-After"], json.loads(body)["code"]) == (503, "1", "service_unavailable")
        client.sendall(GET)
        assert read_one(file)[0] == 200
        gate.release()
        assert read_one(first.makefile("rb"))[0] == 200


def test_a_request_that_fails_outside_of_every_view_is_a_problem_too(client):
    client.sendall(b"GET /broken HTTP/1.1\r\n" + HOST + b"\r\n")
    status, _, body = read_one(client.makefile("rb"))
    assert (status, json.loads(body)["code"]) == (500, "internal_error")


def test_connections_leave_files_for_the_database():
    assert webprocess.most_connections(1024) == 1024 - webprocess.KEPT_FILES
    assert webprocess.most_connections(1_000_000) == webprocess.CONNECTIONS


class Process:
    """The parts of a process that a connection needs. Bodies of more than one byte are long."""

    usual_body, body_seconds = 1, 10.0

    def __init__(self):
        self.started, self.left = [], 0

    def start(self, _connection, asked):
        self.started.append(asked.target)

    def leave_place(self, _connection):
        self.left += 1

    def longest_body(self, _target):
        return 100

    def take_place(self, _connection):
        return True

    def opened(self, _connection):
        pass

    closed = opened


@pytest.fixture
def line():
    """A connection without a socket, to have things happen in one order."""
    made = connection.Connection(Process(), Mock(time=lambda: 0.0))
    made.connection_made(Mock(is_closing=lambda: False))
    return made


def test_a_long_body_keeps_its_place_while_a_thread_has_it(line):
    """Else clients that send one and break off could fill the memory."""
    line.data_received(post(b"Content-Length: 2", body=b"ab"))
    line.connection_lost(None)
    assert line.host.left == 0
    line.answer(b"")
    assert line.host.left == 1


def test_a_client_that_has_sent_all_gets_what_waits_behind_a_slow_answer(line):
    line.data_received(GET + GET)
    line.pause_writing()
    line.answer(b"first")
    assert line.eof_received()
    line.resume_writing()
    assert len(line.host.started) == 2


def test_a_client_is_asked_for_its_body_after_the_answer_before(line):
    sent = line.transport.write
    line.data_received(GET + post(b"Content-Length: 2", b"Expect: 100-continue"))
    assert not sent.called
    line.answer(b"first")
    assert [call.args[0] for call in sent.mock_calls] == [b"first", connection.CONTINUE]


def test_a_client_that_broke_off_while_it_waited_is_not_served():
    seen = []
    process = WebProcess(lambda environ, start_response: seen.append(environ))
    process.loop = Mock()
    process._work(Mock(transport=None), request.Request(method=b"POST", target=b"/"), b"")
    assert seen == [] and process.loop.call_soon_threadsafe.called


def test_clients_who_connected_before_a_process_stops_are_answered_and_told_to_go():
    """Some wait to be accepted, others are accepted and ask a moment later. Nobody's request is lost."""
    listener = listen("127.0.0.1", 0)
    process = WebProcess(tell)
    process.stop()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(listener.getsockname())) for _ in range(8)]
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            serving = threading.Thread(target=lambda: runner.run(process.serve(listener, parent=os.getppid())))
            serving.start()
            wait_until(lambda: len(process._connections) == len(clients), "all are accepted")
            for each in clients:
                each.settimeout(SECONDS)
                each.sendall(GET)
            answers = [read_all(each) for each in clients]
            serving.join(SECONDS)
    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * len(clients)
    assert all(b"connection: close\r\n" in answer for answer in answers)
    assert not serving.is_alive()


def test_a_client_who_asks_nothing_does_not_hold_up_the_end_of_a_process():
    listener = listen("127.0.0.1", 0)
    process = WebProcess(tell)
    process.stop()
    with (
        socket.create_connection(listener.getsockname(), timeout=SECONDS) as idle,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(process.serve(listener, parent=os.getppid()))
        assert read_all(idle) == b""
        assert not process._connections
