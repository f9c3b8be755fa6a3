"""Mail servers on loopback: a real one that can refuse at any step, and a rude one made of bare replies."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from tests.live import free_port

USERNAME, PASSWORD = "robot", "right-password"
FOREIGN = ("bücher@example.org".encode(), "pässwörd €".encode())


@dataclass
class Handler:
    """``replies`` maps a step (MAIL, RCPT, DATA) to a refusal; ``received`` holds the accepted messages."""

    replies: dict[str, str] = field(default_factory=dict)
    received: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    is_encrypted: list[bool] = field(default_factory=list)
    is_authenticated: list[bool] = field(default_factory=list)

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if "MAIL" in self.replies:
            return self.replies["MAIL"]
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if "RCPT" in self.replies:
            return self.replies["RCPT"]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if "DATA" in self.replies:
            return self.replies["DATA"]
        received = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(received, EmailMessage)
        self.received.append(received)
        self.recipients.extend(envelope.rcpt_tos)
        self.senders.append(envelope.mail_from)
        self.is_encrypted.append(session.ssl is not None)
        self.is_authenticated.append(bool(session.authenticated))
        return "250 OK queued"


def authenticate(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    is_right = (data.login, data.password) in ((USERNAME.encode(), PASSWORD.encode()), FOREIGN)
    return AuthResult(success=is_right, handled=is_right)


@contextlib.contextmanager
def mail_server(
    handler: Handler,
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    has_login: bool = True,
    without: tuple[str, ...] = (),
):
    """A real SMTP server that offers no mechanism of ``without``; yields its port."""
    options: dict[str, Any] = {"auth_require_tls": starttls is not None, "auth_exclude_mechanism": without}
    if has_login:
        options["authenticator"] = authenticate
    if starttls is not None:
        options.update(tls_context=starttls, require_starttls=True)
    controller = Controller(handler, hostname="127.0.0.1", port=free_port(), ssl_context=tls, **options)
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


@contextlib.contextmanager
def rude_server(*replies: bytes | None, drip: bytes = b""):
    """Says one reply at once and one after each line it reads; after ``DATA`` it reads to the final dot.

    None hangs up. After the last reply comes ``drip``, a byte now and then for ever, or else silence. Yields the
    port.
    """
    stopped = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as reader:
                converse(connection, reader)

    def converse(connection: socket.socket, reader: Any) -> None:
        for number, reply in enumerate(replies):
            if number:
                previous = replies[number - 1] or b""
                _read(reader, to_dot=previous.startswith(b"354"))
            if reply is None:
                return
            connection.sendall(reply)
        position = 0
        while not stopped.wait(0.02):
            if drip:
                connection.sendall(drip[position % len(drip) :][:1])
                position += 1

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        stopped.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # close alone would not wake the thread that accepts
        listener.close()


def _read(reader: Any, *, to_dot: bool) -> None:
    while (line := reader.readline()) and to_dot and line != b".\r\n":
        pass
