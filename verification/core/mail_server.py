"""The mail server: whether there is one, why it did not take a mail, and the log that stands in for it."""

from __future__ import annotations

import logging
import smtplib
import socket
from collections.abc import Sequence

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.translation import gettext_noop

log = logging.getLogger(__name__)

# Django's backends, and our own, that write a mail down where its recipient does not look.
WITHOUT_SERVER = (
    "django.core.mail.backends.console.EmailBackend",
    "django.core.mail.backends.dummy.EmailBackend",
    "django.core.mail.backends.filebased.EmailBackend",
    "verification.core.mail_server.EmailBackend",
)
# What sending a mail raises; a ValueError is of a character that no header may hold.
MAIL_ERRORS = (smtplib.SMTPException, OSError, ValueError)
NOT_SET_UP = gettext_noop("No mail server is set up, so the e-mail was only written to the worker's log")
_WORDS = (  # the first that fits
    (smtplib.SMTPAuthenticationError, gettext_noop("The mail server rejected the username or password of EMAIL_URL")),
    (smtplib.SMTPRecipientsRefused, gettext_noop("The mail server rejected the recipients' addresses")),
    (smtplib.SMTPSenderRefused, gettext_noop("The mail server rejected the sender's address (EMAIL_FROM)")),
    (smtplib.SMTPServerDisconnected, gettext_noop("The mail server closed the connection")),
    (smtplib.SMTPException, gettext_noop("The mail server returned an error")),
    (TimeoutError, gettext_noop("The mail server did not respond in time")),
    (socket.gaierror, gettext_noop("The mail server's host name is unknown (EMAIL_URL)")),
    (OSError, gettext_noop("The mail server cannot be reached")),
    (ValueError, gettext_noop("The e-mail contains a character that is not allowed")),
)


def has_mail_server() -> bool:
    return settings.EMAIL_BACKEND not in WITHOUT_SERVER


def words_of(error: BaseException) -> str:
    """Return why a mail was not sent, in English. No word of the server's is in it: it may hold an address."""
    return next((words for kind, words in _WORDS if isinstance(error, kind)), type(error).__name__)


class EmailBackend(BaseEmailBackend):
    """The backend while EMAIL_URL is not set: it logs an event for each mail, where the log is read by machines.

    It leaves out the text, as an invitation holds a link that lets whoever has it in, and the recipients.
    """

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            fields = {"subject": message.subject, "recipients": len(message.recipients())}
            log.warning("a mail was not sent, as EMAIL_URL is not set", extra=fields)
        return len(email_messages)
