"""``telegram [ID] [--poll | --remove]``"""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand
from verification.services.delivery import polling


class Command(WatchwordCommand):
    help = "Connect a Telegram bot: set its webhook, or poll for its users' messages."
    epilog = (
        "With an https BASE_URL Telegram calls us. In development, poll instead: that needs no public address, takes\n"
        "the webhook away, and runs until Ctrl-C.\n\n"
        "examples:\n"
        "  manage.py telegram\n"
        "  manage.py telegram 7 --poll"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "bot", metavar="ID", type=int, nargs="?", help="The provider's id, if there is more than one."
        )
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--poll", action="store_true", help="Poll instead of setting the webhook.")
        way.add_argument("--remove", action="store_true", help="Remove the webhook.")

    def handle(self, *, bot: int | None, poll: bool, remove: bool, json: bool, **_: Any) -> None:
        found = polling.find_bot(bot)
        if poll:
            polling.remove_webhook(found)
            stopping = threading.Event()
            signal.signal(signal.SIGTERM, lambda *_: stopping.set())
            self.stderr.write(f"Polling for {found.name}. Press Ctrl-C to stop.")
            polling.poll(found, is_stopped=stopping.is_set)
        elif remove:
            polling.remove_webhook(found)
            self.show({"bot": found.pk, "webhook": None}, f"Removed the webhook of {found.name}.", as_json=json)
        else:
            url = polling.set_webhook(found)
            self.show({"bot": found.pk, "webhook": url}, f"{found.name} sends its updates to {url}", as_json=json)
