"""A message centre on loopback that does as it is told, the bad manners of real ones included.

It reads and writes with our own PDU code, which tests/providers/smpp/test_pdu.py and npm's server keep honest.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from providers.smpp.pdu import (
    RESPONSE,
    TLV_HEADER,
    Command,
    Pdu,
    ShortMessage,
    SmppAddress,
    Status,
    Tag,
    Unreadable,
    take,
)
from tests.live import free_port

BINDS = (Command.BIND_TRANSCEIVER, Command.BIND_TRANSMITTER, Command.BIND_RECEIVER)
AGAIN_SECONDS = 0.5  # until a receipt that could not be stored comes again
SYSTEM_ID, PASSWORD = "watchword", "secret08"


@dataclass(eq=False)
class Peer:
    """One connection, and what it has bound as."""

    connection: socket.socket
    kind: Command | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    sequences: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    owed: dict[int, ShortMessage] = field(default_factory=dict)  # receipts that it has not answered yet
    enquiries: int = 0
    has_unbound: bool = False

    def send(self, content: Pdu | bytes) -> None:
        with contextlib.suppress(OSError), self.lock:
            self.connection.sendall(bytes(content))


# What the centre does with a submitted message: a status to answer with, or None to answer nothing.
Behaviour = Callable[["Smsc", Peer, ShortMessage], int | None]


def answer(status: int) -> Behaviour:
    return lambda *_: status


def hang(*_: object) -> None:
    """Take it and say nothing."""


def hang_up(smsc: Smsc, peer: Peer, _: ShortMessage) -> None:
    smsc.drop(peer)


@dataclass
class Smsc:
    """Use as a context manager. Each submitted message takes the next behaviour of the script; after it ``default``.

    ``receipt`` is sent after each acceptance that asked for one: a function of its id and the message. It is kept until
    it is answered, through restarts, as a real centre does. ``answers`` are
    the statuses that receipts were answered with, ``deaf`` stops it from reading anything at all.
    """

    tls: ssl.SSLContext | None = None
    port: int = 0
    default: Behaviour = answer(Status.OK)
    receipt: Callable[[str, ShortMessage], ShortMessage] | None = None
    new_id: Callable[[int], str] = str
    bind_status: int = Status.OK
    messages: list[ShortMessage] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    peers: list[Peer] = field(default_factory=list)
    binds: list[bytes] = field(default_factory=list)

    def __enter__(self) -> Smsc:
        self._script: deque[Behaviour] = deque()
        self._counter = itertools.count(0xABC0)
        self._lock = threading.Lock()
        self._owed: list[ShortMessage] = []  # receipts that wait for a connection
        self.deaf = threading.Event()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, at the port that it had."""
        self._is_stopped = False
        self.port = self.port or free_port()  # that nobody takes while this is down
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Go down without a word."""
        self._is_stopped = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in list(self.peers):
            self.drop(peer)

    def script(self, *behaviours: Behaviour) -> None:
        self._script.extend(behaviours)

    def bound(self) -> list[Peer]:
        return [peer for peer in list(self.peers) if peer.kind is not None]

    def deliver(self, *bodies: ShortMessage | bytes, command: Command = Command.DELIVER_SM) -> None:
        """Over a connection that receives."""
        peer = next(peer for peer in self.bound() if peer.kind != Command.BIND_TRANSMITTER)
        for body in bodies:
            peer.send(Pdu(command, next(peer.sequences), bytes(body)))

    def drop(self, peer: Peer) -> None:
        with contextlib.suppress(OSError):
            # A reset: nothing that is still under way arrives.
            peer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.connection.shutdown(socket.SHUT_RDWR)
        peer.connection.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self._is_stopped:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        peer = Peer(connection)
        try:
            if self.tls:
                peer.connection = self.tls.wrap_socket(connection, server_side=True)
            self.peers.append(peer)
            buffer = bytearray()
            while chunk := peer.connection.recv(65536):
                while self.deaf.is_set():
                    time.sleep(0.01)
                buffer += chunk
                for pdu in take(buffer):
                    self._handle(peer, pdu)
        except (OSError, Unreadable):
            pass
        finally:
            peer.connection.close()
            with contextlib.suppress(ValueError):
                self.peers.remove(peer)
            with self._lock:
                owed = list(peer.owed.values())
            self._report(*owed)

    def _handle(self, peer: Peer, pdu: Pdu) -> None:
        if pdu.command in BINDS:
            self.binds.append(pdu.body)
            status = self.bind_status
            if not status and pdu.body.split(b"\0")[:2] != [SYSTEM_ID.encode(), PASSWORD.encode()]:
                status = 0x0E
            peer.send(Pdu(pdu.command | RESPONSE, pdu.sequence, b"" if status else b"smsc\0", status))
            if not status:
                peer.kind = Command(pdu.command)
                with self._lock:
                    owed, self._owed = self._owed, []
                self._report(*owed)
        elif pdu.command == Command.SUBMIT_SM:
            self._submit(peer, pdu)
        elif pdu.command == Command.ENQUIRE_LINK:
            peer.enquiries += 1
            peer.send(Pdu(pdu.command | RESPONSE, pdu.sequence))
        elif pdu.command == Command.UNBIND:
            peer.has_unbound = True
            peer.send(Pdu(pdu.command | RESPONSE, pdu.sequence))
        elif pdu.command in (Command.DELIVER_SM_RESP, Command.DATA_SM | RESPONSE):
            self.answers.append(pdu.status)
            receipt = peer.owed.pop(pdu.sequence, None)
            if receipt and pdu.status == Status.RECEIVER_TEMPORARY:
                threading.Timer(AGAIN_SECONDS, self._report, [receipt]).start()

    def _submit(self, peer: Peer, pdu: Pdu) -> None:
        message = ShortMessage.read(pdu.body)
        with self._lock:
            behaviour = self._script.popleft() if self._script else self.default
            identity = self.new_id(next(self._counter))
        status = behaviour(self, peer, message)
        if status is None:
            return
        if status == Status.OK:
            self.messages.append(message)
            self.ids.append(identity)
        peer.send(Pdu(Command.SUBMIT_SM_RESP, pdu.sequence, b"" if status else identity.encode() + b"\0", status))
        if not status and message.registered_delivery and self.receipt:
            self._report(self.receipt(identity, message))

    def _report(self, *receipts: ShortMessage) -> None:
        for receipt in receipts:
            with self._lock:
                peer = next((peer for peer in self.bound() if peer.kind != Command.BIND_TRANSMITTER), None)
                if peer is None:
                    self._owed.append(receipt)
                    continue
                sequence = next(peer.sequences)
                peer.owed[sequence] = receipt
            peer.send(Pdu(Command.DELIVER_SM, sequence, bytes(receipt)))


def receipt_text(identity: str, stat: str = "DELIVRD", err: str = "000") -> bytes:
    return (
        f"id:{identity} sub:001 dlvrd:001 submit date:2611211200 done date:2611211201 stat:{stat} err:{err}"
        " text:id:1 stat:REJECTD"
    ).encode()


def by_text(identity: str, message: ShortMessage, **fields: str) -> ShortMessage:
    return ShortMessage(message.destination, message.source, receipt_text(identity, **fields), esm_class=0x04)


def by_tlvs(identity: str, message: ShortMessage, state: int = 2) -> ShortMessage:
    tlvs = {Tag.RECEIPTED_MESSAGE_ID: identity.encode() + b"\0", Tag.MESSAGE_STATE: bytes((state,))}
    return ShortMessage(message.destination, message.source, esm_class=0x04, tlvs=tlvs)


def by_data(identity: str, message: ShortMessage, stat: str = "DELIVRD") -> bytes:
    """The same text as the body of ``data_sm``, of no class."""
    content = receipt_text(identity, stat)
    head = b"\0" + bytes(message.destination) + bytes(message.source) + bytes(3)
    return head + TLV_HEADER.pack(Tag.MESSAGE_PAYLOAD, len(content)) + content


NOBODY = ShortMessage(SmppAddress("Shop"), SmppAddress("4915112345678", 1, 1))


def text_of(messages: list[ShortMessage]) -> str:
    """The text that a phone shows: parts put together by their headers or SAR fields, in whichever order they came."""
    parts = {}
    for message in messages:
        content, number = message.content or message.tlvs.get(Tag.MESSAGE_PAYLOAD, b""), 1
        if message.esm_class & 0x40:
            assert content[:3] == b"\x05\x00\x03" and content[4] == len(messages)
            number, content = content[5], content[6:]
        elif Tag.SAR_NUMBER in message.tlvs:
            assert message.tlvs[Tag.SAR_TOTAL] == bytes((len(messages),))
            number = message.tlvs[Tag.SAR_NUMBER][0]
        parts[number] = content
    assert sorted(parts) == list(range(1, len(messages) + 1))
    whole = b"".join(parts[number] for number in sorted(parts))
    if messages[0].data_coding == 8:
        return whole.decode("utf-16-be")
    return whole.decode("latin-1")  # good enough for septets of letters and digits
