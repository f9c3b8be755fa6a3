"""Our clients, against a server that answers by a script: what they repeat, tell, and never show."""

import asyncio
import json
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from watchword import AsyncWatchword, Watchword, WatchwordError

from tests.clients.programs import need
from tests.live import free_port

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

PROGRAM = Path(__file__).parent / "call_watchword.js"
KEYS = {"api_key": "ww_api_not-to-be-shown", "secret_key": "ww_secret_not-to-be-shown"}
LOST = "the connection ends without an answer"
SESSION = "01K5V9QW3M7D8N4R2T6Y0ZB1CX"
TOKEN = "6f1c1c1e-8a54-4a9e-9b0f-3d5e0b9b7c11"
# What each call is answered with where it succeeds.
GOOD = {
    "create": {"session_id": SESSION, "session_expired_at": "2026-05-04T09:30:04Z", "sent_to": "sms", "channels": []},
    "create_with_challenge": {
        "session_id": SESSION,
        "session_expired_at": "2026-05-04T09:30:04Z",
        "sent_to": "sms",
        "channels": [],
    },
    "check": {"verify_token": TOKEN, "is_test": False, "member_of_a_later_version": 1},
    "verify": {"phone": "+46701740605"},
    "send_message": {"message": "The message is queued.", "code": "aes256:a:b:c", "message_id": 1},
}
ARGUMENTS = {
    "create": ["create_session", "createSession", ["+46701740605"], {}],
    "create_with_challenge": ["create_session", "createSession", ["+46701740605"], {"challenge_token": "answer"}],
    "check": ["check_code", "checkCode", [SESSION, "493817"], {}],
    "verify": ["verify", "verify", [TOKEN], {}],
    "send_message": ["send_message", "sendMessage", ["+46701740605", "sms"], {}],
}


def problem(status, code, retry_after=None, **members):
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return status, headers, {"type": "", "title": "", "status": status, "code": code, "detail": "No.", **members}


UNAVAILABLE = problem(503, "service_unavailable")
BROKEN = problem(500, "internal_error")
BAD_GATEWAY = (502, {}, "<html>Bad Gateway</html>")


class Script:
    """A server that gives its answers one after the other, and keeps what it was asked."""

    def __init__(self):
        self.answers, self.asked, self.times = [], [], []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                script.asked.append((self.path, dict(self.headers.items())))
                script.times.append(time.monotonic())
                answer = script.answers.pop(0)
                if answer is LOST:
                    self.close_connection = True
                    return
                status, headers, body = answer
                content = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def script():
    script = Script()
    try:
        yield script
    finally:
        script.server.shutdown()
        script.server.server_close()


def told(error):
    members = ("code", "retry_after", "may_have_arrived", "attempts_left")
    return {"error": type(error).__name__, "text": str(error), **{name: getattr(error, name, None) for name in members}}


def in_python(url, call):
    method, _, arguments, options = ARGUMENTS[call]
    with Watchword(url, **KEYS) as watchword:
        try:
            getattr(watchword, method)(*arguments, **options)
        except WatchwordError as error:
            return told(error)
    return {"error": None}


def in_asyncio(url, call):
    async def run():
        method, _, arguments, options = ARGUMENTS[call]
        async with AsyncWatchword(url, **KEYS) as watchword:
            try:
                await getattr(watchword, method)(*arguments, **options)
            except WatchwordError as error:
                return told(error)
        return {"error": None}

    return asyncio.run(run())


