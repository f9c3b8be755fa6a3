from __future__ import annotations

import json

import pytest

from providers import registry
from providers.base import BotMessage, BotReachability, BotStarted, ContactShared, HookRequest, Outcome
from providers.errors import HookForged, HookUnreadable, NoAnswer, NotConnected, ProviderError, SettingsInvalid
from providers.http.client import HttpClient, Timeouts
from tests.fakes import http_server as fake
from tests.fakes.messages import make_message

LOOPBACK = ("127.0.0.0/8",)
TOKEN = "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"
# HMAC-SHA256 of "watchword telegram webhook" under the token, computed with openssl.
SECRET = "ef4f90cf3093211a431c809d928fb5b75abebfb14ba4ab648eae9fafb993a786"
HOOK_URL = "https://codes.example/hooks/7d0c/hush"

SENT = (
    b'{"ok":true,"result":{"message_id":42,"from":{"id":123456,"is_bot":true,"first_name":"Codes",'
    b'"username":"codes_bot"},"chat":{"id":777000111,"first_name":"Ann","type":"private"},"date":1740571200,'
    b'"text":"Your code is 4711"}}'
)
ME = (
    b'{"ok":true,"result":{"id":123456,"is_bot":true,"first_name":"Codes","username":"codes_bot",'
    b'"can_join_groups":false,"can_read_all_group_messages":false,"supports_inline_queries":false}}'
)
DONE = b'{"ok":true,"result":true}'

START = (
    b'{"update_id":10001,"message":{"message_id":5,"date":1740571200,'
    b'"from":{"id":777000111,"is_bot":false,"first_name":"Ann","language_code":"uz"},'
    b'"chat":{"id":777000111,"type":"private","first_name":"Ann"},'
    b'"text":"/start Zm9vYmFy","entities":[{"offset":0,"length":6,"type":"bot_command"}]}}'
)
CONTACT = (
    b'{"update_id":10002,"message":{"message_id":6,"date":1740571210,'
    b'"from":{"id":777000111,"is_bot":false,"first_name":"Ann"},'
    b'"chat":{"id":777000111,"type":"private","first_name":"Ann"},'
    b'"contact":{"phone_number":"998901234567","first_name":"Ann","user_id":777000111}}}'
)
BLOCKED = (
    b'{"update_id":10003,"my_chat_member":{"chat":{"id":777000111,"type":"private","first_name":"Ann"},'
    b'"from":{"id":777000111,"is_bot":false,"first_name":"Ann"},"date":1740571300,'
    b'"old_chat_member":{"user":{"id":123456,"is_bot":true,"first_name":"Codes"},"status":"member"},'
    b'"new_chat_member":{"user":{"id":123456,"is_bot":true,"first_name":"Codes"},"status":"kicked","until_date":0}}}'
)
UNBLOCKED = (
    b'{"update_id":10004,"my_chat_member":{"chat":{"id":777000111,"type":"private","first_name":"Ann"},'
    b'"from":{"id":777000111,"is_bot":false,"first_name":"Ann"},"date":1740571400,'
    b'"old_chat_member":{"user":{"id":123456,"is_bot":true,"first_name":"Codes"},"status":"kicked","until_date":0},'
    b'"new_chat_member":{"user":{"id":123456,"is_bot":true,"first_name":"Codes"},"status":"member"}}}'
)


class ImpatientDoor(HttpClient):
    def request(self, *args, **kwargs):
        return super().request(*args, **{**kwargs, "timeout": Timeouts(total=0.3)})


class RecordingDoor(HttpClient):
    def request(self, *args, **kwargs):
        self.timeout = kwargs["timeout"]
        return super().request(*args, **kwargs)


@pytest.fixture
def build(server, store):
    def make(door=HttpClient, **changes):
        raw = {"token": TOKEN, "username": "codes_bot", "base_url": server.url, **changes}
        settings = registry.clean_settings("telegram_bot", raw, LOOPBACK)
        return registry.build("telegram_bot", settings, http=door(LOOPBACK), store=store)

    return make


