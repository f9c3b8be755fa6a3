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

UNREADABLE = (
    "",
    " ",
    "{",
    "[]",
    "null",
    '"text"',
    "1",
    "true",
    '[{"to": "+4915112345678"}]',
    "to=%2B4915112345678",
    '{"to": "+4915112345678"',  # a comma before its end is told at another column by Python 3.13
    "{'to': '+4915112345678'}",
    '{"to": "+4915112345678"} x',
    '{"to": "+4915112345678"}{}',
    '{"to": "+4915112345678", "to": "+4915112345679"}',
    '{"x": {"a": 1, "a": 2}}',
    '{"x": NaN}',
    '{"x": -Infinity}',
    '{"x": 1e999}',
    '{"x": "\\ud800"}',
    '{"\\udfff": 1}',
    '{"x": "\\u0000"}',
    '{"x": {"x": {"x": {"x": {"x": {}}}}}}',
    '{"x": [[[[[]]]]]}',
    "[" * 2000 + "]" * 2000,
    '{"x":' * 2000 + "1" + "}" * 2000,
    '{"x": "\n"}',
    '{"x": 01}',
    '{"x": .5}',
    b'{"to": "\xff"}',
    '{"x": 1}'.encode("utf-16"),
    b'\xef\xbb\xbf{"x": 1}',
    b'{"x": "a\x00b"}',
    "{" + ", ".join(f'"m{number}": 1' for number in range(101)) + "}",
    '{"x": 123456789012345678901}',
)
READABLE = (
    '{"x": {"x": {"x": {"x": {}}}}}',
    '{"x": "[[[[[[{{{{{{"}',
    '{"x": "\\ud83d\\ude00"}',
    '{"x": 1.5e3, "y": -0, "z": null}',
    ' \r\n\t{"x": 1} \n',
    "{" + ", ".join(f'"m{number}": 1' for number in range(100)) + "}",
    '{"x": 12345678901234567890}',
)
TYPES = (
    "text/plain",
    "text/json",
    "",
    "json",
    "*/*",
    "application/*",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "application/problem+json",
    "application/jsonp",
    "application/json; charset=latin-1",
    "application/json; charset=utf-16",
    "application/json; charset=",
    "application/json; charset=nonsense",
    "application/json; charset=rot13",
    "application/json; charset*=nonsense''%41",
    "application/json; charset=utf-8; charset=latin-1",
)
GOOD_TYPES = (
    "application/json; charset=utf-8",
    "Application/JSON;charset=UTF-8",
    "application/json; charset=UTF8",
    'application/json; charset="utf-8"',
    "application/json; version=1",
    " application/json ;",
)
LONG = "x" * 1001

WRONG_VALUES = (None, "", " ", 1, 1.5, True, [], {}, ["+4915112345678"], LONG)


def large(size):
    body = '{"to": "+4915112345678", "x": "'
    return body + "x" * (size - len(body) - 2) + '"}'


def wrong(path, kind, good, field_, values):
    return [post(path, {**good, field_: value}, key=kind) for value in values]


CREATE = {"to": PHONE}
SEND = {"session_id": NO_SESSION, "type": "sms"}
CHECK = {"session_id": NO_SESSION, "code": "1234"}
MANUAL = {"to": PHONE, "channel": "sms"}
WRONG_SESSIONS = (*WRONG_VALUES, "nope", NO_SESSION.lower(), f" {NO_SESSION}", NO_SESSION + "0", "8" + NO_SESSION[1:])
WRONG_TOKENS = (*WRONG_VALUES, "nope", NO_TOKEN.upper(), NO_TOKEN.replace("-", ""), f"{{{NO_TOKEN}}}", f"{NO_TOKEN}\n")
WRONG_CHANNELS = (*WRONG_VALUES, "SMS", "pigeon", "sms ")
WRONG_RECIPIENTS = (
    *WRONG_VALUES,
    "nope",
    "015112345678",
    "+49",
    "+4915112345678x",
    "+49 (151) 1234-5678",
    "tel:+4915112345678",
    "+999123456789",
    "+4990012345",
    "a@b",
    "@example.com",
    "ada@[127.0.0.1]",
    "ada@example.com,bob@example.com",
    "Ada@EXAMPLE.com",
    "ada@exämple.com",
    "ädä@example.com",
    "ada@example.com\n",
)

