"""Every field of every endpoint against what does not belong there: a 4xx that names it, and nothing written."""

import json

import pytest
from django.db import connection
from django.test import Client

from tests.api.calls import Api, problem, wrong_fields

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
UUID = "6f1c9b7e-2f6a-4c3d-9b1a-0d5e8c7f4a21"

BODIES = {
    "/session/create": {"to": PHONE, "type": "sms", "send": True},
    "/session/send": {"session_id": ULID, "type": "voice"},
    "/session/check": {"session_id": ULID, "code": "123456"},
    "/session/verify": {"verify_token": UUID},
    "/manual/send": {
        "to": PHONE,
        "channel": "sms",
        "provider_id": 1,
        "code": "123456",
        "callback_url": "https://shop.example.com/hook",
    },
}
SERVER_ONLY = ("/session/verify", "/manual/send")

FIELDS = [(path, field) for path, body in BODIES.items() for field in body]
TEXTS = [(path, field) for path, field in FIELDS if field not in ("send", "provider_id")]
every_field = pytest.mark.parametrize(("path", "field"), FIELDS)
every_text = pytest.mark.parametrize(("path", "field"), TEXTS)


@pytest.fixture(scope="module")
def project(shared_project):
    """A project with a session and a message, which a refused request leaves as they are."""
    Api(Client(), shared_project.api_key, shared_project.secret_key).create()
    return shared_project


@pytest.fixture
def post(api):
    """Posts a body of its path with one field changed, and sees to it that a refusal leaves no trace."""
    before = traces()

    def call(path, *, raw=None, **changes):
        body = {name: value for name, value in {**BODIES[path], **changes}.items() if value is not ...}
        key = api.secret_key if path in SERVER_ONLY else api.api_key
        response = api.call("POST", path, body, key=key, raw=raw)
        assert 400 <= response.status_code < 500
        assert response["Content-Type"] == "application/problem+json"
        assert traces() == before
        return response

    return call


def traces():
    """Count the rows of each table that a request can write, and the attempts spent."""
    tables = ("session", "message", "recipient", "wrongcode", "verifytoken", "idempotentrequest")
    counts = [f"(SELECT count(*) FROM verification_{table})" for table in tables]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(counts)}, (SELECT sum(attempts) FROM verification_session)")
        return cursor.fetchone()


# --- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement(31)
@every_text
@pytest.mark.parametrize("value", [0, 123456, 1.5, True, ["sms"], {"$ne": ""}])
def test_what_is_no_string_is_a_wrong_field(post, path, field, value):
    assert wrong_fields(post(path, **{field: value})) == [field]


@pytest.mark.parametrize("value", ["true", "false", "", "1", 0, 1, 1.0, [], [True], {}])
def test_send_must_be_a_boolean(post, value):
    assert wrong_fields(post("/session/create", send=value)) == ["send"]


@pytest.mark.parametrize("value", ["1", "", 1.5, True, False, [], [1], {}, 0, -1, 2**53, 10**19])
def test_provider_id_must_be_the_number_of_a_provider(post, value):
    assert wrong_fields(post("/manual/send", provider_id=value)) == ["provider_id"]


# --- absence ---------------------------------------------------------------------------------------------------------


# --- texts -----------------------------------------------------------------------------------------------------------

# A guess is any string up to 32 characters, so what follows is no wrong field there, only a wrong code.
NOT_GUESSES = [(path, field) for path, field in TEXTS if field != "code" or path == "/manual/send"]


@pytest.mark.parametrize(("path", "field"), NOT_GUESSES)
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(" ", id="space"),
        pytest.param("１２３４５６", id="full-width digits"),
        pytest.param("123456\n", id="line break"),
        pytest.param("\x01", id="control"),
        pytest.param("\u200b", id="zero width"),
        pytest.param("\u202e123456", id="bidi"),
        pytest.param("\ufeff123456", id="byte order mark"),
        pytest.param("' OR 1=1 --", id="SQL"),
        pytest.param("null", id="the word null"),
    ],
)
def test_odd_characters_are_a_wrong_field(post, path, field, value):
    assert wrong_fields(post(path, **{field: value})) == [field]


