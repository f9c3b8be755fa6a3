"""The PDUs of SMPP 3.4 that a sender of messages needs, to octets and back."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

HEADER = struct.Struct(">IIII")
TLV_HEADER = struct.Struct(">HH")
MAX_LENGTH = 64 * 1024 + 1024  # octets of a PDU: the longest message_payload and the fields around it
MAX_SEQUENCE = 0x7FFFFFFF
INTERFACE_VERSION = 0x34
RESPONSE = 0x80000000


class Command(IntEnum):
    BIND_RECEIVER = 0x01
    BIND_TRANSMITTER = 0x02
    SUBMIT_SM = 0x04
    DELIVER_SM = 0x05
    UNBIND = 0x06
    BIND_TRANSCEIVER = 0x09
    ENQUIRE_LINK = 0x15
    DATA_SM = 0x103
    GENERIC_NACK = 0x80000000
    SUBMIT_SM_RESP = 0x80000004
    DELIVER_SM_RESP = 0x80000005
    UNBIND_RESP = 0x80000006


class Status(IntEnum):
    """The ``command_status`` values that we treat by name."""

    OK = 0x00
    INVALID_COMMAND = 0x03
    QUEUE_FULL = 0x14
    THROTTLED = 0x58
    RECEIVER_TEMPORARY = 0x64  # our answer: deliver it again later
    RECEIVER_PERMANENT = 0x65  # our answer: never deliver it again


class Tag(IntEnum):
    RECEIPTED_MESSAGE_ID = 0x001E
    SAR_REFERENCE = 0x020C
    SAR_TOTAL = 0x020E
    SAR_NUMBER = 0x020F
    NETWORK_ERROR_CODE = 0x0423
    MESSAGE_PAYLOAD = 0x0424
    MESSAGE_STATE = 0x0427
    DLT_ENTITY_ID = 0x1400  # India's operators ask for it
    DLT_TEMPLATE_ID = 0x1401


class Unreadable(ValueError):
    """Octets are no PDU, or not the PDU that they claim to be."""


@dataclass(frozen=True, slots=True)
class Pdu:
    command: int
    sequence: int
    body: bytes = field(default=b"", repr=False)
    status: int = Status.OK

    def __bytes__(self) -> bytes:
        return HEADER.pack(HEADER.size + len(self.body), self.command, self.status, self.sequence) + self.body


def take(buffer: bytearray) -> list[Pdu]:
    """Remove the whole PDUs from the front of ``buffer``, and return them.

    Raises :class:`Unreadable` for an impossible length: behind it no next PDU can be found.
    """
    found = []
    while len(buffer) >= HEADER.size:
        length, command, status, sequence = HEADER.unpack_from(buffer)
        if not HEADER.size <= length <= MAX_LENGTH:
            raise Unreadable(f"a PDU of {length} octets")
        if len(buffer) < length:
            break
        found.append(Pdu(command, sequence, bytes(buffer[HEADER.size : length]), status))
        del buffer[:length]
    return found


def text(value: str) -> bytes:
    """Return a C-Octet String."""
    return value.encode("ascii") + b"\0"


def bind(system_id: str, password: str, system_type: str) -> bytes:
    """Return the body of a bind, for any address range."""
    return text(system_id) + text(password) + text(system_type) + bytes((INTERFACE_VERSION, 0, 0)) + text("")


def message_id(body: bytes) -> str:
    """Return the id in a ``submit_sm_resp``, without unprintable characters; empty if the centre gave none."""
    return printable(body.partition(b"\0")[0])


def printable(octets: bytes) -> str:
    return "".join(chr(octet) for octet in octets if 0x20 <= octet < 0x7F)


@dataclass(frozen=True, slots=True)
class SmppAddress:
    """An address: a number of at most 20 characters, its kind (``ton``) and its numbering plan (``npi``)."""

    number: str
    ton: int = 0
    npi: int = 0

    def __bytes__(self) -> bytes:
        return bytes((self.ton, self.npi)) + text(self.number)


@dataclass(frozen=True, slots=True)
class ShortMessage:
    """The body of ``submit_sm`` and ``deliver_sm``, which are laid out alike, or what ``data_sm`` has of it."""

    source: SmppAddress
    destination: SmppAddress
    content: bytes = field(default=b"", repr=False)
    data_coding: int = 0
    esm_class: int = 0
    registered_delivery: int = 0
    service_type: str = ""
    validity_period: str = ""
    tlvs: Mapping[int, bytes] = field(default_factory=dict, repr=False)

    def __bytes__(self) -> bytes:
        return b"".join(
            (
                text(self.service_type),
                bytes(self.source),
                bytes(self.destination),
                bytes((self.esm_class, 0, 0)),  # with protocol_id and priority_flag
                text(""),  # schedule_delivery_time: at once
                text(self.validity_period),
                # replace_if_present_flag and sm_default_msg_id around the coding
                bytes((self.registered_delivery, 0, self.data_coding, 0, len(self.content))),
                self.content,
                *(TLV_HEADER.pack(tag, len(value)) + value for tag, value in self.tlvs.items()),
            )
        )

    @classmethod
    def read(cls, body: bytes) -> ShortMessage:
        """Read a body. Raises :class:`Unreadable`."""
        reader = _PduReader(body)
        service_type = reader.text()
        source, destination = reader.address(), reader.address()
        esm_class, _, _ = reader.octets(3)
        reader.text()
        validity_period = reader.text()
        registered_delivery, _, data_coding, _, length = reader.octets(5)
        content = reader.octets(length)
        return cls(
            source,
            destination,
            content,
            data_coding,
            esm_class,
            registered_delivery,
            service_type,
            validity_period,
            reader.tlvs(),
        )

    @classmethod
    def read_data(cls, body: bytes) -> ShortMessage:
        """Read the body of ``data_sm``, whose text is a TLV. Raises :class:`Unreadable`."""
        reader = _PduReader(body)
        service_type = reader.text()
        source, destination = reader.address(), reader.address()
        esm_class, registered_delivery, data_coding = reader.octets(3)
        return cls(
            source,
            destination,
            b"",
            data_coding,
            esm_class,
            registered_delivery,
            service_type,
            tlvs=reader.tlvs(),
        )


class _PduReader:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def octets(self, count: int) -> bytes:
        found = self._body[self._at : self._at + count]
        if len(found) < count:
            raise Unreadable("a PDU that ends too early")
        self._at += count
        return found

    def text(self) -> str:
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise Unreadable("a PDU with a text that does not end")
        found = self._body[self._at : end]
        self._at = end + 1
        return printable(found)

    def address(self) -> SmppAddress:
        ton, npi = self.octets(2)
        return SmppAddress(self.text(), ton, npi)

    def tlvs(self) -> dict[int, bytes]:
        found = {}
        while self._at < len(self._body):
            tag, length = TLV_HEADER.unpack(self.octets(TLV_HEADER.size))
            found[tag] = self.octets(length)
        return found