SCENES = {
    # --- the key, the method, the path ---------------------------------------------------------------------------
    "no key": [Ask(method, path, key=None) for method, path, kind in ENDPOINTS],
    "an empty key": [get("/session/settings", key=None, headers={"x-api-key": ""})],
    "an unknown key": [
        Ask(method, path, key=None, headers={"x-api-key": key})
        for method, path, kind in ENDPOINTS[:1] + ENDPOINTS[-1:]
        for key in ("nope", "ww_api_nonsense", "ww_secret_" + "0" * 38, "ww_api_" + "é" * 38)
    ],
    "a key of the other kind": [Ask(method, path, key=OTHER[kind]) for method, path, kind in ENDPOINTS if kind],
    "a revoked key": [create(), get("/session/settings", before=expire_key), get("/events", key=SECRET)],
    "a project that is off": [get("/session/settings", before=switch_off), get("/events", key=SECRET)],
    "other methods": [
        Ask(other, path, key=kind)
        for method, path, kind in ENDPOINTS
        for other in ("PUT", "GET" if method == "POST" else "POST", "OPTIONS")
    ],
    "strange methods": [
        Ask(method, "/session/create")
        for method in ("PATCH", "DELETE", "TRACE", "CONNECT", "HEAD", "BREW", "get", "post")
    ],
    "other methods without a key": [
        Ask(method, path, key=None) for path in ("/session/create", "/events") for method in ("PUT", "OPTIONS", "BREW")
    ],
    "head": [Ask("HEAD", path, key=kind) for path, kind in GETS],
    "a trailing slash": [
        *(Ask(method, path + "/", {} if method == "POST" else None, key=kind) for method, path, kind in ENDPOINTS),
        post("/session/create//", {}),
        post("/session/create/?x=1", {}),
    ],
    "nowhere": [
        Ask(method, path, {} if method == "POST" else None)
        for method in ("GET", "POST")
        for path in (
            "/nowhere",
            "/session/nowhere",
            "/session/nowhere/",
            "/session/create/x",
            "/Session/create",
            "/manual/",
            "/manual/message",
            "/manual/message/",
            "/manual/message/1/2",
            "/eventsx",
            "/session/create.json",
            "/hooks/x",
        )
    ],
    "a host that is not served": [
        get("/session/settings", headers={"host": host}) for host in ("evil.example", "testserver:x", "a b", "")
    ]
    + [get("/nowhere", headers={"host": "evil.example"}), get("/session/nowhere", headers={"host": "evil.example"})],
    "forwarded hosts and methods": [
        get("/session/settings", headers={"x-forwarded-host": "evil.example"}),
        post("/session/channels", {"_method": "GET"}, headers={"x-http-method-override": "GET"}),
    ],
    "what is asked for": [
        get(f"/session/settings{query}", headers={"accept": accept})
        for accept in ("text/html", "application/xml;q=1", "x", "application/json; indent=4")
        for query in ("", "?format=api")
    ],
    "request ids": [
        get("/session/settings", headers={"x-request-id": given}, key=key)
        for given in ("a", "A-b_c.9", "x" * 64, "", "x" * 65, "a b", "a/b", "<a>")
        for key in (SESSION, None)
    ],
    # --- the body --------------------------------------------------------------------------------------------------
    "unreadable bodies": [post("/session/create", raw) for raw in UNREADABLE],
    "an unreadable body at every endpoint": [post(path, "{", key=kind) for path, kind in POSTS],
    "no body": [post(path, key=kind, type=type) for path, kind in POSTS for type in (JSON, None)],
    "readable bodies": [post("/session/create", raw) for raw in READABLE],
    "content types": [post("/session/create", CREATE, type=type) for type in TYPES],
    "content types of an empty body": [post("/session/create", "", type=type) for type in TYPES[:8]],
    "content types where nothing is read": [get("/session/settings", headers={"content-type": type}) for type in TYPES],
    "a charset that reads no query": [
        get("/session/settings?session_id=%41", headers={"content-type": f"application/json; charset={charset}"})
        for charset in ("rot13", "utf-16", "nonsense")
    ],
    "good content types": [post("/session/create", {}, type=type) for type in GOOD_TYPES],
    "encodings": [
        post("/session/create", {}, headers={"content-encoding": encoding})
        for encoding in ("gzip", "identity", "Identity", "br, gzip", "")
    ],
    "sizes": [
        post("/session/verify", large(16 * 1024 + 1), key=SECRET),
        post("/session/create", large(16 * 1024 + 1)),
        post("/session/create", large(16 * 1024)),
        post("/session/create", large(16 * 1024 + 1), type="text/plain"),
        post("/session/create", large(300 * 1024)),
        post("/session/create", large(300 * 1024), key=None),
        Ask("PUT", "/session/create", large(300 * 1024)),
    ],
    "a length that is none": [
        post("/session/create", {}, headers={"content-length": length}) for length in ("", "x", "-1", "16385", "1")
    ],
    "chunked bodies": [
        post("/session/create", {}, chunked=True),
        post("/session/create", {"to": 1}, chunked=True),
        post("/session/create", large(16 * 1024 + 1), chunked=True),
        post("/session/create", large(300 * 1024), chunked=True),
        post("/session/create", "", chunked=True),
        post("/session/create", {}, chunked=True, type="text/plain"),
        get("/session/settings", chunked=True),
    ],
    # --- fields ----------------------------------------------------------------------------------------------------
    "no fields": [post(path, {}, key=kind) for path, kind in POSTS]
    + [post(path, {"x": 1}, key=kind) for path, kind in POSTS],
    "create: to": wrong("/session/create", SESSION, {"send": False}, "to", WRONG_RECIPIENTS),
    "create: type": wrong("/session/create", SESSION, {**CREATE, "send": False}, "type", WRONG_CHANNELS),
    "create: send": wrong("/session/create", SESSION, CREATE, "send", (0, "", "true", [], {}, 1.0)),
    "create: send null": wrong("/session/create", SESSION, CREATE, "send", (None, False, True)),
    "create: challenge_token": wrong(
        "/session/create", SESSION, CREATE, "challenge_token", ("", 1, [], {}, True, "x" * 8193, None, "x", "x" * 8192)
    ),
    "send: session_id": wrong("/session/send", SESSION, SEND, "session_id", WRONG_SESSIONS),
    "send: type": wrong("/session/send", SESSION, SEND, "type", WRONG_CHANNELS),
    "send: challenge_token": wrong("/session/send", SESSION, SEND, "challenge_token", ("", 1, None, "x" * 8193)),
    "check: session_id": wrong("/session/check", SESSION, CHECK, "session_id", WRONG_SESSIONS),
    "check: code": wrong("/session/check", SESSION, CHECK, "code", (*WRONG_VALUES, "x" * 32, "x" * 33, "\u0663\u0664")),
    "verify: verify_token": wrong("/session/verify", SECRET, {}, "verify_token", WRONG_TOKENS),
    "manual: to": wrong("/manual/send", SECRET, MANUAL, "to", (None, "", 1, "nope", LONG)),
    "manual: channel": wrong("/manual/send", SECRET, MANUAL, "channel", WRONG_CHANNELS),
    "manual: provider_id": wrong(
        "/manual/send",
        SECRET,
        MANUAL,
        "provider_id",
        ("1", "", True, 1.5, -1, 0, 0.0, 2**63, 9999999999999999999, [], {}, 987654321, 987654321.0, 1e3, None),
    ),
    "manual: code": wrong(
        "/manual/send",
        SECRET,
        MANUAL,
        "code",
        ("", 1234, "123", "12345", "1234567", "abcd", "١٢٣٤", "1234\n", LONG, None, "123456"),
    ),
    "manual: callback_url": wrong(
        "/manual/send",
        SECRET,
        MANUAL,
        "callback_url",
        (
            "",
            1,
            [],
            "nope",
            "http://shop.example/",
            "https://shop.example:444/",
            "https://user@shop.example/",
            "https://shop.example/#x",
            "https://10.0.0.1/",
            "https://shop.example/" + "x" * 2048,
            None,
        ),
    ),
    "several errors": [
        post("/session/create", {"to": 1, "type": "x", "send": "x", "challenge_token": 1}),
        post("/session/create", {"challenge_token": "", "send": 0, "type": None}),
        post("/session/send", {"challenge_token": 1}),
        post("/session/check", {"code": None}),
        post("/manual/send", {"callback_url": 1, "code": 1, "provider_id": "x", "channel": "x"}, key=SECRET),
        post("/manual/send", {"to": 1, "channel": None}, key=SECRET),
    ],
    "queries": [
        get(f"{path}?{query}")
        for path in ("/session/settings", "/session/channels")
        for query in (
            "session_id=",
            "session_id=nope",
            f"session_id={NO_SESSION.lower()}",
            f"session_id={NO_SESSION}",
            f"session_id={NO_SESSION}&session_id={NO_SESSION}",
            "x=1&x=2",
            "x=1",
            f"session_id={'x' * 1001}",
            "session_id=%00",
            "session_id=%FF",
            "session_id=a+b&x=",
        )
    ],
    "query of the challenge": [
        get(f"/session/challenge?{query}", key=None)
        for query in (
            "",
            "project=",
            "project=nope",
            f"project={NO_TOKEN}",
            f"project={NO_TOKEN.upper()}",
            f"project={NO_TOKEN}&project={NO_TOKEN}",
            f"project={'x' * 1001}",
        )
    ],
    "query of events": [
        get(f"/events{query}", key=SECRET)
        for query in (
            "",
            "?after=",
            "?after=0",
            "?after=nope",
            "?after=1-1",
            "?after=" + "1" * 41,
            "?after=0&after=0",
            "?after=12345678901234567890-1",
            "?after=-1",
            "?x=1",
        )
    ],
    "events": [
        post("/session/create", {"to": PHONE}, keep={"session": "session_id"}, before=tell_events),
        check("{code}"),
        get("/events?after=0", key=SECRET),
    ],
    "the query is no part of the body": [
        post("/session/create?to=%2B4915112345678", {}),
        post("/session/create?to=1&to=2", CREATE),
    ],
    "the path of a message": [
        get(f"/manual/message/{id}", key=SECRET)
        for id in ("1", "x", "0", "-1", "01", "1.0", "9223372036854775808", "%D9%A1", "1%00", "5125890120348313")
    ],
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
        *[check("nope")] * 6,
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
    "languages": [
        get("/session/settings", headers={"accept-language": given}) for given in ("de-DE,de;q=0.9", "x", "", "*", "en")
    ],
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
        manual(),
        manual(),
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
                ("", MANUAL),
                ("a b", MANUAL),
                ("x" * 255, MANUAL),
                ("x" * 256, MANUAL),
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
            headers={"origin": origin},
            before=list_origin,
        )
        for method, path, kind in ENDPOINTS
        for origin in (ORIGIN, ELSEWHERE)
    ],
    "refusals to listed origins": [
        post("/session/create", "{", headers={"origin": ORIGIN}, before=list_origin),
        post("/session/create", {}, key=SECRET, headers={"origin": ORIGIN}),
        post("/session/create", {}, key=None, headers={"origin": ORIGIN}),
        post("/session/create", {}, key=None, headers={"origin": ORIGIN, "x-api-key": "ww_api_nope"}),
        Ask("PUT", "/session/create", headers={"origin": ORIGIN}),
        get("/session/nowhere", headers={"origin": ORIGIN}),
        get("/session/settings", headers={"origin": "null"}),
        get("/session/settings", headers={"origin": ""}),
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
            headers={"origin": origin, "access-control-request-method": method},
            before=list_origin,
        )
        for method, path, kind in ENDPOINTS
        for origin in (ORIGIN, ELSEWHERE)
    ],
    "what is nearly a preflight": [
        Ask("OPTIONS", "/session/create", headers={"origin": ORIGIN}, before=list_origin),
        Ask("OPTIONS", "/session/create", key=None, headers={"origin": ORIGIN}),
        Ask("OPTIONS", "/session/create", headers={"access-control-request-method": "POST"}),
        Ask(
            "OPTIONS", "/session/create/", key=None, headers={"origin": ORIGIN, "access-control-request-method": "POST"}
        ),
        Ask("OPTIONS", "/session/create", key=None, headers={"origin": "", "access-control-request-method": "POST"}),
        Ask(
            "OPTIONS", "/session/nowhere", key=None, headers={"origin": ORIGIN, "access-control-request-method": "GET"}
        ),
        Ask("GET", "/session/settings", headers={"origin": ORIGIN, "access-control-request-method": "GET"}),
        Ask(
            "OPTIONS",
            "/session/create",
            key=None,
            headers={"origin": ORIGIN, "access-control-request-method": "POST", "host": "evil.example"},
        ),
    ],
    # --- hooks, probes, metrics --------------------------------------------------------------------------------------
    "hooks": [
        post("/hooks/nobody/nothing", {}, key=None, before=a_hook),
        get("/hooks/nobody/nothing", key=None),
        Ask("HEAD", "/hooks/nobody/nothing", key=None),
        post("{hook_of_another}/nothing", {}, key=None),
        Ask("HEAD", "{hook}", key=None),
        Ask("PUT", "{hook}", key=None),
        Ask("OPTIONS", "{hook}", key=None),
        post("{hook}", {}, key=None),
        post("{hook}", "nonsense", key=None, headers={"x-signature": "right"}),
        post("{hook}", {"status": "success"}, key=None, headers={"x-signature": "right"}),
        post("{hook}/", {"status": "success"}, key=None, headers={"x-signature": "right"}),
        post("{hook}", {"status": "success"}, key=None, headers={"x-signature": "right"}, type="text/plain"),
        post("{hook}", {"status": "success"}, key=None, headers={"x-signature": "right"}, chunked=True),
        get("{hook}?x=1", key=None),
        post("{hook}", b"x" * (3 * 1024 * 1024 + 1), key=None, headers={"x-signature": "right"}),
        post("{faulty}", {}, key=None),
    ],
    "probes and metrics": [
        Ask(method, path, key=None, headers={"host": host})
        for path in ("/livez", "/livez/", "/livezx", "/metrics", "/metrics/")
        for method, host in (("GET", "evil.example"), ("POST", "testserver"), ("HEAD", "testserver"))
    ],
}
