"""The meaning of a message centre's statuses and receipts in our words.

The table of refusals says whose fault each is. Of the statuses of SMPP 3.4 only an invalid destination (0x0B) is the
recipient's fault. Centres answer 0x45, and those of their own, for single recipients too, so these are nobody's fault,
as is any other that the table lacks. None has a recipient when we bind.
"""

from __future__ import annotations

import re

from providers.base import Consent, Outcome, Receipt, ReceiptStatus
from providers.errors import UNLISTED, ProviderError
from providers.parsing.keywords import read_consent
from providers.smpp.pdu import Pdu, ShortMessage, Tag, printable

IS_KIND, IS_RECEIPT = 0x3C, 0x04  # of esm_class
HAS_HEADER = 0x40  # of esm_class: the content begins with a user data header
UCS2 = 8  # of data_coding

_REFUSALS = {
    0x01: (Outcome.NOT_APPLICABLE, "the text is too long for it"),
    0x04: (Outcome.TEMPORARY, "the bind does not allow sending"),
    0x05: (Outcome.MISCONFIGURED, "the account already has the maximum number of binds"),
    0x08: (Outcome.TEMPORARY, "system error"),
    0x0A: (Outcome.MISCONFIGURED, "the sender is not allowed"),
    0x0B: (Outcome.REFUSED, "the number is not valid"),
    0x0D: (Outcome.MISCONFIGURED, "the bind failed"),
    0x0E: (Outcome.MISCONFIGURED, "the password is wrong"),
    0x0F: (Outcome.MISCONFIGURED, "the system id is not known"),
    0x14: (Outcome.RATE_LIMITED, "its queue is full"),
    0x15: (Outcome.MISCONFIGURED, "the service type is not valid"),
    0x43: (Outcome.MISCONFIGURED, "it does not accept our user data header or esm_class"),
    0x45: (Outcome.DECLINED, "submitting failed"),
    0x48: (Outcome.MISCONFIGURED, "the sender's type of number is not valid"),
    0x49: (Outcome.MISCONFIGURED, "the sender's numbering plan is not valid"),
    0x50: (Outcome.MISCONFIGURED, "the recipient's type of number is not valid"),
    0x51: (Outcome.MISCONFIGURED, "the recipient's numbering plan is not valid"),
    0x53: (Outcome.MISCONFIGURED, "the system type is not valid"),
    0x58: (Outcome.RATE_LIMITED, "too many messages at once"),
    0x62: (Outcome.MISCONFIGURED, "it does not accept this kind of validity"),
}

# The words of the text form, by the number in the TLV message_state.
_STATES = {
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
    9: "SKIPPED",  # of SMPP 5.0
}
# Some centres write the words of the text in full.
_IN_FULL = {
    "DELIVERED": "DELIVRD",
    "UNDELIVERED": "UNDELIV",
    "UNDELIVERABLE": "UNDELIV",
    "ACCEPTED": "ACCEPTD",
    "REJECTED": "REJECTD",
}
_STATUSES = {
    "ENROUTE": ReceiptStatus.SENT,
    "ACCEPTD": ReceiptStatus.SENT,
    "DELIVRD": ReceiptStatus.SUCCESS,
    "EXPIRED": ReceiptStatus.EXPIRED,
    "DELETED": ReceiptStatus.FAILED,
    "UNDELIV": ReceiptStatus.FAILED,
    "REJECTD": ReceiptStatus.FAILED,
    "SKIPPED": ReceiptStatus.FAILED,
}
_ERRORS = {
    ReceiptStatus.FAILED: "The operator could not deliver it ({}).",
    ReceiptStatus.EXPIRED: "The operator could not deliver it in time ({}).",
}
_BREAKS = bytes.maketrans(b"\t\r\n", b"   ")  # between the fields of some centres
_FIELD = re.compile(r"\b(id|stat|err):\s?(\S+)", re.IGNORECASE)


def refusal(what: str, status: int, *, unlisted: Outcome = UNLISTED[0]) -> ProviderError:
    outcome, reason = _REFUSALS.get(status, (unlisted, UNLISTED[1]))
    code = f"0x{status:02X}"
    return ProviderError(f"the message centre {what}: {reason} ({code})", outcome, provider_status=code)


def read_delivered(delivered: Pdu, *, ids: str) -> Receipt | Consent | None:
    """Read a receipt, or the keyword that a user wrote; None for anything else.

    Raises :class:`providers.smpp.pdu.Unreadable`.
    """
    message = ShortMessage.read(delivered.body)
    identity = printable(message.tlvs.get(Tag.RECEIPTED_MESSAGE_ID, b"").rstrip(b"\0"))
    kind = message.esm_class & IS_KIND
    if kind == IS_RECEIPT or identity:
        return _read_receipt(message, identity, ids)
    is_text = kind == 0 and message.source.ton in (0, 1)  # unknown, or international
    return read_consent(message.source.number, _text_of(message)) if is_text else None


def _read_receipt(message: ShortMessage, identity: str, ids: str) -> Receipt | None:
    """Read a receipt from its TLVs first, then from its text, which has no binding form. None if it says nothing."""
    content = message.content or message.tlvs.get(Tag.MESSAGE_PAYLOAD, b"")
    text = printable(content.translate(_BREAKS))
    fields = {name.lower(): value for name, value in reversed(_FIELD.findall(text))}  # the first of a name counts
    state = _STATES.get(int.from_bytes(message.tlvs.get(Tag.MESSAGE_STATE, b""), "big"))
    word = fields.get("stat", "").upper()
    state = state or _IN_FULL.get(word, word[:7])
    identity = comparable(identity or fields.get("id", ""), ids, is_given=False)
    status = _STATUSES.get(state)
    if status is None or not identity:
        return None
    return Receipt(
        status,
        identity,
        error=_ERRORS[status].format(state) if status in _ERRORS else "",
        provider_status=f"{state} {fields.get('err', '')[:8]}".strip(),
    )


def _text_of(message: ShortMessage) -> str:
    """Return what a user wrote, as far as a keyword needs it. A part of a longer text is never a keyword."""
    if message.esm_class & HAS_HEADER:
        return ""
    content = message.content or message.tlvs.get(Tag.MESSAGE_PAYLOAD, b"")
    if message.data_coding == UCS2:
        return content.decode("utf-16-be", "replace")
    return content.decode("latin-1")  # its ASCII letters are those of GSM 7-bit too


def comparable(identity: str, ids: str, *, is_given: bool) -> str:
    """Return a message's id in one form, so that the ids of an acceptance and of its receipt can be compared.

    ``is_given`` says that the id comes from the acceptance. ``ids`` says how the centre writes the two: "same",
    "loose", "hex_then_decimal" or "decimal_then_hex".
    """
    if ids == "loose":
        return identity.lower().lstrip("0") or identity[:1]
    if ids == "same":
        return identity
    try:
        return str(int(identity, 16 if is_given == (ids == "hex_then_decimal") else 10))
    except ValueError:
        return identity