def message(**changes):
    return make_message(**{"channel": "messenger_a", "account_id": "777000111", **changes})


def error(number, description, **parameters):
    found = {"ok": False, "error_code": number, "description": description}
    return fake.answer(number, {**found, **({"parameters": parameters} if parameters else {})})


def assert_clean(text):
    assert not any(secret in text for secret in (TOKEN, TOKEN[7:], SECRET, "4711", "hush"))


def refused(call):
    with pytest.raises(ProviderError) as caught:
        call()
    assert_clean(str(caught.value))
    assert_clean(caught.value.provider_status)
    return caught.value


def hook(body, secret=SECRET):
    headers = {"x-telegram-bot-api-secret-token": secret, "content-type": "application/json"}
    return HookRequest("POST", HOOK_URL, "", headers, body)


def changed(update, path, value):
    """The update with another value at a dotted path; without the field for ``...``."""
    found = json.loads(update)
    *steps, last = path.split(".")
    place = found
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(found).encode()


def events(adapter, body):
    reply = adapter.parse_hook(hook(body))
    assert (reply.status, reply.body) == (200, b"")
    return reply.events


# Settings


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ({"token": ""}, "token"),
        ({"token": "hush"}, "token"),
        ({"token": "123456:hush/../hush-hush"}, "token"),
        ({"username": ""}, "username"),
        ({"username": "@codes_bot"}, "username"),
        ({"username": "codes bot"}, "username"),
        ({"username": "codes_bot?start=x"}, "username"),
        ({"base_url": "http://bots.example"}, "base_url"),
        ({"base_url": "https://bots.example/?a"}, "base_url"),
        ({"protect_content": "maybe"}, "protect_content"),
    ],
)
def test_it_refuses_wrong_settings(raw, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings("telegram_bot", {"token": TOKEN, "username": "codes_bot", **raw})
    assert list(caught.value.errors) == [name]
    assert_clean(str(caught.value))


def test_the_token_is_a_secret_and_the_rest_has_defaults():
    values = registry.clean_settings("telegram_bot", {"token": TOKEN, "username": "codes_bot"})
    plain, secret = registry.split_secrets("telegram_bot", values)
    assert secret == {"token": TOKEN}
    assert plain == {"username": "codes_bot", "base_url": "https://api.telegram.org", "protect_content": True}


def test_it_reaches_only_who_has_started_it():
    assert registry.adapter_class("telegram_bot").needs_start


# The start link


def link(payload, **settings):
    return registry.adapter_class("telegram_bot").link({"username": "codes_bot", **settings}, payload)


def test_the_link_carries_the_payload():
    assert link("Zm9v-_") == "https://t.me/codes_bot?start=Zm9v-_"
    assert link("x" * 64).endswith("=" + "x" * 64)
    assert link("") == "https://t.me/codes_bot"


def test_without_a_user_name_there_is_no_link():
    assert link("Zm9v-_", username="") == ""


@pytest.mark.parametrize("payload", ["x" * 65, "a b", "a&b", "ü", "+49151"])
def test_the_link_refuses_what_telegram_would_not_carry(payload):
    with pytest.raises(ValueError):
        link(payload)


# Sending


def test_it_sends_the_text_with_a_button_that_copies_the_code(build, server):
    server.script(fake.answer(200, SENT))
    result = build().send(message())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", f"/bot{TOKEN}/sendMessage")
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {
        "chat_id": 777000111,
        "text": "Your code is 4711",
        "protect_content": True,
        "reply_markup": {"inline_keyboard": [[{"text": "4711", "copy_text": {"text": "4711"}}]]},
    }
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, "777000111:42")
    assert result.is_delivered


def test_the_owner_may_leave_the_message_unprotected(build, server):
    server.script(fake.answer(200, SENT))
    build(protect_content="false", base_url=server.url + "/api/").send(message())
    [request] = server.requests
    assert request.target == f"/api/bot{TOKEN}/sendMessage"
    assert request.json()["protect_content"] is False


