"""Connections: making, listing and removing them, and finding the one that a call is for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from verification.contrib.connections import registry
from verification.contrib.connections.base import PastedLine, System
from verification.core import crypto
from verification.core.caching import Cooldown, FreshCache
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.core.errors import UserError
from verification.models import ChannelType, IdentityConnection, Project, bounds
from verification.models.connections import NAME_MAX_LENGTH
from verification.models.fields import NameField
from verification.services.projects.snapshot import ProjectConfig, load_project

log = logging.getLogger(__name__)

AUTOMATIC = "auto"  # how the choice for each recipient is written in commands
USED_SECONDS = 60  # least time between two notes of one connection's use
MAX_REMEMBERED = 10_000  # connections that a process remembers; of unknown ids next to nothing is kept


@dataclass(frozen=True, slots=True)
class ConnectionConfig:
    """A connection as a call finds it. ``channel`` is None where it is chosen for each recipient."""

    id: int
    name: str
    project: ProjectConfig
    system: System
    channel: str | None
    secret: str = field(repr=False)


_found: FreshCache[UUID, ConnectionConfig | None] = FreshCache(MAX_REMEMBERED)
_used = Cooldown(MAX_REMEMBERED)


@transaction.atomic
def add_connection(
    *,
    project: Project,
    system: str,
    channel: str = "",
    name: str = "",
    secret: str = "",
    options: Mapping[str, str] | None = None,
) -> tuple[IdentityConnection, str]:
    """Make a connection and return it with its secret, which is shown now and never again.

    An empty ``channel`` is chosen for each recipient; an empty ``secret`` is drawn. Raises :class:`UserError`.
    """
    kind = registry.system_class(system)
    check_channel(kind, channel)
    name = NameField.clean_text(name) or str(kind.label)
    if len(name) > NAME_MAX_LENGTH:
        raise UserError(f"A name has at most {NAME_MAX_LENGTH} characters, in one line.")
    bounds.require_room(
        project,
        project.connections.all(),
        bounds.MAX_IDENTITY_CONNECTIONS,
        _("A project can have at most {number} connections. Remove one first.").format(
            number=bounds.MAX_IDENTITY_CONNECTIONS
        ),
    )
    secret = kind.clean_secret(secret) if secret else kind.new_secret()
    row = IdentityConnection(
        project=project, system=system, channel=channel, name=name, options=registry.clean_options(kind, options or {})
    )
    row.secret = encrypt(secret, binding=crypto.connection_secret_binding(row.public_id))
    row.save()
    return row, secret


def check_channel(system: type[System], channel: str) -> None:
    """Raise :class:`UserError` for a channel over which none of the system's codes can go; an empty one is chosen."""
    if channel and channel not in ChannelType.values:
        raise UserError(
            f"There is no channel {channel!r}. Give {AUTOMATIC} or one of: {', '.join(ChannelType.values)}."
        )
    if channel and ("email" if channel == ChannelType.EMAIL else "phone") not in system.recipients:
        raise UserError(f"{system.label} submits no codes for the channel {channel}.")


def connections_of(project: Project | None) -> QuerySet[IdentityConnection]:
    """Return the connections of a project, or of all."""
    rows = IdentityConnection.objects.filter(project__deleted_at=None).select_related("project")
    return rows.order_by("project__name", "pk") if project is None else rows.filter(project=project)


def remove_connection(connection_id: int, project: Project | None = None) -> IdentityConnection:
    """Remove a connection: within a second its address is unknown. Raises :class:`UserError` where there is none."""
    row = connections_of(project).filter(pk=connection_id).first()
    if row is None:
        raise UserError(_("There is no such connection."))
    IdentityConnection.objects.filter(pk=row.pk).delete()
    return row


def address_of(connection: IdentityConnection) -> str:
    return f"{settings.BASE_URL}/connect/{connection.public_id}"


def lines_of(connection: IdentityConnection, secret: str) -> list[PastedLine]:
    """Return what to paste into the system."""
    system = registry.system_class(connection.system)(connection.options)
    return system.lines(address_of(connection), secret)


def find(public_id: UUID) -> ConnectionConfig | None:
    """Return the connection at this id as it stood within the last second; None where there is none that works."""
    return _found.get(public_id, lambda: _load(public_id))


def note_use(connection: ConnectionConfig) -> None:
    """Keep when it was last used, to the minute."""
    if not _used.left(connection.id):
        _used.begin(connection.id, seconds=USED_SECONDS)
        IdentityConnection.objects.filter(pk=connection.id).update(last_used_at=Now())


def _load(public_id: UUID) -> ConnectionConfig | None:
    row = IdentityConnection.objects.filter(public_id=public_id).first()
    if row is None or (project := load_project(row.project_id)) is None:
        return None
    try:
        system = registry.system_class(row.system)(row.options)
        secret = decrypt(bytes(row.secret), binding=crypto.connection_secret_binding(row.public_id))
    except (UserError, DecryptionFailed) as error:
        log.error("connection %s does not work: %s", row.pk, error)
        return None
    return ConnectionConfig(row.pk, row.name, project, system, row.channel or None, secret)