@pytest.mark.parametrize(("path", "field"), [pair for pair in NOT_GUESSES if pair[1] != "callback_url"])
@pytest.mark.parametrize("addition", ["\n", "\x01", "\u200b", "\u00a0"])
def test_a_right_value_with_an_odd_character_after_it_is_a_wrong_field(post, path, field, addition):
    assert wrong_fields(post(path, **{field: BODIES[path][field] + addition})) == [field]


@pytest.mark.requirement(31)
@every_field
def test_a_field_given_twice_is_unreadable(post, path, field):
    value = json.dumps(BODIES[path][field])
    twice = json.dumps(BODIES[path])[:-1] + f', "{field}": {value}}}'
    assert problem(post(path, raw=twice)) == (400, "parse_error")


# --- each kind of text by its own rules ------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "field"), [("/session/create", "to"), ("/manual/send", "to")])
@pytest.mark.parametrize(
    "value",
    [
        "015112345678",
        "004915112345678",
        "4915112345678",
        "tel:+4915112345678",
        "+49 151 ABCDEFGH",
        "+4915112345678;ext=1",
        "+4915112345678 x1",
        "+4915112345678,+4915112345679",
        "＋4915112345678",
        "+49\u00a015112345678",
        "+0151",
        "+49151123456789012",
        "+15550001",
        "++4915112345678",
        "+",
        "jane@",
        "@example.com",
        "jane@example",
        "jane@@example.com",
        "jane@example.com,joe@example.com",
        "Jane <jane@example.com>",
        '"jane"@example.com',
        "jane(x)@example.com",
        "jane@[192.0.2.1]",
        "jané@example.com",
        "jane@example.com\r\nBcc: joe@example.com",
        "a" * 65 + "@example.com",
    ],
)
def test_a_recipient_is_refused_rather_than_repaired(post, path, field, value):
    assert wrong_fields(post(path, **{field: value})) == [field]


@pytest.mark.parametrize(
    ("path", "field"), [("/session/create", "type"), ("/session/send", "type"), ("/manual/send", "channel")]
)
@pytest.mark.parametrize("value", ["SMS", "Sms", " sms", "sms ", "telegram", "push", "messenger_c", "sms,voice"])
def test_a_channel_is_one_of_the_listed_values(post, path, field, value):
    assert wrong_fields(post(path, **{field: value})) == [field]


SESSION_IDS = [
    "01arz3ndektsv4rrffq69g5fav",
    "01ARZ3NDEKTSV4RRFFQ69G5FA",
    "01ARZ3NDEKTSV4RRFFQ69G5FAVV",
    "81ARZ3NDEKTSV4RRFFQ69G5FAV",
    "01ARZ3NDEKTSV4RRFFQ69G5FAI",
    "01ARZ3NDEKTSV4RRFFQ69G5FAU",
    "01ARZ3NDEK-TSV4RRFFQ69G5FAV",
    "6f1c9b7e-2f6a-4c3d-9b1a-0d5e8c7f4a21",
]


@pytest.mark.parametrize("path", ["/session/send", "/session/check"])
@pytest.mark.parametrize("value", SESSION_IDS)
def test_a_session_id_is_a_ulid_in_its_one_writing(post, path, value):
    assert wrong_fields(post(path, session_id=value)) == ["session_id"]


@pytest.mark.parametrize("path", ["/session/channels", "/session/settings"])
@pytest.mark.parametrize("value", ["", "%20", "null", "%00", "%FF", "%D9%A1", "x" * 3000, f"{ULID}%0A", *SESSION_IDS])
def test_a_session_id_in_a_query_too(api, path, value):
    response = api.call("GET", f"{path}?session_id={value}", key=api.api_key)
    assert wrong_fields(response) == ["session_id"]


@pytest.mark.parametrize(
    "code", ["12345", "1234567", "123", "12345a", "ABCDEF", "12 456", "-12345", "12345\n", " 1234"]
)
def test_a_manual_code_is_4_or_6_digits(post, code):
    assert wrong_fields(post("/manual/send", code=code)) == ["code"]


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "ä", "a\tb", "\x7f"])
def test_an_idempotency_key_is_1_to_255_visible_ascii_characters(api, key):
    before = traces()
    response = api.manual_send(headers={"idempotency-key": key})
    assert wrong_fields(response) == ["Idempotency-Key"]
    assert traces() == before


@every_field
def test_the_error_never_repeats_the_value(post, path, field):
    response = post(path, **{field: ["repeated-nonsense"]})
    assert "repeated-nonsense" not in response.content.decode()
