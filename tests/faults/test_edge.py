"""Requests that no well-behaved client sends are refused, and never at others' cost."""

import contextlib
import copy
import http.client
import json
import socket

import pytest

from tests.live import at_once, wait_until
from tests.servers import caddy, nginx
from tests.servers.caddy import Caddy
from tests.servers.nginx import Nginx

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]

MEGABYTE = 1024 * 1024
PROBLEM = "application/problem+json"
SECONDS = 60  # for an answer; who gets none fails
HUNG_UP = (ConnectionError, http.client.HTTPException)


@pytest.fixture(autouse=True)
def service_stays_up(shop):
    yield
    assert {answer[0] for answer in at_once(8, lambda _: shop.as_app("GET", "/session/settings"))} == {200}
    assert "Traceback" not in shop.service.output("web")


class Line:
    """A connection on which bytes are sent as they are, and any number of answers read."""

    def __init__(self, service):
        self.socket = socket.create_connection(("127.0.0.1", service.port), timeout=SECONDS)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def read(self, method="GET"):
        """Status, headers and body of the next answer."""
        response = http.client.HTTPResponse(Kept(self.file), method=method)
        response.begin()
        return response.status, response.headers, response.read()


class Kept:
    """Hands http.client one file for all answers, which would otherwise read ahead and close it after the first."""

    def __init__(self, file):
        self.file = file

    def makefile(self, _mode):
        return self

    def __getattr__(self, name):
        return getattr(self.file, name)

    def close(self):
        pass


def raw(service, data, *, answers=1):
    """Send these bytes on a connection of their own; the answers' statuses, headers and bodies."""
    with Line(service) as line:
        line.socket.sendall(data)
        return [line.read() for _ in range(answers)]


def request(shop, *headers, method="POST", path="/session/settings", body=b""):
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"x-api-key: {shop.api_key}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def create(shop, *headers, body=b'{"to": "+4915199999999", "send": false}', with_length=True):
    length = [f"Content-Length: {len(body)}"] if with_length else []
    return request(shop, *length, *headers, path="/session/create", body=body)


def assert_problem(answer, status, code):
    assert (answer[0], answer[1]["content-type"]) == (status, PROBLEM)
    assert json.loads(answer[2])["code"] == code


# --- bodies -------------------------------------------------------------------------------------------------------


def in_chunks(body, size=7):
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + LAST_CHUNK


LAST_CHUNK = b"0\r\n\r\n"
CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")


def test_a_chunked_body_is_read(service, shop):
    body = in_chunks(b'{"to": "+4915199999999", "send": false}')
    [answer] = raw(service, create(shop, *CHUNKED, body=body, with_length=False))
    assert answer[0] == 200
    assert json.loads(answer[2])["sent_to"] is None


@pytest.mark.requirement(100)
def test_a_chunked_body_is_limited(service, shop):
    body = in_chunks(b'{"to": "%s"}' % (b"x" * 20_000), size=4096)
    [answer] = raw(service, create(shop, *CHUNKED, body=body, with_length=False))
    assert_problem(answer, 413, "body_too_large")


@pytest.mark.requirement(100)
@pytest.mark.parametrize("size", [17 * 1024, 257 * 1024, 2 * MEGABYTE])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_is_too_large_however_large_it_is(service, shop, size, is_chunked):
    """Beyond what the web server reads of it, too."""
    body = b" " * size
    with contextlib.suppress(ConnectionError), Line(service) as line:
        headers = CHUNKED if is_chunked else (CHUNKED[0], f"Content-Length: {size}")
        line.socket.sendall(create(shop, *headers, body=b"", with_length=False))
        with contextlib.suppress(ConnectionError):  # it may have heard enough
            line.socket.sendall(in_chunks(body, 64 * 1024) if is_chunked else body)
        assert_problem(line.read(), 413, "body_too_large")


def test_long_reports_at_once_are_answered(service):
    """As many as the processes have threads, nearly all sent before the first of them is whole.

    They name no provider, so their answers may come before their ends, which are then not waited for.
    """
    head = "POST /hooks/0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4/x HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    most, rest = b" " * 300 * 1024, b" " * 1024
    with contextlib.ExitStack() as lines:
        opened = [lines.enter_context(Line(service)) for _ in range(32)]
        for line in opened:
            with contextlib.suppress(ConnectionError):
                line.socket.sendall(f"{head}Content-Length: {len(most + rest)}\r\n\r\n".encode() + most)
        answers = []
        for line in opened:
            with contextlib.suppress(*HUNG_UP):
                line.socket.sendall(rest)
                answers.append(line.read()[0])
        assert set(answers) <= {404, 429}  # of so many calls that name no provider, some are too many


