"""A project's connections as a part of its set-up file. The app of set-up files finds it by ``ConnectionsConfig``.

The address of a connection stands in no file: it is drawn where the connection is made, and ``listconnections`` tells
it. A secret is given by its name, as everywhere in a file; one that the file does not give stays as it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from verification.contrib.connections import connections, registry
from verification.core import crypto
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.models import ChannelType, IdentityConnection, Project
from verification.models.audit import save_changes
from verification.models.connections import NAME_MAX_LENGTH

UNREADABLE = "\0unreadable"  # in place of a secret that no key opens; no secret holds a NUL


def schema(reference: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of this part. ``reference`` is that of a secret."""
    row = {
        "type": "object",
        "properties": {
            "system": {"enum": list(registry.all_systems())},
            "channel": {"enum": ["", *ChannelType.values], "description": "Empty: chosen for each recipient."},
            "options": {
                "type": "object",
                "additionalProperties": {"type": "string", "maxLength": registry.MAX_OPTION},
            },
            "secret": dict(reference),
        },
        "required": ["system"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": "Identity systems that hand their codes over, by name.",
        "propertyNames": {"minLength": 1, "maxLength": NAME_MAX_LENGTH},
        "additionalProperties": row,
    }


def export(project: Project, write: Callable[[tuple[str, ...], str], Any]) -> dict[str, Any]:
    """Return the connections by name. ``write`` decides what stands for a secret."""
    return {
        name: {
            "system": row.system,
            "channel": str(row.channel),
            "options": dict(row.options),
            "secret": write((project.name, "connections", name), _secret_of(row) or UNREADABLE),
        }
        for name, row in _by_name(project).items()
    }


def apply(context: Any, wanted: Mapping[str, Any], path: tuple[Any, ...]) -> None:
    """Bring the project's connections to what the file says. ``context`` is the app's own, with the refusals."""
    rows = _by_name(context.project)
    for name in rows.keys() - wanted.keys():
        connections.remove_connection(rows[name].pk, context.project)
    for name, values in wanted.items():
        at = (*path, name)
        with context.judging(at):
            if name in rows:
                _change(context, rows[name], values, at)
            else:
                _add(context, name, values, at)


def _add(context: Any, name: str, values: Mapping[str, Any], path: tuple[Any, ...]) -> None:
    if "secret" not in values:
        raise context.refuse(path, _("a new connection needs its secret, as none can be shown here."))
    connections.add_connection(
        project=context.project,
        system=values["system"],
        channel=values.get("channel", ""),
        name=name,
        secret=context.secret((*path, "secret"), values["secret"], is_stored=False),
        options=values.get("options", {}),
    )


def _change(context: Any, row: IdentityConnection, values: Mapping[str, Any], path: tuple[Any, ...]) -> None:
    if row.system != values["system"]:
        raise context.refuse(
            (*path, "system"),
            _("a connection of {system} already has this name. Choose another.").format(system=row.system),
        )
    kind, changed = registry.system_class(row.system), []
    if "channel" in values and values["channel"] != row.channel:
        connections.check_channel(kind, values["channel"])
        row.channel = values["channel"]
        changed.append("channel")
    if "options" in values and (options := registry.clean_options(kind, values["options"])) != row.options:
        row.options = options
        changed.append("options")
    if "secret" in values:
        text = context.secret((*path, "secret"), values["secret"], is_stored=True)
        if text is not None and text != _secret_of(row):
            row.secret = encrypt(kind.clean_secret(text), binding=crypto.connection_secret_binding(row.public_id))
            changed.append("secret")
    save_changes(row, changed)


def _by_name(project: Project) -> dict[str, IdentityConnection]:
    """Return the connections by name; of several with one name each but the first with its number."""
    found: dict[str, IdentityConnection] = {}
    for row in project.connections.order_by("pk"):
        found[row.name if row.name not in found else f"{row.name} #{row.pk}"] = row
    return found


def _secret_of(row: IdentityConnection) -> str:
    try:
        return decrypt(bytes(row.secret), binding=crypto.connection_secret_binding(row.public_id))
    except DecryptionFailed:
        return ""
