"""The bounds of what a project piles up. Every process reads most of it each second, so no tenant may make it large.

The bounds of lists within a row stand with the row's model, those of list entries and test logins with their service.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from verification.core.errors import UserError
from verification.models.projects import Project

MAX_LIVE_KEYS = 100  # One for each of a customer's apps and servers, and room to rotate them.
MAX_WEBHOOK_SECRETS = 5  # Secrets that sign at once: each adds a signature to every callback.
MAX_PROVIDERS = 20  # Providers of one channel: an unlucky message is offered to each in turn.
MAX_CONNECTED = 5  # Providers with connections of their own, which workers hold open.
MAX_CONNECTIONS = 20  # Connections of these together: each is a thread in every connections worker.
MAX_ALERT_SERVICES = 10  # Chats and services that each alert is written to, one after the other.
MAX_IDENTITY_CONNECTIONS = 20  # Identity systems of one project: one for each of its environments and channels.
MAX_TEXTS = 300  # Texts in five channels and sixty languages.
MAX_SENDERS = 100  # Sender rules of one provider, which is read with all of them.

MAX_INVITATIONS = 20  # Invitations of a project in a day: they go to addresses that have not asked for mail.


def require_room(project: Project, rows: QuerySet[Any], most: int, refusal: str) -> None:
    """Raises :class:`UserError` where there are ``most`` rows already.

    The project is locked until the transaction ends, so that two do not both take the last place.
    """
    lock(project)
    if rows.count() >= most:
        raise UserError(refusal)


def lock(project: Project) -> None:
    """Have everybody else who takes a place of the project wait until the transaction ends."""
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