@pytest.mark.parametrize(
    "changes",
    [
        {"account_id": None},
        {"account_id": ""},
        {"account_id": "-100123"},
        {"account_id": "@ann"},
        {"account_id": "٧"},
        {"text": ""},
        {"text": "x" * 4097},
    ],
)
def test_what_it_cannot_carry_is_not_asked(build, server, changes):
    assert refused(lambda: build().send(message(**changes))).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("number", "description", "outcome", "provider_status"),
    [
        (400, "Bad Request: chat not found", Outcome.REFUSED, "chat_not_found"),
        (400, "Bad Request: message text is empty", Outcome.DECLINED, "400"),
        (400, "Bad Request: message is too long", Outcome.DECLINED, "400"),
        (400, "Bad Request: can't parse 4711", Outcome.DECLINED, "400"),
        (401, "Unauthorized", Outcome.MISCONFIGURED, "401"),
        (404, "Not Found", Outcome.MISCONFIGURED, "404"),
        (403, "Forbidden: bot was blocked by the user", Outcome.REFUSED, "blocked"),
        (403, "FORBIDDEN: Bot Was Blocked By The User", Outcome.REFUSED, "blocked"),
        (403, "Forbidden: user is deactivated", Outcome.REFUSED, "deactivated"),
        (403, "Forbidden: bot can't initiate conversation with a user", Outcome.REFUSED, "not_started"),
        (403, "Forbidden: bot can't send messages to bots", Outcome.REFUSED, "forbidden"),
        (
            409,
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook"
            " first",
            Outcome.MISCONFIGURED,
            "409",
        ),
        (
            409,
            "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            Outcome.MISCONFIGURED,
            "409",
        ),
        (429, "Too Many Requests: retry after 5", Outcome.RATE_LIMITED, "429"),
        (500, "Internal Server Error", Outcome.TEMPORARY, "500"),
        (502, "Bad Gateway", Outcome.UNKNOWN, "502"),
    ],
)
def test_it_reads_a_refusal(build, server, number, description, outcome, provider_status):
    server.script(error(number, description))
    found = refused(lambda: build().send(message()))
    assert (found.outcome, found.provider_status) == (outcome, provider_status)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("parameters", "headers", "seconds"),
    [
        ({"retry_after": 5}, {}, 5),
        ({"retry_after": 86400}, {}, 3600),
        ({"retry_after": 5}, {"Retry-After": "9"}, 5),
        ({"retry_after": "soon"}, {"Retry-After": "9"}, 9),
        ({"retry_after": True}, {}, None),
        ({"retry_after": -1}, {}, None),
        (None, {}, None),
        ([], {}, None),
    ],
)
def test_it_passes_on_how_long_to_wait(build, server, parameters, headers, seconds):
    body = {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": parameters}
    server.script(fake.answer(429, body, headers))
    assert refused(lambda: build().send(message())).retry_after == seconds


@pytest.mark.parametrize(
    "body",
    [
        {"ok": False},
        {"ok": False, "error_code": "403", "description": None},
        {"ok": False, "error_code": True},
        {"ok": False, "error_code": 200, "description": ["blocked by the user"]},
    ],
)
def test_a_refusal_that_makes_no_sense_is_unclear(build, server, body):
    server.script(fake.answer(200, body))
    assert refused(lambda: build().send(message())).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize(
    "body", [b"<html>502 Bad Gateway</html>", b"", b"{", b"[]", b"null", b'{"ok":"true"}', b"[" * 50_000, b"\xff"]
)
@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, Outcome.UNCLEAR), (404, Outcome.DECLINED), (429, Outcome.RATE_LIMITED), (502, Outcome.UNKNOWN)],
)
def test_an_answer_of_another_kind_is_judged_by_its_status(build, server, body, status, outcome):
    server.script(fake.answer(status, body))
    assert refused(lambda: build().send(message())).outcome is outcome


