"""A Telegram bot from the link to the verified number, by webhook and by polling, against a Bot API on loopback."""

from __future__ import annotations

import itertools
import signal
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.fakes.telegram import SECRET_HEADER, TOKEN, USERNAME, BotApi, contact, membership, start
from tests.faults.shop import Shop, recipient
from tests.live import wait_until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live")]

PUBLIC = "https://codes.example"
BACKENDS = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
WAITING = "SELECT FROM verification_botupdate WHERE due_at IS NOT NULL"
_chats = itertools.count(777000111)


@pytest.fixture(scope="module")
def api():
    with BotApi() as running:
        yield running


@pytest.fixture(scope="module")
def shop(service, api):
    made = service.json("createproject", "Shop with a bot")
    return Shop(service, api.server, made["project"], made["api_key"], made["secret_key"])


@pytest.fixture(scope="module")
def bot(service, shop, api):
    settings = {"token": TOKEN, "username": USERNAME, "base_url": api.url}
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    options += ["--channel", "messenger_a", "--type", "telegram_bot", "--name", "Bot"]
    return str(service.json("addprovider", str(shop.id), *options)["provider"])


@pytest.fixture(scope="module")
def hook(service, api, bot):
    """The webhook that ``manage.py telegram`` set at Telegram, where we have a public address."""
    done = service.run("telegram", bot, "--json", BASE_URL=PUBLIC)
    assert done.returncode == 0, done.stderr
    assert api.hook is not None
    return api.hook


@pytest.fixture(scope="module")
def path(hook):
    return urlsplit(hook["url"]).path


@pytest.fixture
def update(service, hook, path):
    """Telegram's call, and a worker's turn: the status of our answer, which has no body."""

    def call(body, secret=hook["secret_token"]):
        status, answer, _ = service.call("POST", path, body, headers={SECRET_HEADER: secret} if secret else None)
        assert answer is None
        wait_until(lambda: service.query(WAITING) == [], "a worker has acted on it")
        return status

    return call


@pytest.fixture
def chat():
    """A user of Telegram's."""
    return next(_chats)


def open_session(shop, to):
    """A session whose code waits for the bot: its id and the payload of the link."""
    status, body, _ = shop.create(to, type="messenger_a")
    assert (status, body["sent_to"]) == (200, None), body
    [channel] = body["channels"]
    assert (channel["type"], channel["is_active"]) == ("messenger_a", False)
    assert channel["link"].startswith(f"https://t.me/{USERNAME}?start=")
    [payload] = parse_qs(urlsplit(channel["link"]).query)["start"]
    return body["session_id"], payload


def is_active(shop, session_id):
    status, body, _ = shop.as_app("GET", f"/session/channels?session_id={session_id}")
    assert status == 200, body
    [channel] = body["channels"] if isinstance(body, dict) else body
    return channel["is_active"]


def codes_in(api, chat):
    """Return the codes that a user can copy by a tap, and reads in the text."""
    buttons = [(sent, sent["reply_markup"].get("inline_keyboard")) for sent in api.sent_to(chat)]
    codes = [(sent["text"], rows[0][0]["copy_text"]["text"]) for sent, rows in buttons if rows]
    assert all(code in text for text, code in codes)
    return [code for _, code in codes]


def asks_for_contact(sent):
    keyboard = sent["reply_markup"].get("keyboard")
    return bool(keyboard and keyboard[0][0]["request_contact"])


def bind(shop, api, update, chat):
    """A user who has proved their number and has got a code: number, session and code."""
    to = recipient()
    session_id, payload = open_session(shop, to)
    assert [update(start(chat, payload)), update(contact(chat, to))] == [200, 200]
    [code] = wait_until(lambda: codes_in(api, chat), "the bot sends the code")
    return to, session_id, code


def verify(shop, session_id, code):
    status, checked, _ = shop.check(session_id, code)
    assert status == 200, checked
    return shop.verify(checked["verify_token"])[:2]


# --- by webhook -------------------------------------------------------------------------------------------------------


def test_the_code_comes_once_the_user_has_proved_the_number(shop, api, update, chat):
    to = recipient()
    session_id, payload = open_session(shop, to)

    assert update(start(chat, payload)) == 200
    [asked] = api.sent_to(chat)
    assert asks_for_contact(asked)
    assert shop.messages_to(to) == []

    assert update(contact(chat, to)) == 200
    [code] = wait_until(lambda: codes_in(api, chat), "the bot sends the code")
    assert is_active(shop, session_id)
    assert verify(shop, session_id, code) == (200, {"phone": to})
    # What was asked, that it worked, the code.
    assert len(api.sent_to(chat)) == 3


def test_the_next_code_comes_without_a_start(shop, api, update, chat):
    to, session_id, code = bind(shop, api, update, chat)
    assert verify(shop, session_id, code)[0] == 200
    status, _, _ = shop.send(to, channel="messenger_a", code="1623")
    assert status == 200
    wait_until(lambda: codes_in(api, chat) == [code, "1623"], "the bot sends the second code")


