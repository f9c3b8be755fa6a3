"""Any mail server by SMTP.

This is Django's backend with four changes. It connects through the guard. The whole exchange has one deadline. It does
not wait for the answer to QUIT. Every mail has 7 bits. One connection carries one message.
"""

from __future__ import annotations

import io
import secrets
import smtplib
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.charset import QP, Charset
from email.utils import formataddr
from typing import Any

from django.core.exceptions import ValidationError
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.smtp import EmailBackend
from django.core.validators import validate_email
from django.utils.encoding import punycode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import Outcome, Setting, SettingKind
from providers.errors import ProviderError
from providers.http import ssrf, tls
from providers.http.deadline import Deadline
from providers.parsing import smtp_answers

TOTAL_SECONDS = 8.0  # the time for a whole mail: the longest that a call to any provider may take
CONNECT_SECONDS = 3.0  # the time to connect
MAX_ANSWER_BYTES = 64 * 1024  # the most that we read from a server: far more than any says about one mail


class Adapter(base.Adapter):
    type = "smtp"
    label = "SMTP"
    channels = ("email",)
    declared = (
        Setting("host", _("Server"), SettingKind.HOST, required=True),
        Setting("port", _("Port"), SettingKind.NUMBER, default=587, is_of_server=True),
        Setting(
            "security",
            _("Security"),
            SettingKind.CHOICE,
            default="starttls",
            is_of_server=True,
            choices=(("starttls", "STARTTLS"), ("tls", _("TLS from the start")), ("none", _("None"))),
            help=_("Port 587 uses STARTTLS, 465 TLS. “None” is only for allowed networks."),
        ),
        Setting("username", _("Username")),
        Setting("password", _("Password"), SettingKind.SECRET),
        Setting("from_email", _("Sender address"), required=True),
        Setting("from_name", _("Sender name")),
        Setting("reply_to", _("Reply-to address")),
    )
    total_seconds = longest_seconds = TOTAL_SECONDS

    @classmethod
    def clean(cls, values: Mapping[str, base.Value]) -> dict[str, str]:
        errors = {}
        if not 0 < int(values["port"]) < 65536:
            errors["port"] = gettext("the port must be between 1 and 65535")
        for name in ("from_email", "reply_to"):
            if values[name] and not _is_address(str(values[name])):
                errors[name] = gettext("enter a plain e-mail address")
        if bool(values["username"]) != bool(values["password"]):
            errors["password"] = gettext("enter both a username and a password")
        return errors

    def send(self, message: base.OutgoingMessage) -> base.Result:
        backend = self._backend()
        try:
            mail = self._compose(message)
            mail.message()
        except ValueError:
            raise ProviderError("this address or subject cannot be sent by SMTP", Outcome.NOT_APPLICABLE) from None
        with _Explained(backend):
            backend.send_messages([mail])
        # Acceptance is the last that SMTP ever tells.
        return base.Result.accepted(mail.extra_headers["Message-ID"], is_delivered=True)

    def check(self) -> base.Health:
        backend = self._backend()
        with _Explained(backend):
            backend.open()
            code, _ = backend.connection.noop()
            backend.close()
        if code != 250:
            return base.Health(False, f"The mail server answered NOOP with {code}.")
        how = "accepted the login" if self.settings["username"] else "answers; no login is set"
        return base.Health(True, f"The mail server {how}.")

    def _compose(self, message: base.OutgoingMessage) -> EmailMultiAlternatives:
        if not message.to.rpartition("@")[0].isascii():
            # Django would encode the local part, and the mail would go to somebody else.
            raise ProviderError("only ASCII is possible before the @ of an address", Outcome.NOT_APPLICABLE)
        sender = _ascii_domain(self.text("from_email"))
        reply_to = self.text("reply_to")
        mail = EmailMultiAlternatives(
            subject=" ".join(message.subject.split()),
            body=message.text,
            from_email=formataddr((self.text("from_name"), sender)),
            to=[message.to],
            reply_to=[reply_to] if reply_to else None,
            headers={
                "Message-ID": f"<{secrets.token_hex(16)}@{_domain(sender)}>",
                "Auto-Submitted": "auto-generated",
                "X-Auto-Response-Suppress": "All",
            },
        )
        mail.encoding = _seven_bit()
        if message.html:
            mail.attach_alternative(message.html, "text/html")
        return mail

    def _backend(self) -> _Backend:
        security = self.settings["security"]

        def connect(port: int, seconds: float) -> socket.socket:
            return ssrf.connect(
                self.text("host"),
                port,
                min(seconds, CONNECT_SECONDS),
                self.http.allowed_networks,
                only_allowed=security == "none",
            )

        return _Backend(
            connect,
            Deadline(self.total_seconds),
            helo=_domain(self.text("from_email")),
            host=self.text("host"),
            port=int(self.settings["port"]),
            username=self.text("username"),
            password=self.text("password"),
            use_tls=security == "starttls",
            use_ssl=security == "tls",
            timeout=self.total_seconds,
            ssl_keyfile="",
            ssl_certfile="",
        )