@pytest.mark.parametrize(
    "result",
    [
        None,
        True,
        [],
        {},
        {"message_id": 42},
        {"chat": {"id": 1}},
        {"message_id": "42", "chat": {"id": 1}},
        {"message_id": True, "chat": {"id": 1}},
        {"message_id": 42, "chat": 1},
    ],
)
def test_an_acceptance_without_an_id_is_unclear(build, server, result):
    server.script(fake.answer(200, {"ok": True, "result": result}))
    assert refused(lambda: build().send(message())).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize("behaviour", [fake.hang_up(), fake.huge_body(), fake.gzip_bomb(), fake.reset()])
def test_no_answer_leaves_the_outcome_unknown(build, server, behaviour):
    server.script(behaviour)
    assert isinstance(refused(lambda: build().send(message())), NoAnswer)
    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [fake.hang(), fake.drip_body(), fake.drip_headers()])
def test_a_slow_answer_leaves_the_outcome_unknown(build, server, behaviour):
    server.script(behaviour)
    assert isinstance(refused(lambda: build(ImpatientDoor).send(message())), NoAnswer)


def test_a_refused_connection_does_not_show_the_token(build, server):
    adapter = build()
    server.__exit__()
    assert isinstance(refused(lambda: adapter.send(message())), NotConnected)


def test_a_redirect_is_not_followed(build, server):
    server.script(fake.redirect("http://127.0.0.1:1/"))
    assert refused(lambda: build().send(message())).outcome is Outcome.MISCONFIGURED


def test_the_token_is_not_logged(build, server, caplog):
    caplog.set_level("DEBUG")
    server.script(fake.answer(200, SENT), fake.answer(502, b"<html>"))
    adapter = build()
    adapter.send(message())
    refused(lambda: adapter.send(message()))
    assert_clean(caplog.text)
    assert_clean(repr(adapter))


# Talking to a user


def test_it_offers_the_button_that_shares_the_number(build, server):
    server.script(fake.answer(200, SENT))
    build().prompt("777000111", "Whose number is it?", contact_button="Share my number")
    assert server.requests[0].json() == {
        "chat_id": 777000111,
        "text": "Whose number is it?",
        "reply_markup": {
            "keyboard": [[{"text": "Share my number", "request_contact": True}]],
            "resize_keyboard": True,
            "one_time_keyboard": True,
        },
    }


def test_without_a_button_it_takes_the_keyboard_away(build, server):
    server.script(fake.answer(200, SENT))
    build().prompt("777000111", "Thank you.")
    assert server.requests[0].json()["reply_markup"] == {"remove_keyboard": True}


def test_talking_to_one_who_has_blocked_it_is_told(build, server):
    server.script(error(403, "Forbidden: bot was blocked by the user"))
    assert refused(lambda: build().prompt("777000111", "Hello?")).provider_status == "blocked"


# Check


def test_check_tells_the_bot_and_its_webhook(build, server):
    hook = {
        "url": HOOK_URL,
        "has_custom_certificate": False,
        "pending_update_count": 3,
        "last_error_date": 1740571200,
        "last_error_message": f"Wrong response from the webhook: 404\n {HOOK_URL} hush {TOKEN}",
    }
    server.script(fake.answer(200, ME), fake.answer(200, {"ok": True, "result": hook}))
    health = build().check()
    assert [request.target for request in server.requests] == [f"/bot{TOKEN}/getMe", f"/bot{TOKEN}/getWebhookInfo"]
    assert health.is_ok and "@codes_bot" in health.detail and "wait: 3" in health.detail
    assert "(2025-02-26 12:00 UTC): Wrong response from the webhook: 404" in health.detail
    assert "\n" not in health.detail
    assert_clean(health.detail)


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ({"url": "", "pending_update_count": 0}, "No webhook is set"),
        ({"url": HOOK_URL, "pending_update_count": 0}, "Its webhook is set."),
        ({"url": HOOK_URL, "last_error_message": "x", "last_error_date": 10**30}, "Its last error: x"),
        ({"url": HOOK_URL, "last_error_message": "x" * 999}, "x" * 200),
        (None, "No webhook is set"),
    ],
)
def test_check_tells_the_state_of_the_webhook(build, server, hook, words):
    server.script(fake.answer(200, ME), fake.answer(200, {"ok": True, "result": hook}))
    health = build(username="Codes_Bot").check()
    assert health.is_ok and words in health.detail and len(health.detail) < 400


