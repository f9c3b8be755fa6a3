"""A Telegram bot of the owner's: free, for users who have started it.

The token is a part of every URL. The outbound door names only hosts in its errors. We quote Telegram's words only if
they are about no message, and without the token.

A refusal is the user's fault if its words say so, or a word in capitals that names the peer, the chat or the user; with
a right token every 403 is. Any other 400 is nobody's. A 401 or 404 means the token.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import UNLISTED, HookForged, HookUnreadable, NoAnswer, ProviderError
from providers.http.client import DEFAULT, MAX_RETRY_AFTER_SECONDS, HttpAnswer, Timeouts, classify_status
from providers.parsing import hooks
from providers.parsing.telegram_updates import PAYLOAD, as_object, is_int, read_update

# Telegram's bound of a text, in characters.
MAX_TEXT_LENGTH = 4096
# The kinds of updates that we want. Telegram keeps this setting, so every call repeats it.
ALLOWED_UPDATES = ["message", "my_chat_member"]
# Updates of one call: a hundred long messages would not fit into the answer that the door reads.
POLL_LIMIT = 20
# The longest wait for updates: Telegram waits no longer, whatever we ask.
MAX_POLL_SECONDS = 50
# Characters of Telegram's words that we quote.
QUOTE_LENGTH = 200
MAX_WORD_LENGTH = 40  # characters of a word of Telegram's

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,100}")
_USERNAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{3,31}")
_ACCOUNT = re.compile(r"[1-9][0-9]{0,18}")  # groups have negative numbers
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

# The words of a description, in lower case, that mean the recipient. Telegram does not promise stable words, and those
# with "initiate" are UNCONFIRMED.
_ABOUT_THE_RECIPIENT = (
    ("blocked by the user", "blocked", "the user has blocked the bot"),
    ("deactivated", "deactivated", "the user's account is deleted"),
    ("chat not found", "chat_not_found", "the user has not started the bot"),
    ("user not found", "user_not_found", "the user's account is gone"),
    ("initiate conversation", "not_started", "the user has not started the bot"),
)
# Telegram's own errors, which the Bot API passes on, if they name the peer and no limit of ours.
_PEER_ERROR = re.compile(
    r"\b(?:INPUT_)?(?:PEER|USER|CHAT|CHANNEL)_(?![A-Z_]*(?:FLOOD|LIMIT|TOO_MUCH|TIMEOUT|WAIT))[A-Z_]+\b"
)


class Adapter(base.Adapter):
    type = "telegram_bot"
    label = _("Telegram bot")
    channels = ("messenger_a",)
    needs_start = True
    declared = (
        Setting(
            "token",
            _("Bot token"),
            SettingKind.SECRET,
            required=True,
            help=_("From @BotFather, such as 123456:ABC-DEF."),
        ),
        Setting("username", _("Bot username"), required=True, help=_("Without @. Used for the start link.")),
        Setting(
            "base_url",
            _("Base URL"),
            SettingKind.URL,
            default="https://api.telegram.org",
            help=_("Change it to use your own Bot API server."),
        ),
        Setting(
            "protect_content",
            _("Protect the message"),
            SettingKind.BOOLEAN,
            default=True,
            help=_("Prevents forwarding and saving in Telegram's apps."),
        ),
    )

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not _TOKEN.fullmatch(str(values["token"])):
            errors["token"] = gettext("enter a token such as 123456:ABC-DEF")
        if not _USERNAME.fullmatch(str(values["username"])):
            errors["username"] = gettext("enter a username without @; only letters, digits and _")
        if "?" in str(values["base_url"]):
            errors["base_url"] = gettext("the base URL cannot have a query string")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        """Send one message. Telegram tells nothing after its answer, so acceptance is the last that can be known.

        It is UNCONFIRMED that a protected message's copy button works in the apps. The code stands in the text too.
        """
        if message.account_id is None:
            raise ProviderError("the user has not started the bot", Outcome.NOT_APPLICABLE)
        if not 0 < len(message.text) <= MAX_TEXT_LENGTH:
            raise ProviderError(f"the text must have 1 to {MAX_TEXT_LENGTH} characters", Outcome.NOT_APPLICABLE)
        fields: dict[str, object] = {
            "chat_id": _chat_id(message.account_id),
            "text": message.text,
            "protect_content": bool(self.settings["protect_content"]),
        }
        if message.code:
            button = {"text": message.code, "copy_text": {"text": message.code}}
            fields["reply_markup"] = {"inline_keyboard": [[button]]}
        sent = as_object(self._call("sendMessage", fields))
        chat_id, message_id = as_object(sent.get("chat")).get("id"), sent.get("message_id")
        if not (is_int(chat_id) and is_int(message_id)):
            raise ProviderError("the answer lacks the message's id", Outcome.UNCLEAR)
        return base.Result.accepted(f"{chat_id}:{message_id}", is_delivered=True)

    def prompt(self, account_id: str, text: str, *, contact_button: str = "") -> None:
        markup: dict[str, object] = {"remove_keyboard": True}
        if contact_button:
            button = {"text": contact_button, "request_contact": True}
            markup = {"keyboard": [[button]], "resize_keyboard": True, "one_time_keyboard": True}
        self._call("sendMessage", {"chat_id": _chat_id(account_id), "text": text, "reply_markup": markup})

    @classmethod
    def link(cls, settings: Mapping[str, base.Value], payload: str) -> str:
        """Return the start link. Raises ``ValueError`` for a payload that Telegram would not carry."""
        username = settings.get("username")
        if not username:
            return ""
        start = f"https://t.me/{username}"
        if not payload:
            return start
        if not PAYLOAD.fullmatch(payload):
            raise ValueError(gettext("a payload must have 1 to 64 letters, digits, _ and -"))
        return f"{start}?start={payload}"

    def check(self) -> base.Health:
        found = as_object(self._call("getMe")).get("username")
        username = found if isinstance(found, str) and _USERNAME.fullmatch(found) else "?"
        if username.lower() != self.text("username").lower():
            return base.Health(False, f"The token belongs to @{username}, not to @{self.text('username')}.")
        return base.Health(True, f"The token belongs to @{username}. {self._hook_state()}")

    def verify_hook(self, request: base.HookRequest) -> None:
        """Check the secret of :meth:`set_hook`, which Telegram repeats.

        Telegram signs neither body nor time. Only the ``dedup_key`` keeps a report from acting twice.
        """
        given = request.headers.get("x-telegram-bot-api-secret-token", "")
        if not hooks.is_same(given, self._hook_secret()):
            raise HookForged("the secret token does not match")

    def parse_hook(self, request: base.HookRequest) -> base.HookReply:
        """Read one update. We answer 200 even to one that does not concern us, or Telegram would repeat it."""
        try:
            update = json.loads(request.body)
        except (ValueError, RecursionError):
            raise HookUnreadable("the update is not JSON") from None
        reply = read_update(update)
        if reply is None:
            raise HookUnreadable("the update has no update_id")
        return reply

    def set_hook(self, url: str) -> None:
        """Have Telegram send its updates to ``url``. Waiting updates are kept.

        Call it again whenever ``url`` or the token changes: the secret that Telegram repeats is made of the token.
        """
        fields: dict[str, object] = {
            "url": url,
            "secret_token": self._hook_secret(),
            "allowed_updates": ALLOWED_UPDATES,
            "drop_pending_updates": False,
        }
        self._call("setWebhook", fields, hook_url=url)

    def delete_hook(self) -> None:
        """Stop the updates by webhook, so that :meth:`poll` may fetch them. Waiting updates are kept."""
        self._call("deleteWebhook", {"drop_pending_updates": False})

    def poll(self, offset: int, timeout: int) -> tuple[list[base.HookReply], int]:
        """Fetch updates, waiting at most ``timeout`` seconds; return them with the offset for the next call.

        Start with 0. The next call's offset confirms the updates, so act on all before calling again. Telegram refuses
        this while a webhook is set.
        """
        seconds = max(0, min(timeout, MAX_POLL_SECONDS))
        try:
            updates = self._updates(offset, POLL_LIMIT, seconds)
        except NoAnswer:
            # The answer may be longer than the door reads: one user's long messages must not keep out all others.
            updates = self._updates(offset, 1, 0)
        replies = [reply for reply in map(read_update, updates) if reply is not None]
        ids = [int(reply.dedup_key) for reply in replies]
        return replies, max(ids, default=offset - 1) + 1

    def _updates(self, offset: int, limit: int, seconds: int) -> list[object]:
        fields: dict[str, object] = {
            "offset": offset,
            "limit": limit,
            "timeout": seconds,
            "allowed_updates": ALLOWED_UPDATES,
        }
        found = self._call("getUpdates", fields, timeout=Timeouts(total=DEFAULT.total + seconds))
        if not isinstance(found, list):
            raise ProviderError("Telegram's answer is invalid", Outcome.TEMPORARY)
        return found

    def _hook_state(self) -> str:
        hook = as_object(self._call("getWebhookInfo"))
        if not hook.get("url"):
            return "No webhook is set; its updates have to be polled."
        state = "Its webhook is set."
        waiting, said = hook.get("pending_update_count"), hook.get("last_error_message")
        if is_int(waiting) and waiting > 0:
            state += f" Updates that wait: {waiting}."
        if isinstance(said, str) and said:
            # Telegram keeps the error after the webhook has recovered, so we tell its time.
            state += f" Its last error{_when(hook.get('last_error_date'))}: {self._quote(said, str(hook['url']))}"
        return state

    def _call(
        self,
        method: str,
        fields: Mapping[str, object] | None = None,
        *,
        timeout: Timeouts = DEFAULT,
        hook_url: str = "",
    ) -> Any:
        """Call a Bot API method and return its ``result``. Errors never hold ``hook_url`` or the token."""
        url = f"{self.text('base_url').rstrip('/')}/bot{self.text('token')}/{method}"
        answer = self.http.request("POST", url, json=fields or {}, timeout=timeout)
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("ok"), bool):
            raise classify_status(answer)
        if found["ok"]:
            return found.get("result")
        error = _refusal(answer, found)
        description = found.get("description")
        if method != "sendMessage" and isinstance(description, str):
            # For a message Telegram could quote the text, and with it the code.
            error.args = (f"{error}: {self._quote(description, hook_url)}",)
        raise error

    def _quote(self, text: str, hook_url: str) -> str:
        """Return Telegram's words for the owner, without the secrets: the token and the webhook's path."""
        token = self.text("token")
        for secret in (token, token.partition(":")[2], self._hook_secret(), hook_url, hook_url.rpartition("/")[2]):
            text = text.replace(secret, "…") if secret else text
        return _UNPRINTABLE.sub(" ", text)[:QUOTE_LENGTH]

    def _hook_secret(self) -> str:
        """Return the webhook's secret, made of the token so that nobody configures it: 64 hexadecimal digits."""
        token = self.text("token").encode()
        return hmac.new(token, b"watchword telegram webhook", hashlib.sha256).hexdigest()