class _Backend(EmailBackend):
    """Django's backend over a guarded connection with a deadline.

    ``open`` is our own: Django's asks the name server for this machine's name, and no time-out bounds that. We say the
    sender's domain (``helo``) instead.
    """

    connection: Any

    def __init__(
        self, connect: Callable[[int, float], socket.socket], deadline: Deadline, *, helo: str, **options: Any
    ) -> None:
        super().__init__(**options)
        self._connect = connect
        self._deadline = deadline
        self._helo = helo
        self.is_in_doubt = False  # the content left and no answer to it came
        self.is_begun = False  # the sender was named: what failed before is the fault of no message

    def open(self) -> bool:
        context = tls.context() if self.use_ssl else None
        self.connection = connection = _Connection(self._connect, self._deadline, self._helo, context)
        connection.begin(self.host, self.port)
        if self.use_tls:
            connection.starttls(context=tls.context())
        connection.ehlo_or_helo_if_needed()
        if self.username:
            connection.login(self.username, self.password)
        return True

    def close(self) -> None:
        if self.connection is not None:
            self.is_in_doubt = self.connection.is_in_doubt
            self.is_begun = self.connection.is_begun
            self.connection.hang_up()
            self.connection = None


class _Connection(smtplib.SMTP):
    """smtplib with a deadline on every wait and a bound on what it reads."""

    def __init__(
        self,
        connect: Callable[[int, float], socket.socket],
        deadline: Deadline,
        helo: str,
        context: ssl.SSLContext | None,
    ) -> None:
        super().__init__(local_hostname=helo)
        self._connect_guarded = connect
        self._deadline = deadline
        self._context = context
        self.is_in_doubt = False
        self.is_begun = False

    def begin(self, host: str, port: int) -> None:
        """Connect and read the greeting."""
        self._host = host  # the name that TLS checks; smtplib sets it only when it connects by itself
        code, answer = self.connect(host, port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, answer)

    def login(self, user: str, password: str, **options: Any) -> tuple[int, bytes]:
        return super().login(_Utf8(user), _Utf8(password), **options)

    def auth(self, mechanism: str, authobject: Any, **options: Any) -> tuple[int, bytes]:
        """Send what each mechanism answers as UTF-8, as RFC 4616 has it for PLAIN. smtplib takes nothing but ASCII."""

        def answer(challenge: bytes | None = None) -> Any:
            answered = authobject(challenge)
            return None if answered is None else _Utf8(answered)

        return super().auth(mechanism, answer, **options)

    def mail(self, sender: str, options: Any = ()) -> tuple[int, bytes]:
        self.is_begun = True
        return super().mail(sender, options)

    def hang_up(self) -> None:
        """Send QUIT and close, without waiting: the server has answered all that matters."""
        with suppress(OSError):
            self.putcmd("quit")
        self.close()

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = io.BufferedReader(_Bounded(self.sock, self._deadline))
        code, answer = super().getreply()
        self.is_in_doubt = code == 354
        return code, answer

    def send(self, s: Any) -> None:
        if self.sock is not None:
            try:
                self.sock.settimeout(self._deadline.left())
            except TimeoutError as error:
                self.close()
                raise smtplib.SMTPServerDisconnected(str(error)) from None
        super().send(s)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connected = self._connect_guarded(port, self._deadline.left())
        connected.settimeout(self._deadline.left())
        if self._context is None:
            return connected
        try:
            return self._context.wrap_socket(connected, server_hostname=self._host)
        except OSError:
            connected.close()
            raise


class _Utf8(str):
    """A text that whoever encodes it gets as UTF-8."""

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode("utf-8", errors)


class _Bounded(io.RawIOBase):
    """A reader of a socket, until the deadline and up to ``MAX_ANSWER_BYTES``."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline
        self._left = MAX_ANSWER_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(self._deadline.left())
        count = self._socket.recv_into(buffer)
        self._left -= count
        if self._left < 0:
            raise OSError("the mail server's answer is too long")
        return count


class _Explained:
    """A context that turns what smtplib raises into a ProviderError, and closes the connection.

    The server's own sentences stay out of the message, because they tend to quote the recipient.
    """

    def __init__(self, backend: _Backend) -> None:
        self._backend = backend

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._backend.close()
        if isinstance(error, (OSError, ValueError)):
            doubt, begun = self._backend.is_in_doubt, self._backend.is_begun
            raise smtp_answers.explain(error, is_in_doubt=doubt, is_begun=begun) from None


def _seven_bit() -> Charset:
    """Return a charset that writes quoted-printable.

    Not every server on the way takes 8-bit text (8BITMIME), and some recode it, which breaks signatures.
    """
    charset = Charset("utf-8")
    charset.body_encoding = QP
    return charset


def _domain(address: str) -> str:
    return punycode(address.rpartition("@")[2])


def _ascii_domain(address: str) -> str:
    return f"{address.rpartition('@')[0]}@{_domain(address)}"


def _is_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
