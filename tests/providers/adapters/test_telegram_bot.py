from __future__ import annotations

import json
from functools import partial

import pytest

from providers import registry
from providers.base import BotMessage, BotReachability, BotStarted, ContactShared, HookRequest, Outcome
from providers.errors import HookUnreadable, ProviderError
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.hooks import JSON
from tests.fakes.messages import make_message
from tests.providers.vendors import LOOPBACK, Vendor, each

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


class RecordingDoor(HttpClient):
    def request(self, *args, **kwargs):
        self.timeout = kwargs["timeout"]
        return super().request(*args, **kwargs)


@pytest.fixture
def build(server):
    return partial(VENDOR.build, server)


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


def renamed(field):
    """The start as another kind of update."""
    update = json.loads(START)
    update[field] = update.pop("message")
    return json.dumps(update).encode()


ANN = "777000111"
STARTED = BotStarted(ANN, "Zm9vYmFy", "uz")
NO_ANSWERS = [b"<html>502 Bad Gateway</html>", b"", b"{", b"[]", b"null", b'{"ok":"true"}', b"[" * 50_000, b"\xff"]
BY_STATUS = [
    (200, Outcome.UNCLEAR),
    (404, Outcome.DECLINED),
    (429, Outcome.RATE_LIMITED),
    (502, Outcome.UNKNOWN),
]

