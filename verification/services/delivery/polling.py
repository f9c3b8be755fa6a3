"""Connect a bot to us: by a webhook, or by polling if this installation has no public address."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections

from providers.errors import ProviderError
from verification.core.bulkhead import BulkheadFull, bulkhead
from verification.core.errors import ApiError, UserError
from verification.models import Provider
from verification.services.delivery.receipts import apply_report
from verification.services.providers.accounts import adapter_of, hook_url

log = logging.getLogger(__name__)

BOT_TYPE = "telegram_bot"
POLL_SECONDS = 25  # how long the messenger holds one call open until something happens
PAUSE_SECONDS = 3.0  # before the next call after one that failed, at least


def find_bot(provider_id: int | None) -> Provider:
    """Return the bot with this id, or the only bot there is. Raises :class:`UserError`."""
    bots = Provider.objects.filter(type=BOT_TYPE, is_enabled=True)
    found = list(bots.filter(pk=provider_id) if provider_id is not None else bots[:2])
    if len(found) == 1:
        return found[0]
    if provider_id is not None:
        raise UserError(f"There is no enabled Telegram bot with the id {provider_id}.")
    raise UserError(
        "There is no Telegram bot yet; add one with addprovider." if not found else "Say which bot: its id."
    )


def set_webhook(bot: Provider) -> str:
    """Have Telegram call us. Return our address without its secret. Raises :class:`UserError`, ``ProviderError``."""
    if not settings.BASE_URL.startswith("https://"):
        raise UserError("Telegram calls https addresses only and BASE_URL is none. Set it, or poll with --poll.")
    adapter, url = _bot(bot), hook_url(bot)
    try:
        with bulkhead(bot.project_id):
            adapter.set_hook(url)
    except BulkheadFull as full:
        raise UserError(f"Watchword could not reach Telegram. {full.detail}") from None
    return f"{settings.BASE_URL}/hooks/{bot.uuid}/…"


def remove_webhook(bot: Provider) -> None:
    _bot(bot).delete_hook()


def poll(bot: Provider, *, is_stopped: Callable[[], bool]) -> None:
    """Ask for what users do, until told to stop. Updates are stored as a webhook's are, and a worker acts on them."""
    adapter, offset = _bot(bot), 0
    while not is_stopped():
        try:
            replies, following = adapter.poll(offset, POLL_SECONDS)
            close_old_connections()  # the database may have restarted during the wait
            for reply in replies:
                apply_report(bot, reply)
        except ProviderError as error:
            log.warning("%s: %s", bot.name, error)
            time.sleep(max(PAUSE_SECONDS, error.retry_after or 0))
        except ApiError as refusal:  # too many updates wait; those stored already are not stored again
            log.warning("%s: %s", bot.name, refusal.detail)
            time.sleep(PAUSE_SECONDS)
        except (OperationalError, InterfaceError) as error:
            log.warning("%s: the database does not answer (%s); its updates wait.", bot.name, type(error).__name__)
            time.sleep(PAUSE_SECONDS)
        else:
            offset = following  # the next call with this offset confirms the updates


def _bot(bot: Provider) -> Any:
    """Return the bot's adapter, which has ``set_hook``, ``delete_hook`` and ``poll`` beside what every adapter has."""
    return adapter_of(bot)
