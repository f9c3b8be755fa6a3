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
from providers.smpp.pdu import Command, Pdu, ShortMessage, Tag, printable

IS_KIND, IS_RECEIPT, IS_INTERMEDIATE = 0x3C, 0x04, 0x20  # of esm_class
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

# The words of the text form, by the number in the TLV message_state. 0 and 9 are of SMPP 5.0.
_STATES = {
    0: "SCHEDLD",
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
    9: "SKIPPED",
}
# The standard has seven letters. Centres write the words in full too, or use others.
_STATUSES = {
    "SCHEDULED": ReceiptStatus.SENT,
    "SCHEDLD": ReceiptStatus.SENT,
    "ENROUTE": ReceiptStatus.SENT,
    "ACCEPTD": ReceiptStatus.SENT,
    "ACCEPTED": ReceiptStatus.SENT,
    "BUFFERED": ReceiptStatus.SENT,
    "BUFFRED": ReceiptStatus.SENT,
    "PENDING": ReceiptStatus.SENT,
    "QUEUED": ReceiptStatus.SENT,
    "SENT": ReceiptStatus.SENT,
    "SUBMITTED": ReceiptStatus.SENT,
    "DELIVRD": ReceiptStatus.SUCCESS,
    "DELIVERED": ReceiptStatus.SUCCESS,
    "EXPIRED": ReceiptStatus.EXPIRED,
    "DELETED": ReceiptStatus.FAILED,
    "UNDELIV": ReceiptStatus.FAILED,
    "UNDELIVERED": ReceiptStatus.FAILED,
    "UNDELIVERABLE": ReceiptStatus.FAILED,
    "REJECTD": ReceiptStatus.FAILED,
    "REJECTED": ReceiptStatus.FAILED,
    "SKIPPED": ReceiptStatus.FAILED,
    "FAILED": ReceiptStatus.FAILED,
    "FAILURE": ReceiptStatus.FAILED,
    "BLOCKED": ReceiptStatus.FAILED,
    "BARRED": ReceiptStatus.FAILED,
    "FILTERED": ReceiptStatus.FAILED,
    "CANCELLED": ReceiptStatus.FAILED,
    "CANCELED": ReceiptStatus.FAILED,
    "ERROR": ReceiptStatus.FAILED,
    "INVALID": ReceiptStatus.FAILED,
    "SPAM": ReceiptStatus.FAILED,
}
_ERRORS = {
    ReceiptStatus.FAILED: "The operator could not deliver it ({}).",
    ReceiptStatus.EXPIRED: "The operator could not deliver it in time ({}).",
}
_BREAKS = bytes.maketrans(b"\t\r\n", b"   ")  # between the fields of some centres
_FIELD = re.compile(r"\b(id|stat|err):\s*(\S+)", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+")
_RECEIPT = re.compile(r"\s*id:.*\bstat:", re.IGNORECASE)  # the beginning that a text without a class must have
MIN_PHONE_DIGITS = 7  # of an address that may be a user's number; others are names, short numbers or nothing


def refusal(what: str, status: int, *, unlisted: Outcome = UNLISTED[0]) -> ProviderError:
    outcome, reason = _REFUSALS.get(status, (unlisted, UNLISTED[1]))
    code = f"0x{status:02X}"
    return ProviderError(f"the message centre {what}: {reason} ({code})", outcome, provider_status=code)


def read_delivered(delivered: Pdu, *, ids: str) -> Receipt | Consent | None:
    """Read a receipt, or the keyword that a user wrote; None for anything else.

    Centres report over ``deliver_sm`` or ``data_sm``, with any class, in TLVs or by a text, which has no binding form.
    Raises :class:`providers.smpp.pdu.Unreadable`.
    """
    read = ShortMessage.read_data if delivered.command == Command.DATA_SM else ShortMessage.read
    message = read(delivered.body)
    kind = message.esm_class & IS_KIND
    has_tlvs = Tag.RECEIPTED_MESSAGE_ID in message.tlvs or Tag.MESSAGE_STATE in message.tlvs
    text = printable(_content(message).translate(_BREAKS))
    if kind or has_tlvs or _RECEIPT.match(text):
        return _read_receipt(message, text, ids, is_marked=bool(kind) or has_tlvs)
    is_text = message.source.ton in (0, 1)  # unknown, or international
    return read_consent(message.source.number, _text_of(message)) if is_text else None


def _read_receipt(message: ShortMessage, text: str, ids: str, *, is_marked: bool) -> Receipt | None:
    """Read a receipt from its TLVs first, then from its text. None if it says nothing.

    A text that nothing marks as a receipt may be a user's. So it counts only for a message to the number that sent it.
    """
    fields = {name.lower(): value for name, value in reversed(_FIELD.findall(text))}  # the first of a name counts
    state = _STATES.get(int.from_bytes(message.tlvs.get(Tag.MESSAGE_STATE, b"\xff"), "big"), "")
    if state not in _STATUSES:
        found = _WORD.match(fields.get("stat", "").upper())
        word = found.group() if found else ""
        state = word if word in _STATUSES else word[:7]
    status = _STATUSES.get(state)
    tlv = printable(message.tlvs.get(Tag.RECEIPTED_MESSAGE_ID, b"").rstrip(b"\0"))
    identities = readings(tlv, fields.get("id", ""), ids)
    if status is None or not identities:
        return None
    if message.esm_class & IS_KIND == IS_INTERMEDIATE and status is not ReceiptStatus.SUCCESS:
        status = ReceiptStatus.SENT  # the centre goes on trying
    phone = message.source.number.removeprefix("+")
    phone = phone if phone.isdecimal() and len(phone) >= MIN_PHONE_DIGITS else ""
    return Receipt(
        status,
        identities[0],
        error=_ERRORS[status].format(state) if status in _ERRORS else "",
        provider_status=f"{state} {fields.get('err', '')[:8]}".strip(),
        other_ids=identities[1:],
        phone=phone,
        is_for_phone=bool(phone) and not is_marked,
    )


def _content(message: ShortMessage) -> bytes:
    """Return the text's octets, without a user data header."""
    content = message.content or message.tlvs.get(Tag.MESSAGE_PAYLOAD, b"")
    return content[1 + content[0] :] if message.esm_class & HAS_HEADER and content else content


def _text_of(message: ShortMessage) -> str:
    """Return what a user wrote, as far as a keyword needs it. A part of a longer text is never a keyword."""
    if message.esm_class & HAS_HEADER:
        return ""
    content = _content(message)
    if message.data_coding == UCS2:
        return content.decode("utf-16-be", "replace")
    return content.decode("latin-1")  # its ASCII letters are those of GSM 7-bit too


def comparable(identity: str, ids: str, *, is_given: bool) -> str:
    """Return a message's id in one form, so that the ids of an acceptance and of its receipt can be compared.

    ``is_given`` says that the id is written as in an acceptance. ``ids`` says how the centre writes the two: "same",
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


def readings(tlv: str, text: str, ids: str) -> tuple[str, ...]:
    """Return all that a receipt's two ids may mean, the likelier first.

    By the standard the TLV has the id of the acceptance, and the text may have another form of it; where both are the
    same, nothing tells which form that is. Some centres use both forms in both places.
    """
    tlv_order = (False, True) if tlv == text else (True, False)
    found = [comparable(tlv, ids, is_given=is_given) for is_given in tlv_order]
    found += [comparable(text, ids, is_given=is_given) for is_given in (False, True)]
    if ids in ("same", "loose"):
        found += [converted for identity in (tlv, text) for converted in _converted(identity)]
    return tuple(dict.fromkeys(filter(None, found)))


def _converted(identity: str) -> tuple[str, ...]:
    """Return the id's other notation, hexadecimal or decimal, where a letter tells them apart."""
    if re.fullmatch(r"[0-9]{1,20}", identity):
        other = f"{int(identity):x}"
        return () if other.isdecimal() else (other, other.upper())
    return (str(int(identity, 16)),) if re.fullmatch(r"[0-9A-Fa-f]{1,16}", identity) else ()