def test_a_call_without_the_secret_is_refused_and_does_nothing(shop, api, hook, path, update, chat):
    to = recipient()
    session_id, payload = open_session(shop, to)
    pressed = start(chat, payload)
    assert [update(pressed, secret="wrong"), update(pressed, secret="")] == [401, 401]
    given = {SECRET_HEADER: hook["secret_token"]}
    assert shop.service.call("POST", path[:-1], pressed, headers=given)[0] == 404
    assert api.sent_to(chat) == []
    shared = contact(chat, to)
    assert [update(shared, secret="wrong"), update(shared, secret="")] == [401, 401]
    assert not is_active(shop, session_id)
    assert shop.messages_to(to) == []


def test_the_contact_of_somebody_else_binds_nothing(shop, api, update, chat):
    to = recipient()
    session_id, payload = open_session(shop, to)
    assert update(start(chat, payload)) == 200
    assert update(contact(chat, to, owner=next(_chats))) == 200  # the right number, attached by another user
    assert update(contact(chat, recipient())) == 200  # a number that is theirs but not the session's
    assert not is_active(shop, session_id)
    assert (codes_in(api, chat), shop.messages_to(to)) == ([], [])
    assert len(api.sent_to(chat)) == 3


def test_an_update_that_comes_twice_counts_once(shop, api, update, chat):
    to = recipient()
    session_id, payload = open_session(shop, to)
    pressed, shared = start(chat, payload), contact(chat, to)
    assert [update(each) for each in (pressed, pressed, shared, shared)] == [200] * 4
    wait_until(lambda: codes_in(api, chat), "the bot sends the code")
    assert len(api.sent_to(chat)) == 3
    assert shop.messages_to(to) == ["success"]


def test_a_user_who_blocks_the_bot_is_out_of_reach_until_they_unblock_it(shop, api, update, chat):
    to, session_id, _ = bind(shop, api, update, chat)
    assert is_active(shop, session_id)
    assert update(membership(chat, "kicked")) == 200
    assert not is_active(shop, session_id)
    status, problem, _ = shop.send(to, channel="messenger_a")
    assert (status, problem["code"]) == (409, "channel_not_active")
    assert update(membership(chat, "member")) == 200
    assert is_active(shop, session_id)


def test_a_block_that_only_sending_shows_ends_the_message(shop, api, update, chat):
    to, session_id, _ = bind(shop, api, update, chat)
    api.blocked_by.add(chat)
    status, sent, _ = shop.send(to, channel="messenger_a")
    assert status == 200
    wait_until(lambda: shop.messages_to(to)[-1] == "failed", "Telegram's refusal counts")
    _, found, _ = shop.as_server("GET", f"/manual/message/{sent['message_id']}")
    assert "blocked" in found["error"]
    wait_until(lambda: not is_active(shop, session_id), "the user is out of reach")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_sets_the_webhook(hook, service, bot):
    [(uuid,)] = service.query("SELECT uuid::text FROM verification_provider WHERE id = %s", int(bot))
    place, secret = hook["url"].rsplit("/", 1)
    assert place == f"{PUBLIC}/hooks/{uuid}"
    assert len(secret) == 43
    assert hook["allowed_updates"] == ["message", "my_chat_member"]
    assert hook["drop_pending_updates"] is False


def test_the_command_needs_a_public_address(service, bot):
    done = service.run("telegram", bot)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "watchword: Telegram calls https addresses only and BASE_URL is none. Set it, or poll with --poll.\n"
    )


@pytest.fixture
def polling(service, hook, api, bot):
    """A process that polls; from the start of a webhook that is set."""
    polls = api.polls
    process = service.start_command("bot", "telegram", bot, "--poll")
    wait_until(lambda: api.polls > polls, "it polls")
    assert api.hook is None
    yield process
    service.kill("bot")
    assert "Traceback" not in service.output("bot")


@pytest.fixture
def poll_one(shop, api, chat):
    """A user who comes while the bot is polled for: number, session and code."""

    def bind_one():
        to = recipient()
        session_id, payload = open_session(shop, to)
        api.push(start(chat, payload))
        wait_until(lambda: any(map(asks_for_contact, api.sent_to(chat))), "the bot asks for the number")
        api.push(contact(chat, to))
        [code] = wait_until(lambda: codes_in(api, chat), "the bot sends the code")
        return to, session_id, code

    return bind_one


def test_by_polling_the_same_happens(shop, polling, poll_one):
    to, session_id, code = poll_one()
    assert verify(shop, session_id, code) == (200, {"phone": to})


def test_polling_ends_in_good_order(api, polling, chat):
    polling.send_signal(signal.SIGTERM)
    # With the call in hand, which any update ends.
    wait_until(lambda: polling.poll() is not None or api.push(membership(chat, "member")), "it stops")
    assert polling.returncode == 0


def test_polling_outlives_its_connection_to_the_database(service, shop, hook, api, bot, request):
    before = {pid for (pid,) in service.query(BACKENDS)}
    request.getfixturevalue("polling")
    for (pid,) in service.query(BACKENDS):
        if pid not in before:
            service.query("SELECT pg_terminate_backend(%s)", pid)
    to, session_id, code = request.getfixturevalue("poll_one")()
    assert verify(shop, session_id, code) == (200, {"phone": to})