@pytest.mark.parametrize("found", ["other_bot", None, 5, "<b>"])
def test_check_notices_a_token_of_another_bot(build, server, found):
    server.script(fake.answer(200, {"ok": True, "result": {"username": found}}))
    health = build().check()
    assert not health.is_ok and "not to @codes_bot" in health.detail and "<b>" not in health.detail


def test_check_notices_a_revoked_token(build, server):
    server.script(error(401, "Unauthorized"))
    assert refused(build().check).outcome is Outcome.MISCONFIGURED


# The operator's commands


def test_it_sets_its_webhook(build, server):
    server.script(fake.answer(200, DONE))
    build().set_hook(HOOK_URL)
    [request] = server.requests
    assert request.target == f"/bot{TOKEN}/setWebhook"
    assert request.json() == {
        "url": HOOK_URL,
        "secret_token": SECRET,
        "allowed_updates": ["message", "my_chat_member"],
        "drop_pending_updates": False,
    }


def test_it_tells_why_a_webhook_is_not_accepted(build, server):
    server.script(error(400, f"Bad Request: bad webhook: HTTPS url must be provided for {HOOK_URL}"))
    assert "HTTPS url must be provided" in str(refused(lambda: build().set_hook(HOOK_URL)))


def test_it_deletes_its_webhook(build, server):
    server.script(fake.answer(200, DONE))
    build().delete_hook()
    [request] = server.requests
    assert (request.target, request.json()) == (f"/bot{TOKEN}/deleteWebhook", {"drop_pending_updates": False})


def updates(*bodies):
    return fake.answer(200, b'{"ok":true,"result":[' + b",".join(bodies) + b"]}")


def test_it_polls(build, server):
    server.script(updates(START, CONTACT, b'{"update_id":10009,"poll":{}}'))
    adapter = build(RecordingDoor)
    replies, offset = adapter.poll(10001, 25)
    [request] = server.requests
    assert request.target == f"/bot{TOKEN}/getUpdates"
    assert request.json() == {
        "offset": 10001,
        "limit": 20,
        "timeout": 25,
        "allowed_updates": ["message", "my_chat_member"],
    }
    assert adapter.http.timeout.total == 30
    assert [type(event) for reply in replies for event in reply.events] == [BotStarted, ContactShared]
    assert [reply.dedup_key for reply in replies] == ["10001", "10002", "10009"]
    assert offset == 10010


@pytest.mark.parametrize("offset", [0, 10010])
def test_polling_nothing_keeps_the_offset(build, server, offset):
    server.script(updates())
    assert build().poll(offset, 0) == ([], offset)


def test_a_batch_that_does_not_fit_is_fetched_one_by_one(build, server):
    server.script(fake.huge_body(), updates(START))
    replies, offset = build().poll(0, 0)
    assert (len(replies), offset) == (1, 10002)
    assert server.requests[1].json()["limit"] == 1


