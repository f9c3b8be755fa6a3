"""A Bot API on loopback, with one bot: what it answers and the updates it makes are Telegram's, byte for byte.

Names of people are outside ASCII, as they are.
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
from typing import Any

from tests.fakes import http_server as fake
from tests.fakes.http_server import FakeHttpServer

TOKEN = "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"
USERNAME = "codes_bot"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"

BOT = '{"id":123456,"is_bot":true,"first_name":"Codes","username":"codes_bot"}'
ME = (
    b'{"ok":true,"result":{"id":123456,"is_bot":true,"first_name":"Codes","username":"codes_bot",'
    b'"can_join_groups":false,"can_read_all_group_messages":false,"supports_inline_queries":false}}'
)
HOOK_SET = b'{"ok":true,"result":true,"description":"Webhook was set"}'
HOOK_DELETED = b'{"ok":true,"result":true,"description":"Webhook was deleted"}'
UNAUTHORIZED = b'{"ok":false,"error_code":401,"description":"Unauthorized"}'
NOT_FOUND = b'{"ok":false,"error_code":404,"description":"Not Found"}'
BLOCKED = b'{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}'
NOT_HTTPS = (
    b'{"ok":false,"error_code":400,"description":"Bad Request: bad webhook: An HTTPS URL must be provided for webhook"}'
)
HOOK_ACTIVE = (
    b'{"ok":false,"error_code":409,"description":"Conflict: can\'t use getUpdates method while webhook is active; '
    b'use deleteWebhook to delete the webhook first"}'
)


class BotApi:
    """Use as a context manager. ``sent`` are the bodies of sendMessage, ``hook`` that of setWebhook, ``blocked_by`` the
    chats that have blocked the bot.
    """

    def __init__(self) -> None:
        self.server = FakeHttpServer(default=self._behave)
        self.sent: list[dict[str, Any]] = []
        self.hook: dict[str, Any] | None = None
        self.blocked_by: set[int] = set()
        self.polls = 0
        self._waiting: list[bytes] = []
        self._news = threading.Condition()

    def __enter__(self) -> BotApi:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()
        with self._news:
            self._news.notify_all()

    @property
    def url(self) -> str:
        return self.server.url

    def sent_to(self, chat: int) -> list[dict[str, Any]]:
        return [message for message in list(self.sent) if message["chat_id"] == chat]

    def push(self, update: bytes) -> None:
        """Hand an update to whoever polls."""
        with self._news:
            self._waiting.append(update)
            self._news.notify_all()

    def _behave(self, server: FakeHttpServer, connection: socket.socket) -> bool:
        status, body = self._judge(server.asked)
        return fake.answer(status, body, {"Content-Type": "application/json"})(server, connection)

    def _judge(self, request: fake.Request) -> tuple[int, bytes]:
        _, bot, method = request.target.split("/")
        if bot != f"bot{TOKEN}":
            return 401, UNAUTHORIZED
        act = {
            "getMe": lambda fields: (200, ME),
            "sendMessage": self._send_message,
            "setWebhook": self._set_webhook,
            "deleteWebhook": self._delete_webhook,
            "getWebhookInfo": self._webhook_info,
            "getUpdates": self._updates,
        }.get(method)
        return act(request.json()) if act else (404, NOT_FOUND)

    def _send_message(self, fields: dict[str, Any]) -> tuple[int, bytes]:
        if fields["chat_id"] in self.blocked_by:
            return 403, BLOCKED
        self.sent.append(fields)
        return 200, (
            f'{{"ok":true,"result":{{"message_id":{len(self.sent)},"from":{BOT},"chat":{_chat(fields["chat_id"])},'
            f'"date":1740571200,"text":{_text(fields["text"])}}}}}'
        ).encode()

    def _set_webhook(self, fields: dict[str, Any]) -> tuple[int, bytes]:
        if not fields["url"].startswith("https://"):
            return 400, NOT_HTTPS
        self.hook = fields
        return 200, HOOK_SET

    def _delete_webhook(self, fields: dict[str, Any]) -> tuple[int, bytes]:
        self.hook = None
        return 200, HOOK_DELETED

    def _webhook_info(self, fields: dict[str, Any]) -> tuple[int, bytes]:
        url = self.hook["url"] if self.hook else ""
        waiting = len(self._waiting)
        return 200, (
            f'{{"ok":true,"result":{{"url":{_text(url)},"has_custom_certificate":false,'
            f'"pending_update_count":{waiting}}}}}'
        ).encode()

    def _updates(self, fields: dict[str, Any]) -> tuple[int, bytes]:
        """Return the updates from ``offset`` on, which confirms the earlier ones. Wait for one if there is none."""
        if self.hook:
            return 409, HOOK_ACTIVE
        self.polls += 1
        with self._news:
            self._waiting = [update for update in self._waiting if _id(update) >= fields["offset"]]
            self._news.wait_for(lambda: self._waiting or self.server.stopped.is_set(), fields["timeout"])
            found = self._waiting[: fields["limit"]]
        return 200, b'{"ok":true,"result":[' + b",".join(found) + b"]}"


_ids = itertools.count(10001)


def start(chat: int, payload: str, language: str = "de") -> bytes:
    """The user presses Start behind a deep link."""
    sender = f'{{"id":{chat},"is_bot":false,"first_name":"Zoë","language_code":"{language}"}}'
    entities = '[{"offset":0,"length":6,"type":"bot_command"}]'
    return _message(chat, f'"from":{sender}', f'"text":"/start {payload}","entities":{entities}')


def contact(chat: int, phone: str, owner: int | None = None) -> bytes:
    """The user shares a contact: their own, or that of ``owner``. Telegram leaves the plus out."""
    number = phone.removeprefix("+")
    return _message(
        chat,
        f'"from":{_person(chat)}',
        f'"contact":{{"phone_number":"{number}","first_name":"Zoë","user_id":{owner or chat}}}',
    )


def membership(chat: int, status: str) -> bytes:
    """The user blocks the bot (``kicked``) or unblocks it (``member``)."""
    old, new = ("member", "kicked") if status == "kicked" else ("kicked", "member")
    return (
        f'{{"update_id":{next(_ids)},"my_chat_member":{{"chat":{_chat(chat)},"from":{_person(chat)},"date":1740571300,'
        f'"old_chat_member":{_member(old)},"new_chat_member":{_member(new)}}}}}'
    ).encode()


def _message(chat: int, sender: str, content: str) -> bytes:
    return (
        f'{{"update_id":{next(_ids)},"message":{{"message_id":5,"date":1740571200,{sender},'
        f'"chat":{_chat(chat)},{content}}}}}'
    ).encode()


def _person(chat: int) -> str:
    return f'{{"id":{chat},"is_bot":false,"first_name":"Zoë"}}'


def _chat(chat: int) -> str:
    return f'{{"id":{chat},"type":"private","first_name":"Zoë"}}'


def _member(status: str) -> str:
    until = ',"until_date":0' if status == "kicked" else ""
    return f'{{"user":{BOT},"status":"{status}"{until}}}'


def _text(value: str) -> str:
    return json.dumps(value)


def _id(update: bytes) -> int:
    found: int = json.loads(update)["update_id"]
    return found
