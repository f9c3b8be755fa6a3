"""What no well-behaved client sends, over the real server: refused in our own words, and never at others' cost."""

import http.client
import json
import socket
import threading

import pytest

from tests.live import at_once

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]

MEGABYTE = 1024 * 1024
PROBLEM = "application/problem+json"


@pytest.fixture(autouse=True)
def service_stays_up(shop):
    yield
    assert {answer[0] for answer in at_once(8, lambda _: shop.as_app("GET", "/session/settings"))} == {200}
    assert "Traceback" not in shop.service.output("web")


def raw(service, data, *, answers=1):
    """Send these bytes on a connection of their own; the answers' statuses, headers and bodies."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall(data)
        return [read(connection) for _ in range(answers)]


def read(connection, method="GET"):
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    return response.status, response.headers, response.read()


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
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked")


def test_a_chunked_body_is_read(service, shop):
    body = in_chunks(b'{"to": "+4915199999999", "send": false}')
    [answer] = raw(service, create(shop, *CHUNKED, body=body, with_length=False))
    assert answer[0] == 200
    assert json.loads(answer[2])["sent_to"] is None


def test_a_chunked_body_is_limited(service, shop):
    body = in_chunks(b'{"to": "%s"}' % (b"x" * 20_000), size=4096)
    [answer] = raw(service, create(shop, *CHUNKED, body=body, with_length=False))
    assert_problem(answer, 413, "body_too_large")


def test_a_chunked_body_after_which_another_request_follows_leaves_that_one_whole(service, shop):
    first = create(shop, *CHUNKED, body=in_chunks(b'{"to": "+4915199999999", "send": false}'), with_length=False)
    second = request(shop, "Content-Length: 0", method="GET")
    assert [status for status, _, _ in raw(service, first + second, answers=2)] == [200, 200]


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_of_100_megabytes_is_refused(service, shop, is_chunked):
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        headers = CHUNKED if is_chunked else (CHUNKED[0], f"Content-Length: {100 * MEGABYTE}")
        connection.sendall(create(shop, *headers, body=b"", with_length=False))
        part = b" " * MEGABYTE
        try:
            for _ in range(100):
                connection.sendall(in_chunks(part, MEGABYTE)[:-5] if is_chunked else part)
            connection.sendall(b"0\r\n\r\n" if is_chunked else b"")
            status = read(connection)[0]
        except (ConnectionError, http.client.HTTPException):
            return  # hung up on, which is as good
    assert status == 413


def test_many_large_bodies_at_once_do_not_stop_others(service, shop):
    def upload(_):
        return raw(service, create(shop, CHUNKED[0], body=b" " * 20 * MEGABYTE))[0][0]

    answers = at_once(12, lambda number: upload(number) if number % 2 else shop.as_app("GET", "/session/settings")[0])
    assert set(answers[::2]) == {200}
    assert all(
        answer == 413 or isinstance(answer, (ConnectionError, http.client.HTTPException)) for answer in answers[1::2]
    )


def test_a_body_shorter_than_announced_is_not_taken_for_whole(service, shop):
    body = b'{"to": "+4915199999999", "send": false}'
    data = create(shop, CHUNKED[0], f"Content-Length: {len(body) + 10}", body=body, with_length=False)
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        try:
            assert read(connection)[0] >= 400
        except (ConnectionError, http.client.HTTPException):
            pass


def test_a_packed_body_is_refused(service, shop):
    [answer] = raw(service, create(shop, CHUNKED[0], "Content-Encoding: gzip", body=b"\x1f\x8b\x08\x00"))
    assert_problem(answer, 415, "unsupported_media_type")


# --- headers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; charset*=x''y",
        'application/json; charset="utf\\0"',
        "application/json; charset=ut\x00f-8",
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


def test_a_key_that_is_sent_twice_is_refused_or_taken_as_one(service, shop):
    [same] = raw(service, request(shop, f"x-api-key: {shop.api_key}", method="GET"))
    [other] = raw(service, request(shop, f"x-api-key: {shop.secret_key}", method="GET"))
    assert same[0] in (200, 401)
    assert other[0] in (200, 401)


@pytest.mark.parametrize("key", ["x" * 8192, "ww_api_" + "\xff" * 38, "ww_api_" + "0" * 38, "\t", "'\"\\%00"])
def test_an_odd_key_is_refused(service, key):
    [answer] = raw(
        service, f"GET /session/settings HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: {key}\r\n\r\n".encode("latin-1")
    )
    assert answer[0] == 401
    assert answer[1]["content-type"] == PROBLEM


def test_a_header_of_8_kilobytes_is_taken_and_one_of_a_megabyte_refused(service, shop):
    assert raw(service, request(shop, "x-more: " + "x" * 8192, method="GET"))[0][0] == 200
    try:
        assert 400 <= raw(service, request(shop, "x-more: " + "x" * MEGABYTE, method="GET"))[0][0] < 500
    except (ConnectionError, http.client.HTTPException):
        pass


def test_a_wrong_host_is_refused_in_json(service):
    [answer] = raw(service, b"GET /session/settings HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert_problem(answer, 400, "host_not_allowed")


# --- methods and connections --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "BREW", "get"])
def test_an_unknown_method_is_answered_in_json(service, shop, method):
    [answer] = raw(service, request(shop, "Content-Length: 0", method=method))
    assert answer[0] in (400, 405, 501)
    if answer[0] == 405:
        assert_problem(answer, 405, "method_not_allowed")
    assert shop.api_key.encode() not in answer[2]


def test_head_is_answered_without_a_body(service, shop):
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall(request(shop, method="HEAD") + request(shop, method="GET"))
        assert read(connection, "HEAD")[0] in (200, 405)
        assert read(connection)[0] == 200


def test_pipelined_requests_are_answered_in_their_order(service, shop):
    ids = [f"request-{number}" for number in range(10)]
    data = b"".join(request(shop, f"x-request-id: {name}", method="GET") for name in ids)
    answers = raw(service, data, answers=10)
    assert [(status, headers["x-request-id"]) for status, headers, _ in answers] == [(200, name) for name in ids]


def test_nonsense_on_the_line_is_not_a_fault_of_ours(service):
    for nonsense in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ):
        try:
            assert 400 <= raw(service, nonsense + b"\r\n\r\n")[0][0] < 500
        except (OSError, http.client.HTTPException):
            pass  # hung up on


def test_slow_clients_do_not_stop_others(service, shop):
    """More of them than there are threads, each a byte a second for three seconds."""
    done = threading.Event()

    def drip():
        with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
            connection.sendall(create(shop, CHUNKED[0])[:-20])
            for byte in (b'"', b"s", b"e"):
                if done.wait(1):
                    return
                connection.sendall(byte)

    slow = [threading.Thread(target=drip) for _ in range(4 * 2 * 3)]
    for thread in slow:
        thread.start()
    try:
        assert {shop.as_app("GET", "/session/settings")[0] for _ in range(20)} == {200}
        assert all(thread.is_alive() for thread in slow)
    finally:
        done.set()
        for thread in slow:
            thread.join()