def _refusal(answer: HttpAnswer, found: Mapping[str, Any]) -> ProviderError:
    """Judge ``"ok": false`` by the error's number and, if it may mean the recipient, by its words."""
    status, number = answer.status, found.get("error_code")
    if is_int(number) and 400 <= number < 600:
        status = number
    description = str(found.get("description"))
    if status in (400, 403):
        for words, provider_status, sentence in _ABOUT_THE_RECIPIENT:
            if words in description.lower():
                return ProviderError(sentence, Outcome.REFUSED, provider_status=provider_status)
        if named := _PEER_ERROR.search(description):
            word = named.group()[:MAX_WORD_LENGTH]
            return ProviderError(f"the user is gone or unreachable ({word})", Outcome.REFUSED, provider_status=word)
    if status == 403:  # with a right token it always means the chat
        return ProviderError(
            "the bot is not allowed to message this user", Outcome.REFUSED, provider_status="forbidden"
        )
    if status == 400:
        return ProviderError("Telegram rejects the request", UNLISTED[0], provider_status="400")
    if status == 404:
        return ProviderError("Telegram does not know the token", Outcome.MISCONFIGURED, provider_status="404")
    if status == 409:
        sentence = "another program receives this bot's updates, by a webhook or by polling"
        return ProviderError(sentence, Outcome.MISCONFIGURED, provider_status="409")
    error = classify_status(HttpAnswer(status, answer.headers, b""))
    seconds = as_object(found.get("parameters")).get("retry_after")
    if error.outcome is Outcome.RATE_LIMITED and is_int(seconds) and seconds >= 0:
        error.retry_after = float(min(seconds, MAX_RETRY_AFTER_SECONDS))
    return error


def _chat_id(account_id: str) -> int:
    if not _ACCOUNT.fullmatch(account_id):
        raise ProviderError("this is not the number of a private chat", Outcome.NOT_APPLICABLE)
    return int(account_id)


def _when(moment: object) -> str:
    """Return Unix seconds as ``(2025-02-26 12:00 UTC)`` after a space; empty for nonsense."""
    if not is_int(moment) or not 0 <= moment < 2**33:
        return ""
    return f" ({datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC)"
