"""What a message centre's statuses and receipts mean in our words.

Whose fault a refusal is stands in the table: of the statuses of SMPP 3.4 only an invalid destination (0x0B) is the
recipient's. One that the table lacks is the centre's.
"""

from __future__ import annotations

import re

from providers.base import Outcome, Receipt, ReceiptStatus
from providers.errors import ProviderError
from providers.smpp.pdu import Pdu, ShortMessage, Tag, printable

IS_KIND, IS_RECEIPT = 0x3C, 0x04  # of esm_class

_REFUSALS = {
    0x01: (Outcome.NOT_APPLICABLE, "the text is too long for it"),
    0x04: (Outcome.TEMPORARY, "the bind is not one to send over"),
    0x05: (Outcome.MISCONFIGURED, "the account is bound already, as often as it may"),
    0x08: (Outcome.TEMPORARY, "system error"),
    0x0A: (Outcome.MISCONFIGURED, "the sender is not allowed"),
    0x0B: (Outcome.REFUSED, "the number is not valid"),
    0x0D: (Outcome.MISCONFIGURED, "the bind failed"),
    0x0E: (Outcome.MISCONFIGURED, "the password is wrong"),
    0x0F: (Outcome.MISCONFIGURED, "the system id is not known"),
    0x14: (Outcome.RATE_LIMITED, "its queue is full"),
    0x15: (Outcome.MISCONFIGURED, "the service type is not valid"),
    0x43: (Outcome.MISCONFIGURED, "it takes no user data header or no esm_class of ours"),
    0x45: (Outcome.TEMPORARY, "submitting failed"),
    0x48: (Outcome.MISCONFIGURED, "the sender's type of number is not valid"),
    0x49: (Outcome.MISCONFIGURED, "the sender's numbering plan is not valid"),
    0x50: (Outcome.MISCONFIGURED, "the recipient's type of number is not valid"),
    0x51: (Outcome.MISCONFIGURED, "the recipient's numbering plan is not valid"),
    0x53: (Outcome.MISCONFIGURED, "the system type is not valid"),
    0x58: (Outcome.RATE_LIMITED, "too many messages at a time"),
    0x62: (Outcome.MISCONFIGURED, "it takes no validity of this kind"),
}

# By the TLV message_state, and by the word of the text form.
_STATES = {
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
}
_STATUSES = {
    "ENROUTE": ReceiptStatus.SENT,
    "ACCEPTD": ReceiptStatus.SENT,
    "DELIVRD": ReceiptStatus.SUCCESS,
    "EXPIRED": ReceiptStatus.EXPIRED,
    "DELETED": ReceiptStatus.FAILED,
    "UNDELIV": ReceiptStatus.FAILED,
    "REJECTD": ReceiptStatus.FAILED,
}
_FIELD = re.compile(r"\b(id|stat|err):\s?(\S+)", re.IGNORECASE)


def refusal(what: str, status: int) -> ProviderError:
    outcome, reason = _REFUSALS.get(status, (Outcome.TEMPORARY, "for a reason of its own"))
    code = f"0x{status:02X}"
    return ProviderError(f"the message centre {what}: {reason} ({code})", outcome, provider_status=code)


def read_receipt(delivered: Pdu, *, ids: str) -> Receipt | None:
    """Read the fields of their own before the text, which has no binding form. None for what is no receipt or says
    nothing. Raises :class:`providers.smpp.pdu.Unreadable`."""
    message = ShortMessage.read(delivered.body)
    identity = printable(message.tlvs.get(Tag.RECEIPTED_MESSAGE_ID, b"").rstrip(b"\0"))
    if message.esm_class & IS_KIND != IS_RECEIPT and not identity:
        return None
    content = printable(message.content or message.tlvs.get(Tag.MESSAGE_PAYLOAD, b""))
    fields = {name.lower(): value for name, value in reversed(_FIELD.findall(content))}  # the first of a name counts
    state = _STATES.get(int.from_bytes(message.tlvs.get(Tag.MESSAGE_STATE, b""), "big"))
    state = state or fields.get("stat", "").upper()[:7]
    identity = comparable(identity or fields.get("id", ""), ids, is_given=False)
    status = _STATUSES.get(state)
    if status is None or not identity:
        return None
    error = f"The operator could not deliver it ({state})." if status is ReceiptStatus.FAILED else ""
    return Receipt(status, identity, error=error, provider_status=f"{state} {fields.get('err', '')[:8]}".strip())


def comparable(identity: str, ids: str, *, is_given: bool) -> str:
    """A message's id in the one form in which that of the acceptance (``is_given``) and that of a receipt are alike.

    ``ids`` says how the centre writes the two: "same", "loose", "hex_then_decimal" or "decimal_then_hex".
    """
    if ids == "loose":
        return identity.lower().lstrip("0") or identity[:1]
    if ids == "same":
        return identity
    try:
        return str(int(identity, 16 if is_given == (ids == "hex_then_decimal") else 10))
    except ValueError:
        return identity