@pytest.fixture(params=["python", "asyncio", pytest.param("javascript", marks=pytest.mark.long)])
def attempt(request):
    """Make one call with one of the clients, and return how it ended."""
    if request.param != "javascript":
        return in_python if request.param == "python" else in_asyncio
    need("node")
    home = request.getfixturevalue("javascript")
    (home / "call.js").write_text(PROGRAM.read_text())

    def in_javascript(url, call):
        _, method, arguments, options = ARGUMENTS[call]
        given = json.dumps([url, KEYS, method, [*arguments, *([{"challengeToken": "answer"}] if options else [])]])
        done = subprocess.run(["node", "call.js", given], cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return in_javascript


@pytest.mark.parametrize("call", ["create", "send_message", "verify"])
@pytest.mark.parametrize("failure", [LOST, BROKEN, BAD_GATEWAY, UNAVAILABLE], ids=["lost", "500", "502", "503"])
def test_a_call_that_does_no_harm_twice_is_repeated(script, attempt, call, failure):
    script.answers = [failure, (200, {}, GOOD[call])]
    assert attempt(script.url, call) == {"error": None}
    assert len(script.asked) == 2


@pytest.mark.parametrize("call", ["check", "create_with_challenge"])
@pytest.mark.parametrize("failure", [LOST, BROKEN, BAD_GATEWAY], ids=["lost", "500", "502"])
def test_a_call_that_may_have_been_carried_out_is_not_repeated(script, attempt, call, failure):
    script.answers = [failure]
    assert attempt(script.url, call)["error"] in ("ConnectionFailed", "InternalError", "UnexpectedAnswer")
    assert len(script.asked) == 1


@pytest.mark.parametrize("call", ["check", "verify"])
def test_a_refusal_that_says_when_to_come_back_is_repeated_then(script, attempt, call):
    script.answers = [problem(429, "rate_limited", 1), UNAVAILABLE, (200, {}, GOOD[call])]
    assert attempt(script.url, call) == {"error": None}
    assert script.times[1] - script.times[0] >= 1


@pytest.mark.parametrize(("retry_after", "asked"), [(1, 2), (None, 1)])
def test_a_send_whose_first_request_is_still_at_work_is_repeated_then(script, attempt, retry_after, asked):
    script.answers = [problem(409, "idempotency_conflict", retry_after), (200, {}, GOOD["send_message"])]
    error = None if asked == 2 else "IdempotencyConflict"
    assert (attempt(script.url, "send_message")["error"], len(script.asked)) == (error, asked)


def test_a_challenge_is_not_answered_twice_by_one_token(script, attempt):
    script.answers = [UNAVAILABLE]
    assert attempt(script.url, "create_with_challenge")["error"] == "ServiceUnavailable"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(429, "rate_limited", 3600), "RateLimited"),
        (problem(429, "channel_timeout", 3600), "ChannelTimeout"),
        (problem(429, "a_code_of_later", 3600), "Problem"),
    ],
)
def test_a_long_wait_is_the_callers(script, attempt, answer, error):
    script.answers = [answer]
    seen = attempt(script.url, "create")
    assert (seen["error"], seen["retry_after"], len(script.asked)) == (error, 3600, 1)


def test_repeating_ends(script, attempt):
    script.answers = [BAD_GATEWAY] * 3
    assert attempt(script.url, "create")["error"] == "UnexpectedAnswer"
    assert script.answers == []


def test_a_redirect_does_not_get_the_key(script, attempt):
    script.answers = [(307, {"Location": f"{script.url}/elsewhere"}, "")]
    assert attempt(script.url, "verify")["error"] == "UnexpectedAnswer"
    assert len(script.asked) == 1


def test_a_manual_send_is_repeated_under_one_idempotency_key_of_its_own(script, attempt):
    good = (200, {}, GOOD["send_message"])
    script.answers = [LOST, BROKEN, good, good]
    attempt(script.url, "send_message")
    attempt(script.url, "send_message")
    *repeated, other = [
        {name.lower(): value for name, value in headers.items()}["idempotency-key"] for _, headers in script.asked
    ]
    assert len(set(repeated)) == 1 and other not in repeated


def test_a_service_that_is_not_there_did_not_get_the_request(attempt):
    seen = attempt(f"http://127.0.0.1:{free_port()}", "check")
    assert (seen["error"], seen["may_have_arrived"]) == ("ConnectionFailed", False)


@pytest.mark.parametrize("failure", [LOST, problem(400, "invalid_code", attempts_left=0)], ids=["lost", "refused"])
def test_no_error_shows_a_key_or_what_was_sent(script, attempt, failure):
    script.answers = [failure]
    text = json.dumps(attempt(script.url, "check"))
    assert "not-to-be-shown" not in text and "493817" not in text