def test_polling_beside_a_webhook_is_told(build, server):
    server.script(error(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook"))
    assert "webhook" in str(refused(lambda: build().poll(0, 0)))


@pytest.mark.parametrize("result", [None, {}, "x"])
def test_polling_nonsense_is_told(build, server, result):
    server.script(fake.answer(200, {"ok": True, "result": result}))
    refused(lambda: build().poll(0, 0))


# Updates: who made them


def test_it_accepts_its_secret(build):
    build().verify_hook(hook(START))


@pytest.mark.parametrize("secret", ["", SECRET[:-1], SECRET.upper(), SECRET + "0", "ü", "\udcff", TOKEN])
def test_it_refuses_a_wrong_secret(build, secret):
    with pytest.raises(HookForged):
        build().verify_hook(hook(START, secret))


def test_it_refuses_an_update_without_the_header(build):
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("POST", HOOK_URL, "", {}, START))


def test_another_bots_secret_does_not_count(build):
    with pytest.raises(HookForged):
        build(token=TOKEN + "2").verify_hook(hook(START))


# Updates: what they say


@pytest.mark.parametrize(
    ("update", "event"),
    [
        (START, BotStarted("777000111", "Zm9vYmFy", "uz")),
        (CONTACT, ContactShared("777000111", "+998901234567", is_own=True)),
        (BLOCKED, BotReachability("777000111", is_active=False)),
        (UNBLOCKED, BotReachability("777000111", is_active=True)),
    ],
)
def test_it_reads_an_update(build, update, event):
    reply = build().parse_hook(hook(update))
    assert reply.events == (event,)
    assert reply.dedup_key == str(json.loads(update)["update_id"])
    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("/start", ""),
        ("/start ", ""),
        ("/start@codes_bot abc", "abc"),
        ("/start " + "x" * 64, "x" * 64),
        ("/start " + "x" * 65, ""),
        ("/start two words", ""),
        ("/start ünï", ""),
        ("/start abc\n", "abc"),
    ],
)
def test_it_reads_the_payload_of_a_start(build, text, payload):
    [event] = events(build(), changed(START, "message.text", text))
    assert event == BotStarted("777000111", payload, "uz")


@pytest.mark.parametrize("text", ["hello", "/help", "/startling", "please /start abc", "", None, 5, ...])
def test_anything_else_is_a_message(build, text):
    assert events(build(), changed(START, "message.text", text)) == (BotMessage("777000111", "uz"),)


@pytest.mark.parametrize("code", ["uz", "pt-br", "zh-hans"])
def test_it_knows_the_users_language(build, code):
    [event] = events(build(), changed(START, "message.from.language_code", code))
    assert event.language == code


@pytest.mark.parametrize("code", [None, 5, "", "x" * 40, "uz\n", "<b>", "uz" + "-abcdefgh" * 4])
def test_nonsense_is_no_language(build, code):
    [event] = events(build(), changed(START, "message.from.language_code", code))
    assert event.language == ""


@pytest.mark.parametrize("phone", ["998901234567", "+998901234567", "+998 90 123-45-67", "+998 (90) 1234567"])
def test_a_number_gets_its_plus(build, phone):
    [event] = events(build(), changed(CONTACT, "message.contact.phone_number", phone))
    assert event.phone == "+998901234567"


@pytest.mark.parametrize("phone", ["", "+", "1234", "1" * 16, "call me", "+99890١234567", None, 998901234567, ...])
def test_a_contact_without_a_number_is_a_message(build, phone):
    assert events(build(), changed(CONTACT, "message.contact.phone_number", phone)) == (BotMessage("777000111"),)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("message.contact.user_id", 777000222),
        ("message.contact.user_id", ...),
        ("message.contact.user_id", None),
        ("message.contact.user_id", "777000111"),
        ("message.contact.user_id", True),
        ("message.from.id", 777000222),
        ("message.chat.id", 777000222),
        ("message.forward_origin", {"type": "hidden_user", "date": 1740571000, "sender_user_name": "Ann"}),
        ("message.forward_date", 1740571000),
    ],
)
def test_a_contact_that_may_be_anothers_is_not_their_own(build, path, value):
    [event] = events(build(), changed(CONTACT, path, value))
    assert isinstance(event, ContactShared) and not event.is_own


def test_a_forwarded_start_is_a_message(build):
    update = changed(START, "message.forward_origin", {"type": "user", "date": 1740571000, "sender_user": {"id": 1}})
    assert events(build(), update) == (BotMessage("777000111", "uz"),)


