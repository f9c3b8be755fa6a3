"""What becomes of mails while EMAIL_URL is not set: an event in the log for each, where that is read by machines.

Its text is left out, as an invitation holds a link that lets whoever has it in, and so are its recipients.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

log = logging.getLogger(__name__)


class EmailBackend(BaseEmailBackend):
    """Sends nothing."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            told = {"subject": message.subject, "recipients": len(message.recipients())}
            log.warning("a mail was not sent, as EMAIL_URL is not set", extra=told)
        return len(email_messages)
