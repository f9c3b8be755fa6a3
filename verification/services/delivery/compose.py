"""Make the message that a provider is given out of the claimed row."""

from __future__ import annotations

import math
from dataclasses import replace

from providers.base import OutgoingMessage
from verification.core import crypto
from verification.core.crypto import DecryptionFailed, decrypt
from verification.services.providers.active import LiveProvider
from verification.services.texts.rendering import Style, render_message
from verification.sql.rows import ClaimedMessage


def compose(message: ClaimedMessage, *, country: str) -> OutgoingMessage:
    """Decrypt the code and render the text. Raises :class:`DecryptionFailed`, also for a code that is wiped."""
    code = _decrypt_code(message)
    rendered = render_message(
        channel=message.channel,
        language=message.language,
        code=code,
        project_id=message.project_id,
        project=Style(**message.project),
        minutes=max(1, round(message.lives_seconds / 60)),
        session_id=message.session_id,
    )
    return OutgoingMessage(
        id=message.id,
        to=message.address,
        channel=message.channel,
        code=code,
        text=rendered.text,
        subject=rendered.subject,
        html=rendered.html,
        language=message.language,
        expires_in=math.ceil(message.lives_seconds),
        project=message.project["name"],
        country=country,
    )


def _decrypt_code(message: ClaimedMessage) -> str:
    if message.session_id is not None:
        sealed, binding = message.session_code, crypto.session_code_binding(message.session_id)
    else:
        sealed, binding = message.manual_code, crypto.message_code_binding(message.id)
    if sealed is None:
        raise DecryptionFailed("The code is wiped.")
    return decrypt(sealed, binding=binding)


def addressed(outgoing: OutgoingMessage, provider: LiveProvider, message: ClaimedMessage) -> OutgoingMessage:
    """Return the message for this provider: with its hook, the user's account there, and its sender for the country."""
    rule = provider.sender_for(message.address)
    return replace(
        outgoing,
        hook_url=provider.hook_url,
        account_id=message.accounts.get(str(provider.id)),
        sender=rule.sender if rule else "",
        dlt_entity_id=rule.dlt_entity_id if rule else "",
        dlt_template_id=rule.dlt_template_id if rule else "",
    )
