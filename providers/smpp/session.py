"""One session with a message centre: its socket, the callers that wait for answers, and the watch over the line."""

from __future__ import annotations

import itertools
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from providers.base import Outcome
from providers.errors import NoAnswer, NotConnected, ProviderError
from providers.http import ssrf, tls
from providers.http.deadline import Deadline
from providers.smpp.pdu import MAX_SEQUENCE, RESPONSE, Command, Pdu, Status, Unreadable, take

# The time to connect. The TLS handshake has as much again.
CONNECT_SECONDS = 3.0
# The time for an answer: the longest that a call to any provider may take.
ANSWER_SECONDS = 8.0
# The time for which a centre may read nothing before it counts as gone.
WRITE_SECONDS = 5.0
# The time between two looks at the clock while the line is silent.
READ_SECONDS = 1.0
# The time for the answer to our unbind.
UNBIND_SECONDS = 2.0
# The most that one read takes from the socket.
READ_OCTETS = 64 * 1024

_BINDS = (Command.BIND_TRANSCEIVER, Command.BIND_TRANSMITTER, Command.BIND_RECEIVER)


def dial(host: str, port: int, *, is_tls: bool, allowed_networks: Sequence[str]) -> socket.socket:
    """Connect through the guard. A plain connection leads to allowed networks only.

    Raises :class:`providers.errors.ProviderError`.
    """
    deadline = Deadline(2 * CONNECT_SECONDS)
    connected = ssrf.connect(host, port, CONNECT_SECONDS, allowed_networks, only_allowed=not is_tls)
    if not is_tls:
        return connected
    try:
        connected.settimeout(deadline.left())
        return tls.context().wrap_socket(connected, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        connected.close()
        text = f"the message centre's certificate is not trusted ({error.verify_message})"
        raise ProviderError(text, Outcome.MISCONFIGURED) from None
    except OSError:
        connected.close()
        raise NotConnected("no TLS with the message centre; does this port speak plain SMPP?") from None


class SmppSession:
    """A session. One thread owns it: the thread binds, then reads with :meth:`serve`. Any thread may :meth:`request`.

    ``on_message`` gets what the centre delivers, and must not block. :meth:`answer` answers it.
    """

    answer_seconds = ANSWER_SECONDS

    def __init__(
        self, connected: socket.socket, on_message: Callable[[SmppSession, Pdu], None], *, enquire_seconds: float
    ) -> None:
        connected.settimeout(WRITE_SECONDS)
        self._socket = connected
        self._on_message = on_message
        self._enquire_seconds = enquire_seconds
        self._selector = selectors.DefaultSelector()
        self._selector.register(connected, selectors.EVENT_READ)
        self._buffer = bytearray()
        self._heard_at = time.monotonic()
        self._has_enquired = False
        self._sequences = itertools.count()
        self._waiting: dict[int, Future[Pdu]] = {}
        self._io = threading.Lock()  # a TLS connection may not be read and written at the same moment
        self._state = threading.Lock()
        self.is_over = False
        self.ending = ""  # why the session is over, for the log
        self.in_flight = 0  # messages without an answer; `BindPool` counts them

    def bind(self, command: Command, body: bytes) -> None:
        """Bind to the centre. Raises :class:`providers.errors.ProviderError` and :class:`Refused`."""
        if command not in _BINDS:
            raise ValueError(f"{command.name} is not a bind")
        answer = self._call(command, body, seconds=self.answer_seconds)
        if answer.status:
            raise Refused(answer.status)

    def request(self, command: Command, body: bytes = b"") -> Pdu:
        """Send a PDU and wait for its answer, which :meth:`serve` reads.

        Raises :class:`providers.errors.NotConnected` if it never left, else :class:`providers.errors.NoAnswer`.
        """
        deadline = Deadline(self.answer_seconds)
        try:
            deadline.left()
        except TimeoutError:
            raise NotConnected("there was no time left to ask the message centre") from None
        sequence, future = self._send(command, body)
        try:
            return future.result(deadline.left())
        except TimeoutError:
            raise NoAnswer("the message centre did not answer in time") from None
        finally:
            self._waiting.pop(sequence, None)

    def answer(self, pdu: Pdu, status: int = Status.OK) -> None:
        """Answer what the centre delivered. If the line is lost, the centre delivers it again."""
        with suppress(NotConnected):
            self._write(Pdu(pdu.command | RESPONSE, pdu.sequence, b"\0", status))

    def serve(self) -> None:
        """Read until the session is over. Nothing that the centre does raises an error."""
        while not self.is_over:
            self._read()

    def unbind(self) -> None:
        """Send an unbind, whose answer ends the session. The thread that serves must not call this."""
        with suppress(NotConnected):
            self._send(Command.UNBIND)

    def hang_up(self) -> None:
        """Unbind and wait for the answer. Only the thread that reads may call this."""
        with suppress(ProviderError):
            self._call(Command.UNBIND, seconds=UNBIND_SECONDS)
        self.end("no answer to our unbind")

    def end(self, reason: str) -> None:
        """Close the line, once. Callers that still wait get :class:`providers.errors.NoAnswer`."""
        with self._state:
            if self.is_over:
                return
            self.is_over, self.ending = True, reason
            waiting = list(self._waiting.values())
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._selector.close()
        for future in waiting:
            with suppress(InvalidStateError):
                future.set_exception(NoAnswer("the connection to the message centre was lost before it answered"))

    def _call(self, command: Command, body: bytes = b"", *, seconds: float) -> Pdu:
        """Send a PDU and read until its answer comes. Only the thread that reads may call this."""
        deadline = time.monotonic() + seconds
        sequence, future = self._send(command, body)
        while not future.done():
            if time.monotonic() > deadline:
                self._waiting.pop(sequence, None)
                raise NotConnected("the message centre did not answer in time")
            self._read()
        try:
            return future.result()
        except NoAnswer as error:
            raise NotConnected(str(error)) from None

    def _send(self, command: Command, body: bytes = b"") -> tuple[int, Future[Pdu]]:
        future: Future[Pdu] = Future()
        with self._state:
            if self.is_over:
                raise NotConnected("the connection to the message centre is lost")
            sequence = next(self._sequences) % MAX_SEQUENCE + 1
            self._waiting[sequence] = future
        try:
            self._write(Pdu(command, sequence, body))
        except NotConnected:
            self._waiting.pop(sequence, None)
            raise
        return sequence, future

    def _write(self, pdu: Pdu) -> None:
        """Write a PDU. Raises :class:`providers.errors.NotConnected`: a centre ignores a PDU that was cut short."""
        try:
            with self._io:
                self._socket.sendall(bytes(pdu))
        except OSError:
            self.end("the message centre accepts nothing any more")
            raise NotConnected("the connection to the message centre is lost") from None

    def _read(self) -> None:
        """Wait a moment for octets, and act on the PDUs that they complete."""
        try:
            chunk = self._receive()
            if chunk:
                self._buffer += chunk
                self._heard_at = time.monotonic()
                self._has_enquired = False
                for pdu in take(self._buffer):
                    self._handle(pdu)
            elif chunk is None:
                self._watch()
            else:
                self.end("the message centre hung up")
        except Unreadable as error:
            self.end(f"the message centre sent {error}")
        except (OSError, ValueError, KeyError, NotConnected):  # ValueError, KeyError: another thread closed it
            self.end("the connection broke")

    def _receive(self) -> bytes | None:
        """Return the octets that came: empty at the end of the line, None if nothing came in time."""
        is_pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()
        if not is_pending and not self._selector.select(READ_SECONDS):
            return None
        with self._io:
            try:
                return self._socket.recv(READ_OCTETS)
            except TimeoutError:  # the rest of a TLS record is still on its way
                return None

    def _watch(self) -> None:
        """Send an enquiry over a silent line, and end the session if the line stays silent."""
        silent = time.monotonic() - self._heard_at
        if silent > self._enquire_seconds + self.answer_seconds:
            self.end("the message centre stopped answering")
        elif silent > self._enquire_seconds and not self._has_enquired:
            self._has_enquired = True
            sequence = next(self._sequences) % MAX_SEQUENCE + 1
            self._write(Pdu(Command.ENQUIRE_LINK, sequence))

    def _handle(self, pdu: Pdu) -> None:
        if pdu.command == Command.UNBIND_RESP:
            self.end("we unbound")
        elif pdu.command & RESPONSE:
            future = self._waiting.pop(pdu.sequence, None)
            if future is not None:
                with suppress(InvalidStateError):
                    future.set_result(pdu)
        elif pdu.command == Command.ENQUIRE_LINK:
            self._write(Pdu(pdu.command | RESPONSE, pdu.sequence))
        elif pdu.command == Command.UNBIND:
            self._write(Pdu(pdu.command | RESPONSE, pdu.sequence))
            self.end("the message centre unbound")
        elif pdu.command in (Command.DELIVER_SM, Command.DATA_SM):
            self._on_message(self, pdu)
        else:
            self._write(Pdu(Command.GENERIC_NACK, pdu.sequence, status=Status.INVALID_COMMAND))


class Refused(Exception):
    """The centre answered with this ``command_status``."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status 0x{status:02X}")
        self.status = status
