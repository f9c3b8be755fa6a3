"""From a proved call to its messages: what the call holds is judged here, and each code goes out once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from verification.contrib.connections.calls import Call, CallUnreadable, Handed
from verification.contrib.connections.connections import ConnectionConfig
from verification.core import crypto
from verification.core.addresses import Address, AddressInvalid, AddressKind
from verification.core.client_address import ToldAddress
from verification.core.errors import ApiError, DecisionRecord
from verification.models import ChannelType
from verification.services.manual import idempotency
from verification.services.manual.handed_codes import HandedCode, send_handed_code

REPEATED = timedelta(minutes=1)  # after which the same code for the same recipient is a new wish, where no id tells
_CODE = re.compile(r"[A-Za-z0-9]{4,10}")  # the codes that systems draw; WhatsApp takes up to 15 characters
_ID = re.compile(r"[!-~]{1,100}")


def hand_over(connection: ConnectionConfig, call: Call, *, request_id: str) -> list[int]:
    """Send the codes of a proved call and return the ids of their messages. A repeated call sends nothing again.

    Raises what :func:`send_handed_code` raises, and ``validation_error`` for a call that cannot be understood.
    """
    try:
        codes = connection.system.read(connection.system.parse(call), call)
        judged = [(handed, _judge(connection, handed)) for handed in codes]
    except CallUnreadable as fault:
        raise not_understood(connection, str(fault)) from None
    return [_once(connection, handed, code, place, request_id) for place, (handed, code) in enumerate(judged)]


def not_understood(connection: ConnectionConfig, reason: str, *, rule: str = "connection") -> ApiError:
    """Return the refusal of a call. The caller is not told the reason; the owner's log is."""
    decision = DecisionRecord(connection.project.id, rule, f"{connection.name}: {reason}"[:120])
    return ApiError("validation_error" if rule == "connection" else "invalid_api_key", decision=decision)


def _judge(connection: ConnectionConfig, handed: Handed) -> HandedCode:
    """Raises :class:`CallUnreadable`."""
    project, system = connection.project, connection.system
    try:
        address = project.read_address(system.recipient(handed.to))
    except AddressInvalid:
        raise CallUnreadable("the recipient is neither a phone number nor an e-mail address") from None
    if address.kind not in system.recipients:
        raise CallUnreadable(f"the recipient is of the kind {address.kind.value}, for which it has no codes")
    if not _CODE.fullmatch(handed.code):
        raise CallUnreadable("the code does not have 4 to 10 letters and digits")
    return HandedCode(
        connection_id=connection.id,
        address=address,
        code=handed.code,
        channel_type=connection.channel or _wanted(connection, handed, address),
        language=handed.language,
        client_address=ToldAddress.read(handed.client_address) if handed.client_address else None,
    )


def _wanted(connection: ConnectionConfig, handed: Handed, address: Address) -> str | None:
    """Return the channel that the system asks for, if the project has it for this recipient."""
    is_fit = address.kind is not AddressKind.EMAIL and handed.channel != ChannelType.EMAIL
    return handed.channel if handed.channel in connection.project.channels and is_fit else None


def _once(connection: ConnectionConfig, handed: Handed, code: HandedCode, place: int, request_id: str) -> int:
    def send() -> dict[str, Any]:
        return {"message_id": send_handed_code(connection.project, code, request_id=request_id)}

    if _ID.fullmatch(handed.call):
        known_by, kept = f"{handed.call} {place}", idempotency.KEPT
    else:
        known_by, kept = crypto.body_digests(f"{code.address.text} {code.code}")[0].hex(), REPEATED
    answer = idempotency.answer_call_once(
        project_id=connection.project.id, connection_id=connection.id, call=known_by, kept=kept, execute=send
    )
    message_id: int = answer.body["message_id"]
    return message_id
