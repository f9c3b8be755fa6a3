"""The long-lived connections to providers that this process holds, and the reports that come in over them.

Only a connections worker (``manage.py worker --connections``) holds any. Any other worker hands a message for such a
provider over, by a mark on the message's row (``delivery/round.py``).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from django.db import close_old_connections

from providers import registry
from providers.base import Adapter, Connection, HookReply, Value
from providers.errors import SettingsInvalid
from verification.core.crypto import DecryptionFailed
from verification.models import Provider
from verification.services.delivery import receipts
from verification.services.providers.accounts import adapter_of
from verification.services.providers.active import LiveProvider

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _OpenConnection:
    connection: Connection
    settings: Mapping[str, Value]


_held: dict[int, _OpenConnection] = {}
_changing = threading.Lock()


def sender_of(provider: LiveProvider) -> Adapter | Connection | None:
    """Return what sends for the provider in this process, or None if its connection is not held here."""
    if not provider.adapter.is_connected:
        return provider.adapter
    held = _held.get(provider.id)
    return held.connection if held else None


def keep_open() -> None:
    """Open, replace and close connections until they are those of the configuration.

    A connection is closed before its successor is opened, as vendors limit the connections of an account.
    """
    wanted = {row.pk: (row, adapter) for row in _enabled() if (adapter := _adapter(row)) is not None}
    with _changing:
        for provider_id, held in list(_held.items()):
            if provider_id not in wanted or wanted[provider_id][1].settings != held.settings:
                _close(provider_id)
        for provider_id, (row, adapter) in wanted.items():
            if provider_id not in _held:
                _open(row, adapter)


def close_all() -> None:
    """Close all connections, at the same time, as each close may wait for its provider."""
    with _changing:
        closing = [threading.Thread(target=_close, args=(provider_id,)) for provider_id in list(_held)]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()


def _enabled() -> list[Provider]:
    return list(Provider.objects.working().filter(type__in=registry.connected_types()))


def _adapter(row: Provider) -> Adapter | None:
    """Return the row's adapter. A row that cannot be read gives None, so that the others are connected all the same."""
    try:
        return adapter_of(row)
    except (DecryptionFailed, SettingsInvalid, TypeError, ValueError) as error:
        fields = {"provider": row.pk, "error": type(error).__name__}
        log.error("a provider is not connected: its settings cannot be read", extra=fields)
        return None


def _open(row: Provider, adapter: Adapter) -> None:
    log.info("Connecting %s.", row.name)
    try:
        _held[row.pk] = _OpenConnection(adapter.connect(partial(_act_on, row), name=row.name), adapter.settings)
    except Exception as error:  # a fault of one adapter must not keep the others unconnected
        fields = {"provider": row.pk, "error": type(error).__name__}
        log.error("a provider is not connected: its adapter failed", extra=fields)


def _act_on(row: Provider, reply: HookReply) -> int:
    """Act on a report. Its thread lives as long as the provider's connection; a broken database connection ends."""
    try:
        return receipts.apply_report(row, reply)
    finally:
        close_old_connections()


def _close(provider_id: int) -> None:
    _held.pop(provider_id).connection.close()