@pytest.mark.parametrize("update", [START, CONTACT, BLOCKED, UNBLOCKED])
@pytest.mark.parametrize("kind", ["group", "supergroup", "channel", None, ...])
def test_only_private_chats_count(build, update, kind):
    field = next(name for name in json.loads(update) if name != "update_id")
    assert events(build(), changed(update, f"{field}.chat.type", kind)) == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("message.from.is_bot", True),
        ("message.from.is_bot", ...),
        ("message.from", ...),
        ("message.from", "Ann"),
        ("message.from.id", "777000111"),
        ("message.chat", ...),
        ("message.chat.id", "777000111"),
        ("message.chat.id", True),
        ("message", []),
    ],
)
def test_a_message_of_a_bot_or_of_nobody_is_nothing(build, path, value):
    assert events(build(), changed(START, path, value)) == ()


@pytest.mark.parametrize("status", ["left", "restricted", "administrator", None, 5, ...])
def test_another_membership_is_nothing(build, status):
    assert events(build(), changed(BLOCKED, "my_chat_member.new_chat_member.status", status)) == ()


@pytest.mark.parametrize("field", ["edited_message", "channel_post", "edited_channel_post", "business_message"])
def test_other_kinds_of_update_are_nothing(build, field):
    update = json.loads(START)
    update[field] = update.pop("message")
    reply = build().parse_hook(hook(json.dumps(update).encode()))
    assert (reply.events, reply.dedup_key) == ((), "10001")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"5", b"{}", b'{"update_id":"1"}', b'{"update_id":true}', b"\xff", b"[" * 50_000]
)
def test_an_unreadable_update_is_told(build, body):
    with pytest.raises(HookUnreadable):
        build().parse_hook(hook(body))


# An independent reading


def test_python_telegram_bot_reads_the_same(build):
    """The recorded updates mean the same to us and to a library that knows the whole Bot API."""
    import telegram

    started, shared, blocked, unblocked = (
        telegram.Update.de_json(json.loads(update), None) for update in (START, CONTACT, BLOCKED, UNBLOCKED)
    )
    for update in (started, shared, blocked, unblocked):
        assert not update.api_kwargs  # no field that the library does not know
        assert update.effective_chat.type == telegram.Chat.PRIVATE

    adapter = build()
    [event] = events(adapter, START)
    [command] = started.message.entities
    assert (command.type, command.offset) == ("bot_command", 0)
    assert started.message.parse_entity(command) == "/start"
    assert event == BotStarted(str(started.effective_chat.id), "Zm9vYmFy", started.effective_user.language_code)

    [event] = events(adapter, CONTACT)
    contact = shared.message.contact
    assert event.is_own is (contact.user_id == shared.message.from_user.id)
    assert event.phone == f"+{contact.phone_number}"

    for update, body in ((blocked, BLOCKED), (unblocked, UNBLOCKED)):
        [event] = events(adapter, body)
        is_member = update.my_chat_member.new_chat_member.status == telegram.ChatMember.MEMBER
        assert event == BotReachability(str(update.effective_chat.id), is_active=is_member)


def test_python_telegram_bot_writes_the_same(build, server):
    """The keyboards, as the library would write them."""
    import telegram

    server.script(fake.answer(200, SENT), fake.answer(200, SENT), fake.answer(200, SENT))
    adapter = build()
    adapter.send(message())
    adapter.prompt("777000111", "?", contact_button="Share")
    adapter.prompt("777000111", "!")
    copy = telegram.InlineKeyboardButton("4711", copy_text=telegram.CopyTextButton("4711"))
    share = telegram.KeyboardButton("Share", request_contact=True)
    assert [request.json()["reply_markup"] for request in server.requests] == [
        telegram.InlineKeyboardMarkup([[copy]]).to_dict(),
        telegram.ReplyKeyboardMarkup([[share]], resize_keyboard=True, one_time_keyboard=True).to_dict(),
        telegram.ReplyKeyboardRemove().to_dict(),
    ]
    assert telegram.Message.de_json(json.loads(SENT)["result"], None).message_id == 42
