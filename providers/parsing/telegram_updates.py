"""The updates of a Telegram bot, read for what concerns us: who started it, shared a number, or blocked it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from providers import base

PAYLOAD = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what a start link can carry
_START = re.compile(r"/start(?:@[A-Za-z0-9_]+)?(?:\s+(.*))?", re.DOTALL)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_PHONE = re.compile(r"\+?([0-9]{5,15})")
_PHONE_SPACING = re.compile(r"[ ()-]")


def read_update(update: object) -> base.HookReply | None:
    """Read one update into the reply to it; None if it has no ``update_id``."""
    found = as_object(update)
    update_id = found.get("update_id")
    if not is_int(update_id):
        return None
    event = _read_message(as_object(found.get("message"))) or _read_membership(as_object(found.get("my_chat_member")))
    return base.HookReply((event,) if event else (), dedup_key=str(update_id))


def _read_message(message: Mapping[str, Any]) -> base.HookEvent | None:
    """Read what a person says in a private chat; nothing else concerns us."""
    sender = as_object(message.get("from"))
    account_id = _private_chat(message)
    if account_id is None or not is_int(sender.get("id")) or sender.get("is_bot") is not False:
        return None
    language = _language(sender)
    # A user who forwards a message has not pressed Start, nor shared a contact that is surely theirs.
    is_forwarded = "forward_origin" in message or "forward_date" in message
    contact = as_object(message.get("contact"))
    phone = _phone(contact.get("phone_number"))
    if phone:
        user_id = contact.get("user_id")
        is_own = is_int(user_id) and user_id == sender["id"] and account_id == str(user_id) and not is_forwarded
        return base.ContactShared(account_id, phone, is_own, language)
    text = message.get("text")
    start = _START.fullmatch(text) if isinstance(text, str) else None
    if start and not is_forwarded:
        payload = (start[1] or "").strip()
        return base.BotStarted(account_id, payload if PAYLOAD.fullmatch(payload) else "", language)
    return base.BotMessage(account_id, language)


def _read_membership(change: Mapping[str, Any]) -> base.HookEvent | None:
    """Read a change of the bot's membership. In a private chat a block ends it, and lifting the block renews it."""
    account_id = _private_chat(change)
    status = as_object(change.get("new_chat_member")).get("status")
    if account_id is None or status not in ("kicked", "member"):
        return None
    return base.BotReachability(account_id, is_active=status == "member")


def _private_chat(holder: Mapping[str, Any]) -> str | None:
    chat = as_object(holder.get("chat"))
    chat_id = chat.get("id")
    return str(chat_id) if chat.get("type") == "private" and is_int(chat_id) else None


def _phone(value: object) -> str:
    """Return the number with its leading plus, which Telegram may leave out; empty for what cannot be a number."""
    found = _PHONE.fullmatch(_PHONE_SPACING.sub("", value)) if isinstance(value, str) else None
    return f"+{found[1]}" if found else ""


def _language(sender: Mapping[str, Any]) -> str:
    code = sender.get("language_code")
    return code if isinstance(code, str) and len(code) <= 35 and _LANGUAGE.fullmatch(code) else ""


def as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def is_int(value: object) -> TypeGuard[int]:
    """Return whether the value is a JSON number. Python takes true for one; JSON does not."""
    return isinstance(value, int) and not isinstance(value, bool)
