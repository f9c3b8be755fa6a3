"""An inbox that keeps messages for an hour and shows them in the panel: for development and demonstrations."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.adapters.console import line_of
from providers.base import Setting, SettingKind
from providers.errors import Outcome, ProviderError

LIST = "messages"
KEEP = 200  # messages of one provider: enough for a demonstration
KEEP_SECONDS = 3600  # codes live ten minutes; an hour leaves time to look


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """One kept message. ``at`` is ISO 8601 in UTC."""

    to: str
    channel: str
    code: str
    text: str
    subject: str
    language: str
    project: str
    at: str
    id: int = 0  # the message's number, by which the panel knows whose it is


def read(store: base.Store) -> list[InboxMessage]:
    """Return the kept messages, the newest first. Raises whatever the store raises."""
    return [InboxMessage(**json.loads(value)) for value in store.list(LIST)]


class Adapter(base.Adapter):
    type = "inbox"
    label = _("Inbox (keeps messages for an hour, for development)")
    channels = base.CHANNELS
    is_local = True
    shows_codes = True
    declared = (
        Setting(
            "prints",
            _("Print each message too"),
            SettingKind.BOOLEAN,
            default=False,
            help=_("To the worker's output, which manage.py up shows in its terminal."),
        ),
    )

    def send(self, message: base.OutgoingMessage) -> base.Result:
        kept = InboxMessage(
            to=message.to,
            channel=message.channel,
            code=message.code,
            text=message.text,
            subject=message.subject,
            language=message.language,
            project=message.project,
            id=message.id,
            at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )
        try:
            self.store.push(LIST, json.dumps(asdict(kept)), keep=KEEP, seconds=KEEP_SECONDS)
        except Exception as error:  # any error may come from the store
            raise _away(error) from None
        if self.settings.get("prints"):
            print(line_of(message), flush=True)
        return base.Result.accepted(is_delivered=True)

    def check(self) -> base.Health:
        try:
            count = len(self.store.list(LIST))
        except Exception as error:  # any error may come from the store
            raise _away(error) from None
        return base.Health(True, f"The inbox contains {count} messages.")


def _away(error: Exception) -> ProviderError:
    return ProviderError(f"the inbox's store does not answer ({error.__class__.__name__})", Outcome.TEMPORARY)