@pytest.mark.requirement(100)
def test_a_form_that_is_announced_as_too_large_is_refused_with_a_page(service):
    with Line(service) as line:
        fields = ["POST /admin/login/ HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {257 * 1024}", "", ""]
        line.socket.sendall("\r\n".join(fields).encode())
        status, headers, body = line.read()
    assert (status, headers["content-type"]) == (413, "text/html; charset=utf-8")
    assert b"Too much text" in body


def test_a_chunked_body_after_which_another_request_follows_leaves_that_one_whole(service, shop):
    first = create(shop, *CHUNKED, body=in_chunks(b'{"to": "+4915199999999", "send": false}'), with_length=False)
    second = request(shop, "Content-Length: 0", method="GET")
    assert [status for status, _, _ in raw(service, first + second, answers=2)] == [200, 200]


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_of_100_megabytes_is_refused_or_hung_up_on(service, shop, is_chunked):
    headers = CHUNKED if is_chunked else (CHUNKED[0], f"Content-Length: {100 * MEGABYTE}")
    part = b" " * MEGABYTE
    with Line(service) as line, contextlib.suppress(*HUNG_UP):
        line.socket.sendall(create(shop, *headers, body=b"", with_length=False))
        for _ in range(100):
            line.socket.sendall(in_chunks(part, MEGABYTE).removesuffix(LAST_CHUNK) if is_chunked else part)
        line.socket.sendall(LAST_CHUNK if is_chunked else b"")
        assert line.read()[0] == 413


@pytest.mark.requirement(100)
def test_large_bodies_at_once_do_not_stop_others(service, shop):
    def upload():
        with contextlib.suppress(*HUNG_UP):
            return raw(service, create(shop, CHUNKED[0], body=b" " * 20 * MEGABYTE))[0][0]

    def ask():
        return shop.as_app("GET", "/session/settings")[0]

    answers = at_once(12, lambda number: upload() if number % 2 else ask())
    assert set(answers[::2]) == {200}
    assert set(answers[1::2]) <= {413, None}


@pytest.mark.requirement(100)
def test_a_packed_body_is_refused(service, shop):
    [answer] = raw(service, create(shop, CHUNKED[0], "Content-Encoding: gzip", body=b"\x1f\x8b\x08\x00"))
    assert_problem(answer, 415, "unsupported_media_type")


# --- headers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; charset*=x''y",
        'application/json; charset="utf\\0"',
        "application/json; charset=utf-16",
        "application/json; charset=\xfc\xff",
        "application/json; charset*0=x; charset*1=y",
        "application/json; charset*=%FF'%FF'%FF",
        "application/json; " + "a=b; " * 500,
        "application/json, application/json",
        "application/json;;;===",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\xff",
        "application/x-www-form-urlencoded",
        "\xff\xfe",
        "/",
        ";",
        "",
    ],
)
def test_no_content_type_is_a_fault_of_ours_or_answered_by_a_page(service, shop, content_type):
    [(status, headers, body)] = raw(service, create(shop, f"Content-Type: {content_type}"))
    assert 200 <= status < 500
    assert not body or headers["content-type"] in (PROBLEM, "application/json")


@pytest.mark.requirement(6)
def test_a_key_that_is_sent_twice_is_refused_or_taken_as_one(service, shop):
    [same] = raw(service, request(shop, f"x-api-key: {shop.api_key}", method="GET"))
    [other] = raw(service, request(shop, f"x-api-key: {shop.secret_key}", method="GET"))
    assert same[0] in (200, 401)
    assert other[0] in (200, 401)


@pytest.mark.parametrize("key", ["x" * 8192, "ww_api_" + "\xff" * 38, "ww_api_" + "0" * 38, "\t", "'\"\\%00"])
def test_an_odd_key_is_refused(service, key):
    head = f"GET /session/settings HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: {key}\r\n\r\n"
    [answer] = raw(service, head.encode("latin-1"))
    assert (answer[0], answer[1]["content-type"]) == (401, PROBLEM)


def test_a_header_of_8_kilobytes_is_taken_and_one_of_a_megabyte_refused(service, shop):
    assert raw(service, request(shop, "x-more: " + "x" * 8192, method="GET"))[0][0] == 200
    with contextlib.suppress(*HUNG_UP):
        assert 400 <= raw(service, request(shop, "x-more: " + "x" * MEGABYTE, method="GET"))[0][0] < 500


