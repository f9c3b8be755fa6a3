"""From a claimed message to what its providers are given."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from providers.base import OutgoingMessage
from verification import places
from verification.addresses import country_of
from verification.crypto import decrypt
from verification.services.gateways.accounts import LiveProvider
from verification.services.texts.rendering import Style, render_message


def compose(message: Any) -> OutgoingMessage:
    """What the providers are given. Raises :class:`DecryptionFailed`."""
    if message.session_id is not None:
        code = decrypt(message.session_code, place=places.session_code(message.session_id))
    else:
        code = decrypt(message.manual_code, place=places.message_code(message.id))
    rendered = render_message(
        channel=message.channel,
        language=message.language,
        code=code,
        project_id=message.project_id,
        project=Style(**message.project),
        minutes=max(1, round(message.lives_seconds / 60)),
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
        country=country_of(message.address),
    )


def addressed(outgoing: OutgoingMessage, provider: LiveProvider, message: Any) -> OutgoingMessage:
    """The message as this provider gets it: with its hook, its account for the user, its sender for the country."""
    rule = provider.sender_for(message.address)
    return replace(
        outgoing,
        hook_url=provider.hook_url,
        account_id=message.accounts.get(str(provider.id)),
        sender=rule.sender if rule else "",
        dlt_entity_id=rule.dlt_entity_id if rule else "",
        dlt_template_id=rule.dlt_template_id if rule else "",
    )