VENDOR = Vendor(
    type="telegram_bot",
    settings={"token": TOKEN, "username": "codes_bot"},
    secrets="token",
    defaults={"username": "codes_bot", "base_url": "https://api.telegram.org", "protect_content": True},
    wrong={
        "token": ["", "hush", "123456:hush/../hush-hush"],
        "username": ["", "@codes_bot", "codes bot", "codes_bot?start=x"],
        "base_url": ["http://bots.example", "https://bots.example/?a"],
        "protect_content": ["maybe"],
    },
    message={"channel": "messenger_a", "account_id": ANN, "hook_url": None},
    taken=fake.answer(200, SENT),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": f"/bot{TOKEN}/sendMessage",
                "header content-type": JSON,
                "": {
                    "chat_id": 777000111,
                    "text": "Your code is 4711",
                    "protect_content": True,
                    "reply_markup": {"inline_keyboard": [[{"text": "4711", "copy_text": {"text": "4711"}}]]},
                },
                "provider_message_id": "777000111:42",
                "is_delivered": True,
            },
        ),
        (
            {"protect_content": "false", "base_url": "SERVER/api/"},
            {},
            {"target": f"/api/bot{TOKEN}/sendMessage", "protect_content": False},
        ),
    ],
    not_applicable=[
        *[({"account_id": account_id},) for account_id in (None, "", "-100123", "@ann", "٧")],
        ({"text": ""},),
        ({"text": "x" * 4097},),
    ],
    refusals=[
        *[
            (error(number, description), outcome, told)
            for number, description, outcome, told in [
                (400, "Bad Request: chat not found", Outcome.REFUSED, "chat_not_found"),
                (400, "Bad Request: user not found", Outcome.REFUSED, "user_not_found"),
                (400, "Bad Request: PEER_ID_INVALID", Outcome.REFUSED, "PEER_ID_INVALID"),
                (400, "Bad Request: PEER_FLOOD", Outcome.DECLINED, "400"),
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
                (409, "Conflict: can't use getUpdates method while webhook is active", Outcome.MISCONFIGURED, "409"),
                (409, "Conflict: terminated by other getUpdates request", Outcome.MISCONFIGURED, "409"),
                (429, "Too Many Requests: retry after 5", Outcome.RATE_LIMITED, "429"),
                (500, "Internal Server Error", Outcome.TEMPORARY, "500"),
                (502, "Bad Gateway", Outcome.UNKNOWN, "502"),
            ]
        ],
        *[
            (
                fake.answer(
                    429, {"ok": False, "error_code": 429, "description": "x", "parameters": parameters}, headers
                ),
                Outcome.RATE_LIMITED,
                "429",
                {"retry_after": seconds},
            )
            for parameters, headers, seconds in [
                ({"retry_after": 5}, {}, 5),
                ({"retry_after": 86400}, {}, 3600),
                ({"retry_after": 5}, {"Retry-After": "9"}, 5),
                ({"retry_after": "soon"}, {"Retry-After": "9"}, 9),
                ({"retry_after": True}, {}, None),
                ({"retry_after": -1}, {}, None),
                (None, {}, None),
                ([], {}, None),
            ]
        ],
        *[
            (fake.answer(200, {"ok": False, **senseless}), Outcome.UNCLEAR)
            for senseless in [
                {},
                {"error_code": "403", "description": None},
                {"error_code": True},
                {"error_code": 200, "description": ["blocked by the user"]},
            ]
        ],
        *[(fake.answer(status, body), outcome) for body in NO_ANSWERS for status, outcome in BY_STATUS],
        *[
            (fake.answer(200, {"ok": True, "result": result}), Outcome.UNCLEAR)
            for result in [
                None,
                True,
                [],
                {},
                {"message_id": 42},
                {"chat": {"id": 1}},
                {"message_id": "42", "chat": {"id": 1}},
                {"message_id": True, "chat": {"id": 1}},
                {"message_id": 42, "chat": 1},
            ]
        ],
    ],
    check_request=f"POST /bot{TOKEN}/getMe",
    checks=[(error(401, "Unauthorized"), Outcome.MISCONFIGURED)],
    sign=hook,
    genuine=[(START,)],
    forged=[
        *[(hook(START, secret),) for secret in ("", SECRET[:-1], SECRET.upper(), SECRET + "0", "ü", "\udcff", TOKEN)],
        (HookRequest("POST", HOOK_URL, "", {}, START),),
        (START, {"token": TOKEN + "2"}),
    ],
    reports=[
        (START, (STARTED,)),
        (CONTACT, (ContactShared(ANN, "+998901234567", is_own=True),)),
        (BLOCKED, (BotReachability(ANN, is_active=False),)),
        (UNBLOCKED, (BotReachability(ANN, is_active=True),)),
        *[
            (changed(START, "message.text", text), (BotStarted(ANN, payload, "uz"),))
            for text, payload in [
                ("/start", ""),
                ("/start ", ""),
                ("/start@codes_bot abc", "abc"),
                ("/start " + "x" * 64, "x" * 64),
                ("/start " + "x" * 65, ""),
                ("/start two words", ""),
                ("/start ünï", ""),
                ("/start abc\n", "abc"),
            ]
        ],
        *[
            (changed(START, "message.text", text), (BotMessage(ANN, "uz"),))
            for text in ("hello", "/help", "/startling", "please /start abc", "", None, 5, ...)
        ],
        *[
            (changed(START, "message.from.language_code", code), (BotStarted(ANN, "Zm9vYmFy", code),))
            for code in ("uz", "pt-br", "zh-hans")
        ],
        *[
            (changed(START, "message.from.language_code", code), (BotStarted(ANN, "Zm9vYmFy", ""),))
            for code in (None, 5, "", "x" * 40, "uz\n", "<b>", "uz" + "-abcdefgh" * 4)
        ],
        *[
            (
                changed(CONTACT, "message.contact.phone_number", phone),
                (ContactShared(ANN, "+998901234567", is_own=True),),
            )
            for phone in ("998901234567", "+998901234567", "+998 90 123-45-67", "+998 (90) 1234567")
        ],
        *[
            (changed(CONTACT, "message.contact.phone_number", phone), (BotMessage(ANN),))
            for phone in ("", "+", "1234", "1" * 16, "call me", "+99890١234567", None, 998901234567, ...)
        ],
        *[
            (changed(CONTACT, path, value), {"is_own": False})
            for path, value in [
                ("message.contact.user_id", 777000222),
                ("message.contact.user_id", ...),
                ("message.contact.user_id", None),
                ("message.contact.user_id", ANN),
                ("message.contact.user_id", True),
                ("message.from.id", 777000222),
                ("message.chat.id", 777000222),
                ("message.forward_origin", {"type": "hidden_user", "date": 1740571000, "sender_user_name": "Ann"}),
                ("message.forward_date", 1740571000),
            ]
        ],
        (
            changed(START, "message.forward_origin", {"type": "user", "date": 1740571000, "sender_user": {"id": 1}}),
            (BotMessage(ANN, "uz"),),
        ),
        *[
            (changed(update, f"{field}.chat.type", kind), ())  # only private chats count
            for update, field in [
                (START, "message"),
                (CONTACT, "message"),
                (BLOCKED, "my_chat_member"),
                (UNBLOCKED, "my_chat_member"),
            ]
            for kind in ("group", "supergroup", "channel", None, ...)
        ],
        *[
            (changed(START, path, value), ())  # of a bot, or of nobody
            for path, value in [
                ("message.from.is_bot", True),
                ("message.from.is_bot", ...),
                ("message.from", ...),
                ("message.from", "Ann"),
                ("message.from.id", ANN),
                ("message.chat", ...),
                ("message.chat.id", ANN),
                ("message.chat.id", True),
                ("message", []),
            ]
        ],
        *[
            (changed(BLOCKED, "my_chat_member.new_chat_member.status", status), ())
            for status in ("left", "restricted", "administrator", None, 5, ...)
        ],
        *[
            (renamed(field), ())
            for field in ("edited_message", "channel_post", "edited_channel_post", "business_message")
        ],
        *each(
            [b"", b"<html>", b"[]", b"5", b"{}", b'{"update_id":"1"}', b'{"update_id":true}', b"\xff"], HookUnreadable
        ),
    ],
)


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
    adapter = build()
    adapter.http = RecordingDoor(LOOPBACK)
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


# Updates


def test_an_update_is_answered_and_named(build):
    for update in (START, CONTACT, BLOCKED, UNBLOCKED, renamed("edited_message")):
        reply = build().parse_hook(hook(update))
        assert (reply.status, reply.body) == (200, b"")
        assert reply.dedup_key == str(json.loads(update)["update_id"])


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