def test_a_wrong_host_is_refused_in_json(service):
    [answer] = raw(service, b"GET /session/settings HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert_problem(answer, 400, "host_not_allowed")


# --- methods and connections --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "told"), [("/livez", {}), ("/readyz", {"degraded": {}})])
def test_a_probe_is_answered_whatever_the_host(service, path, told):
    status, body, headers = service.call("GET", path, headers={"Host": "10.1.2.3"})
    assert (status, body, headers["Cache-Control"]) == (200, {"status": "ok", **told}, "no-store")


@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "BREW"])
def test_another_method_is_not_allowed(service, shop, method):
    [answer] = raw(service, request(shop, "Content-Length: 0", method=method))
    assert_problem(answer, 405, "method_not_allowed")
    assert shop.api_key.encode() not in answer[2]


def test_head_is_answered_without_a_body(service, shop):
    with Line(service) as line:
        line.socket.sendall(request(shop, method="HEAD") + request(shop, method="GET"))
        assert line.read("HEAD")[0] in (200, 405)
        assert line.read()[0] == 200


def test_pipelined_requests_are_answered_in_their_order(service, shop):
    ids = [f"request-{number}" for number in range(10)]
    data = b"".join(request(shop, f"x-request-id: {name}", method="GET") for name in ids)
    answers = raw(service, data, answers=10)
    assert [(status, headers["x-request-id"]) for status, headers, _ in answers] == [(200, name) for name in ids]


@pytest.mark.parametrize(
    "nonsense", [b"\x16\x03\x01\x02\x00\x01", b"\0\0\0\0", b"GET", b"GET / HTTP/9.9", b"\xff / HTTP/1.1"]
)
def test_nonsense_is_refused_or_hung_up_on(service, nonsense):
    with contextlib.suppress(*HUNG_UP):
        assert 400 <= raw(service, nonsense + b"\r\n\r\n")[0][0] < 500


@pytest.mark.requirement(106)
def test_no_header_names_the_software(service):
    answers = [service.call("GET", path)[2] for path in ("/session/settings", "/nowhere")]
    answers.append(raw(service, b"GET / HTTP/1.1\r\n\r\n")[0][1])  # without a host
    for headers in answers:
        assert headers.get("server", "web") == "web"
        assert not {"x-powered-by", "via", "x-served-by"} & {name.lower() for name in headers}


SLOW_HEADS, SLOW_BODIES = 100, 500
PROXIES = [
    pytest.param(Nginx, marks=pytest.mark.skipif(not nginx.PROGRAM, reason="nginx is not installed.")),
    pytest.param(Caddy, marks=pytest.mark.skipif(not caddy.PROGRAM, reason="Caddy is not installed.")),
]


@pytest.mark.requirement(103)
@pytest.mark.parametrize("proxy", PROXIES)
def test_behind_the_proxies_that_are_shipped_slow_clients_do_not_stop_others(service, shop, proxy):
    """The web processes have a thread for each request, and the proxy hands on whole requests only."""
    sent = create(shop, CHUNKED[0])
    stops = [len(sent) // 4] * SLOW_HEADS + [len(sent) - 1] * SLOW_BODIES
    with proxy([service.port]) as running, contextlib.ExitStack() as stack:
        behind = copy.copy(service)
        behind.port = running.port
        wait_until(behind.answers, "the proxy answers")
        for stop in stops:
            stack.enter_context(Line(behind)).socket.sendall(sent[:stop])
        through_proxy = {behind.call("GET", "/session/settings", key=shop.api_key)[0] for _ in range(20)}
        assert through_proxy == {200}


@pytest.mark.requirement(103)
def test_a_body_that_does_not_come_is_given_up_and_does_nothing(service, shop):
    with Line(service) as line:
        line.socket.sendall(create(shop, CHUNKED[0])[:-1])
        assert_problem(line.read(), 400, "parse_error")


def test_a_header_written_with_underscores_is_not_taken_for_the_one_with_hyphens(service):
    """Else a client could add to what the proxy in front wrote, such as X_Forwarded_For to X-Forwarded-For."""
    status, answer, _ = service.call("GET", "/session/settings", headers={"x_api_key": "ww_api_anything"})
    assert (status, answer["code"]) == (401, "missing_api_key")


def test_a_header_that_no_one_can_read_is_wrong_and_not_absent(shop):
    """Its bytes are beyond ASCII, and the server leaves them out: the message would go out twice on a retry."""
    status, answer, _ = shop.send("+4915112345678", headers={"idempotency-key": "×ø"})
    assert (status, [field["field"] for field in answer["errors"]]) == (400, ["Idempotency-Key"])
