"""What the corpus asks of the API, scene by scene. tests/api/corpus/test_corpus.py has the answers compared.

A scene begins with a project of its own and asks in turn. ``{name}`` in a path or body stands for what an earlier
answer of the scene was kept as; ``{code}`` for the last code that was sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import urlsplit

ORIGIN = "https://app.example.com"
ELSEWHERE = "https://elsewhere.example"
PHONE = "+4915112345678"
MAIL = "ada@example.com"
NO_SESSION = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NO_TOKEN = "6f1c2a34-9f0b-4c5d-8e7a-0123456789ab"
JSON = "application/json"
SESSION, SECRET = "api", "secret"  # kinds of keys


@dataclass
class Ask:
    method: str
    path: str
    body: object = None  # as JSON; bytes and text as they are
    key: str | None = SESSION
    headers: dict = field(default_factory=dict)
    type: str | None = JSON  # of the body, where there is one
    keep: dict = field(default_factory=dict)  # name: member of the answer
    before: object = None  # called with the project and what is kept
    chunked: bool = False

    @property
    def raw(self):
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    @property
    def told(self):
        """The request in one line, for the file."""
        body = self.raw.decode("latin-1")
        body = body if len(body) <= 160 else f"{body[:60]}... ({len(body)} bytes)"
        headers = "".join(f" {name}={value!r}" for name, value in self.headers.items())
        kind = "" if self.body is None or self.type == JSON else f" [{self.type}]"
        chunked = " chunked" if self.chunked else ""
        return f"{self.method} {self.path} key={self.key}{headers}{kind}{chunked} {body}".rstrip()


def post(path, body=None, **options):
    return Ask("POST", path, body, **options)


def get(path, **options):
    return Ask("GET", path, **options)


def create(to=PHONE, **fields):
    return post("/session/create", {"to": to, **fields}, keep={"session": "session_id"})


def check(code, session="{session}"):
    return post("/session/check", {"session_id": session, "code": code})


def send(type="sms", session="{session}"):
    return post("/session/send", {"session_id": session, "type": type})


def verify(token="{token}", **options):
    return post("/session/verify", {"verify_token": token}, key=SECRET, **options)


def manual(**fields):
    return post("/manual/send", {"to": PHONE, "channel": "sms", **fields}, key=SECRET, keep={"message": "message_id"})


VERIFIED = [
    create(),
    post("/session/check", {"session_id": "{session}", "code": "{code}"}, keep={"token": "verify_token"}),
]

ENDPOINTS = (
    ("POST", "/session/create", SESSION),
    ("POST", "/session/send", SESSION),
    ("GET", "/session/channels", SESSION),
    ("POST", "/session/check", SESSION),
    ("GET", "/session/settings", SESSION),
    ("GET", "/session/challenge", None),
    ("POST", "/session/verify", SECRET),
    ("POST", "/manual/send", SECRET),
    ("GET", "/manual/message/1", SECRET),
    ("GET", "/manual/channels", SECRET),
    ("GET", "/events", SECRET),
)
POSTS = [(path, kind) for method, path, kind in ENDPOINTS if method == "POST"]
GETS = [(path, kind) for method, path, kind in ENDPOINTS if method == "GET"]
OTHER = {SESSION: SECRET, SECRET: SESSION}


def list_origin(project, kept):
    project.set(origins=[ORIGIN])


def expire(project, kept):
    from tests import clock

    clock.forward(181)


def half_a_minute(project, kept):
    from tests import clock

    clock.forward(30)


def next_block(project, kept):
    from tests import clock

    clock.forward(61)


def test_logins(project, kept):
    project.test_login(PHONE, "1234")
    project.test_login(MAIL, "ABC123", expires_at=None)


def switch_off(project, kept):
    project.set(is_enabled=False)


def expire_key(project, kept):
    from verification.core import caching
    from verification.models import ApiKey

    ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    caching.clear_all()


def ask_for_challenge(project, kept):
    project.set(challenge_mode="always")
    kept["public"] = str(project.row.public_id)


def public(project, kept):
    kept["public"] = str(project.row.public_id)


def a_bot(project, kept):
    from verification.models import Channel

    Channel.objects.create(project=project.row, type="messenger_a", position=9)
    project.provider("messenger_a", name="bot", type="collector_bot")


def a_hook(project, kept):
    from verification.models import Provider
    from verification.services.providers import accounts

    provider = Provider.objects.get(name="sms first")
    path = urlsplit(accounts.hook_url(provider)).path
    kept["hook"], kept["hook_of_another"] = path, path.rpartition("/")[0]
    faulty = project.provider("messenger_a", name="faulty", type="collector_faulty")
    kept["faulty"] = urlsplit(accounts.hook_url(faulty)).path


def another_project(project, kept):
    from tests import factories

    other = factories.project(name="Another", channels=("sms",))
    kept["foreign_api"], kept["foreign_secret"] = other.api_key, other.secret_key


def tell_events(project, kept):
    project.set(events=["session.opened", "session.verified"])


def one_a_second(project, kept):
    project.set(requests_per_second=1)


def block(project, kept):
    from verification.models import Recipient, Suppression

    recipient = Recipient.objects.create(project=project.row, address=PHONE)
    Suppression.objects.create(project=project.row, recipient=recipient, channel="sms")


def cheap_puzzles(project, kept):
    from django.conf import settings

    settings.ALTCHA_COST = 10
    ask_for_challenge(project, kept)


# --- bodies that nobody reads ------------------------------------------------------------------------------------

# Which bodies are refused, and why, is in tests/api/test_parsers.py; here is one answer for each reason's words.
UNREADABLE = ("", "[]", "{", '{"to": "a", "to": "b"}', '{"x": NaN}', '{"x": "\\ud800"}', "[" * 2000, b'{"to": "\xff"}')
CREATE = {"to": PHONE}
SEND = {"session_id": NO_SESSION, "type": "sms"}
CHECK = {"session_id": NO_SESSION, "code": "1234"}
MANUAL = {"to": PHONE, "channel": "sms"}
FIELDS = {
    "/session/create": ("to", "type", "send", "challenge_token"),
    "/session/send": ("session_id", "type", "challenge_token"),
    "/session/check": ("session_id", "code"),
    "/session/verify": ("verify_token",),
    "/manual/send": ("to", "channel", "provider_id", "code", "callback_url"),
}


def large(size):
    body = '{"to": "+4915112345678", "x": "'
    return body + "x" * (size - len(body) - 2) + '"}'


def wrong(path, kind, good, field_, values):
    return [post(path, {**good, field_: value}, key=kind) for value in values]


SCENES = {
    # --- the key, the method, the path ---------------------------------------------------------------------------
    "no key": [Ask(method, path, key=None) for method, path, kind in ENDPOINTS],
    "an empty key": [get("/session/settings", key=None, headers={"x-api-key": ""})],
    "an unknown key": [
        Ask(method, path, key=None, headers={"x-api-key": "ww_api_nonsense"})
        for method, path, kind in ENDPOINTS[:1] + ENDPOINTS[-1:]
    ],
    "a key of the other kind": [Ask(method, path, key=OTHER[kind]) for method, path, kind in ENDPOINTS if kind],
    "a revoked key": [create(), get("/session/settings", before=expire_key), get("/events", key=SECRET)],
    "a project that is off": [get("/session/settings", before=switch_off), get("/events", key=SECRET)],
    "other methods": [Ask("PUT", path, key=kind) for method, path, kind in ENDPOINTS],
    "strange methods": [Ask(method, "/session/create") for method in ("HEAD", "OPTIONS", "BREW", "post")],
    "another method without a key": [Ask("PUT", "/session/create", key=None)],
    "head": [Ask("HEAD", path, key=kind) for path, kind in GETS],
    "a trailing slash": [post("/session/create/", {}), post("/session/create//", {}), get("/events/", key=SECRET)],
    "nowhere": [
        *(get(path) for path in ("/nowhere", "/session/nowhere", "/manual/message/", "/hooks/x")),
        post("/session/nowhere", {}),
    ],
    "a host that is not served": [
        get(path, headers={"host": "evil.example"}) for path in ("/session/settings", "/nowhere", "/session/nowhere")
    ],
    "request ids": [get("/session/settings", headers={"x-request-id": given}) for given in ("A-b_c.9", "a b")],
    # --- the body --------------------------------------------------------------------------------------------------
    "unreadable bodies": [post("/session/create", raw) for raw in UNREADABLE],
    "an unreadable body at every endpoint": [post(path, "{", key=kind) for path, kind in POSTS],
    "no body": [post("/session/create", type=type) for type in (JSON, None)],
    "content types": [
        post("/session/create", CREATE, type=type)
        for type in ("", "text/plain", "application/json; charset=rot13", "Application/JSON;charset=UTF-8")
    ],
    "a charset where nothing is read": [
        get(f"/session/settings{query}", headers={"content-type": "application/json; charset=rot13"})
        for query in ("", "?session_id=%41")
    ],
    "encodings": [post("/session/create", {}, headers={"content-encoding": encoding}) for encoding in ("gzip", "")],
    "sizes": [
        post("/session/create", large(16 * 1024 + 1)),
        post("/session/create", large(16 * 1024)),
        post("/session/create", large(300 * 1024), key=None),
    ],
    "a length that is none": [
        post("/session/create", {}, headers={"content-length": length}) for length in ("x", "-1", "16385", "1")
    ],
    "chunked bodies": [
        post("/session/create", {}, chunked=True),
        post("/session/create", large(300 * 1024), chunked=True),
        get("/session/settings", chunked=True),
    ],
    # --- fields ----------------------------------------------------------------------------------------------------
    # Which values a field refuses is in tests/api/test_bad_input.py; here are the words for each way to be wrong.
    "wrong fields": [
        post(path, dict.fromkeys(FIELDS[path], value), key=kind)
        for path, kind in POSTS
        for value in (None, "", [], "x" * 3000)
    ],
    "fields that nobody knows": [post(path, {"x": 1}, key=kind) for path, kind in POSTS],
    "create: to": wrong("/session/create", SESSION, {}, "to", ("nope", "+999123456789", "a@b", "Ada@EXAMPLE.com")),
    "create: challenge_token": wrong(
        "/session/create", SESSION, CREATE, "challenge_token", (None, "x" * 8192, "x" * 8193)
    ),
    "send: type": wrong("/session/send", SESSION, SEND, "type", ("pigeon", "sms")),
    "check: code": wrong("/session/check", SESSION, CHECK, "code", ("x" * 32, "\u0663\u0664")),
    "verify: verify_token": wrong(
        "/session/verify", SECRET, {}, "verify_token", (NO_TOKEN.upper(), NO_TOKEN.replace("-", ""), f"{NO_TOKEN}\n")
    ),
    "manual: provider_id": wrong("/manual/send", SECRET, MANUAL, "provider_id", ("1", 0, 2**63, 987654321, 1e3)),
    "manual: code": wrong("/manual/send", SECRET, MANUAL, "code", ("12345", "١٢٣٤", "123456")),
    "manual: callback_url": wrong(
        "/manual/send",
        SECRET,
        MANUAL,
        "callback_url",
        (
            "nope",
            "http://shop.example/",
            "https://shop.example:444/",
            "https://user@shop.example/",
            "https://shop.example/#x",
            "https://10.0.0.1/",
            "https://shop.example/" + "x" * 2048,
        ),
    ),
    "queries": [
        get(f"{path}?{query}")
        for path in ("/session/settings", "/session/channels")
        for query in (
            "session_id=nope",
            f"session_id={NO_SESSION}",
            f"session_id={NO_SESSION}&session_id={NO_SESSION}",
            "session_id=%00",
            "session_id=%FF",
        )
    ],
    "query of the challenge": [
        get(f"/session/challenge?{query}", key=None)
        for query in ("", "project=nope", f"project={NO_TOKEN}", f"project={NO_TOKEN}&project={NO_TOKEN}")
    ],
    "query of events": [
        get(f"/events{query}", key=SECRET) for query in ("", "?after=0", "?after=nope", "?after=0&after=0")
    ],
    "events": [
        post("/session/create", {"to": PHONE}, keep={"session": "session_id"}, before=tell_events),
        check("{code}"),
        get("/events?after=0", key=SECRET),
    ],
    "the query is no part of the body": [post("/session/create?to=%2B4915112345678", {})],
    "the path of a message": [get(f"/manual/message/{id}", key=SECRET) for id in ("x", "01", "9223372036854775808")],
    # --- sessions --------------------------------------------------------------------------------------------------
    "a session": [
        create(),
        get("/session/channels?session_id={session}"),
        get("/session/settings?session_id={session}"),
        create(),
        create(type="voice"),
        send("sms"),
        send("email"),
        send("messenger_a"),
        check("nope"),
        check(" "),
        post("/session/check", {"session_id": "{session}", "code": " {code} "}, keep={"token": "verify_token"}),
        check("{code}"),
        get("/session/channels?session_id={session}"),
        get("/session/settings?session_id={session}"),
        send(),
        verify(),
        verify(),
        create(MAIL),
        get("/session/channels?session_id={session}"),
        post("/session/check", {"session_id": "{session}", "code": "{code}"}, keep={"token": "verify_token"}),
        verify(),
    ],
    "unknown sessions": [
        send(session=NO_SESSION),
        check("1234", NO_SESSION),
        get(f"/session/channels?session_id={NO_SESSION}"),
        get(f"/session/settings?session_id={NO_SESSION}"),
        verify(NO_TOKEN),
    ],
    "a foreign session": [
        *VERIFIED,
        create("+4915112345679"),
        post(
            "/session/check",
            {"session_id": "{session}", "code": "1234"},
            key=None,
            headers={"x-api-key": "{foreign_api}"},
            before=another_project,
        ),
        get("/session/channels?session_id={session}", key=None, headers={"x-api-key": "{foreign_api}"}),
        get("/session/settings?session_id={session}", key=None, headers={"x-api-key": "{foreign_api}"}),
        post("/session/verify", {"verify_token": "{token}"}, key=None, headers={"x-api-key": "{foreign_secret}"}),
        get("/session/settings", key=None, headers={"x-api-key": "{foreign_api}"}),
    ],
    "an expired session": [
        create(),
        post("/session/check", {"session_id": "{session}", "code": "{code}"}, before=expire),
        send(),
        get("/session/channels?session_id={session}"),
        get("/session/settings?session_id={session}"),
        create(),
    ],
    "an expired token": [*VERIFIED, verify(before=next_block)],
    "a verified session after its end": [
        *VERIFIED,
        post("/session/check", {"session_id": "{session}", "code": "1"}, before=expire),
    ],
    "a locked session": [
        create(),
        *[check("nope")] * 6,
        check("{code}"),
        send(),
        get("/session/channels?session_id={session}"),
        get("/session/settings?session_id={session}"),
        create(),
    ],
    "a session that was not sent": [create(send=False), check("123456"), get("/session/channels?session_id={session}")],
    "sends": [
        create(),
        send(),
        post("/session/send", {"session_id": "{session}", "type": "sms"}, before=half_a_minute),
        post("/session/send", {"session_id": "{session}", "type": "voice"}),
        post("/session/send", {"session_id": "{session}", "type": "sms"}, before=half_a_minute),
        post("/session/send", {"session_id": "{session}", "type": "voice"}, before=half_a_minute),
        post("/session/send", {"session_id": "{session}", "type": "sms"}, before=half_a_minute),
        post("/session/send", {"session_id": "{session}", "type": "voice"}),
    ],
    "a bot": [
        get("/session/channels", before=a_bot),
        create(type="messenger_a"),
        send("messenger_a"),
        manual(channel="messenger_a"),
        check("1234"),
    ],
    "languages": [get("/session/settings", headers={"accept-language": given}) for given in ("de-DE,de;q=0.9", "x")],
    "test logins": [
        post("/session/create", {"to": PHONE}, keep={"session": "session_id"}, before=test_logins),
        get("/session/settings?session_id={session}"),
        get("/session/channels?session_id={session}"),
        check("9999"),
        post("/session/check", {"session_id": "{session}", "code": "1234"}, keep={"token": "verify_token"}),
        verify(),
        create(MAIL),
        post("/session/check", {"session_id": "{session}", "code": "abc123"}, keep={"token": "verify_token"}),
        verify(),
        manual(),
        get("/manual/message/{message}", key=SECRET),
    ],
    "a blocked recipient": [post("/session/create", CREATE, before=block), manual(), create("+4915112345679")],
    "a landline": [create("+493012345678"), create("+493012345678", type="voice"), create("+493012345678", type="sms")],
    "recipients that cannot have a channel": [
        create(MAIL, type="sms"),
        create(type="email"),
        create(type="messenger_b"),
    ],
    "a limit by the second": [post("/session/create", CREATE, before=one_a_second), create(), create()],
    # --- challenges --------------------------------------------------------------------------------------------------
    "a challenge": [
        post("/session/create", CREATE, before=cheap_puzzles),
        get("/session/settings"),
        get("/session/challenge?project={public}", key=None),
        post("/session/create", {**CREATE, "challenge_token": "nonsense"}),
        post("/session/create", {**CREATE, "challenge_token": "e30="}),
        create(),
    ],
    "challenges that are off": [get("/session/challenge?project={public}", key=None, before=public)],
    # --- manual ------------------------------------------------------------------------------------------------------
    "manual": [
        manual(),
        get("/manual/message/{message}", key=SECRET),
        manual(code="123456", callback_url="https://shop.example/watchword", provider_id=None),
        manual(to=MAIL, channel="email"),
        manual(to=MAIL),
        manual(channel="email"),
        manual(channel="messenger_b"),
        get("/manual/channels", key=SECRET),
        get("/manual/message/{message}", key=None, headers={"x-api-key": "{foreign_secret}"}, before=another_project),
        manual(),
    ],
    "idempotency": [
        *[
            post("/manual/send", body, key=SECRET, headers={"idempotency-key": key})
            for key, body in (
                ("a", MANUAL),
                ("a", MANUAL),
                ("a", {"channel": "sms", "to": PHONE}),
                ("a", {**MANUAL, "code": "123456"}),
                ("a b", MANUAL),
                ("é", MANUAL),
                ("b", {"to": 1}),
                ("b", MANUAL),
                ("c", {**MANUAL, "channel": "messenger_b"}),
                ("c", MANUAL),
            )
        ],
    ],
    # --- browsers ----------------------------------------------------------------------------------------------------
    "answers to listed origins": [
        Ask(
            method,
            path,
            {} if method == "POST" else None,
            key=kind,
            headers={"origin": ORIGIN},
            before=list_origin,
        )
        for method, path, kind in ENDPOINTS
    ],
    "answers to other origins": [
        get(path, key=kind, headers={"origin": ELSEWHERE}, before=list_origin)
        for path, kind in (("/session/settings", SESSION), ("/events", SECRET))
    ],
    "refusals to listed origins": [
        post("/session/create", "{", headers={"origin": ORIGIN}, before=list_origin),
        post("/session/create", {}, key=SECRET, headers={"origin": ORIGIN}),
        post("/session/create", {}, key=None, headers={"origin": ORIGIN}),
        post("/session/create", {}, key=None, headers={"origin": ORIGIN, "x-api-key": "ww_api_nope"}),
        get("/session/nowhere", headers={"origin": ORIGIN}),
        get("/session/settings", headers={"origin": "null"}),
    ],
    "the puzzle for a listed origin": [
        get("/session/challenge?project={public}", key=None, headers={"origin": ORIGIN}, before=cheap_puzzles),
        get("/session/challenge?project={public}", key=None, headers={"origin": ORIGIN}, before=list_origin),
        get("/session/challenge?project={public}", key=None, headers={"origin": ELSEWHERE}),
    ],
    "preflights": [
        Ask(
            "OPTIONS",
            path,
            key=None,
            headers={"origin": ORIGIN, "access-control-request-method": method},
            before=list_origin,
        )
        for method, path, kind in ENDPOINTS
    ],
    "a preflight from elsewhere": [
        Ask(
            "OPTIONS",
            "/session/create",
            key=None,
            headers={"origin": ELSEWHERE, "access-control-request-method": "POST"},
            before=list_origin,
        )
    ],
    "what is nearly a preflight": [
        Ask("OPTIONS", "/session/create", headers={"origin": ORIGIN}, before=list_origin),
        Ask("OPTIONS", "/session/create", key=None, headers={"origin": ORIGIN}),
        Ask("GET", "/session/settings", headers={"origin": ORIGIN, "access-control-request-method": "GET"}),
    ],
    # --- hooks, probes, metrics --------------------------------------------------------------------------------------
    "hooks": [
        post("/hooks/nobody/nothing", {}, key=None, before=a_hook),
        Ask("HEAD", "/hooks/nobody/nothing", key=None),
        post("{hook_of_another}/nothing", {}, key=None),
        Ask("HEAD", "{hook}", key=None),
        Ask("PUT", "{hook}", key=None),
        post("{hook}", {}, key=None),
        post("{hook}", "nonsense", key=None, headers={"x-signature": "right"}),
        post("{hook}", {"status": "success"}, key=None, headers={"x-signature": "right"}),
        post("{hook}", {"status": "success"}, key=None, headers={"x-signature": "right"}, chunked=True),
        get("{hook}?x=1", key=None),
        post("{hook}", b"x" * (3 * 1024 * 1024 + 1), key=None, headers={"x-signature": "right"}),
        post("{faulty}", {}, key=None),
    ],
    "probes and metrics": [
        Ask(method, path, key=None, headers={"host": host})
        for path in ("/livez", "/metrics")
        for method, host in (("GET", "evil.example"), ("POST", "testserver"), ("HEAD", "testserver"))
    ],
}
