"""``sendtest PROJECT TO --channel CHANNEL``"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, aligned
from verification.models import DeliveryAttempt, Message, MessageStatus, Provider
from verification.models.messages import FINAL
from verification.services.delivery import dispatch
from verification.services.manual.messages import send_message
from verification.services.projects.projects import find_project
from verification.services.projects.snapshot import load_project

WAIT_SECONDS = 30.0
WORKER_SECONDS = 4.0  # a worker's sweep takes within two what its wake-up lost
POLL_SECONDS = 0.1

ENDINGS = {
    MessageStatus.SUCCESS: "delivered, as far as the provider can tell",
    MessageStatus.SENT: "accepted by the provider; no delivery report yet",
    MessageStatus.FAILED: "failed",
    MessageStatus.EXPIRED: "expired before a provider accepted it",
}


class Command(WatchwordCommand):
    help = "Send a real message with a random code, wait, and report the outcome. Exit code 1 on failure."
    epilog = (
        "It counts towards the recipient's limits like any other. If no worker runs, this command delivers it.\n\n"
        "example:\n"
        "  manage.py sendtest Shop +4915112345678 --channel sms"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("to", metavar="TO", help="A phone number with its country code, or an e-mail address.")
        parser.add_argument("--channel", required=True, help="A channel of the project.")

    def handle(self, *, project: str, to: str, channel: str, json: bool, **_: Any) -> None:
        config = load_project(find_project(project).pk)
        if config is None:
            raise UserError("The project is disabled, so Watchword sends none of its messages.")
        sent = send_message(
            project=config,
            address=config.read_address(to),
            channel_type=channel,
            provider_id=None,
            code=None,
            callback_url="",
        )
        message, is_ours = wait(sent.message_id)
        attempts = list(DeliveryAttempt.objects.filter(message=message))
        data = {
            "message": message.pk,
            "status": message.status,
            "error": message.error,
            "delivered_here": is_ours,
            "attempts": [
                {
                    "provider": attempt.provider_name,
                    "outcome": attempt.outcome,
                    "error": attempt.error or None,
                    "latency_ms": attempt.latency_ms,
                }
                for attempt in attempts
            ],
        }
        self.show(data, describe(message, attempts, is_ours), as_json=json)
        if message.status not in (MessageStatus.SUCCESS, MessageStatus.SENT):
            sys.exit(1)


def wait(message_id: int) -> tuple[Message, bool]:
    """The message once it is settled or the time is over, and whether it was delivered by us."""
    started_at = time.monotonic()
    is_ours = False
    while True:
        message = Message.objects.get(pk=message_id)
        waited = time.monotonic() - started_at
        if message.status in FINAL or message.status == MessageStatus.SENT or waited > WAIT_SECONDS:
            return message, is_ours
        if is_ours or (waited > WORKER_SECONDS and not message.claims):
            with contextlib.redirect_stdout(sys.stderr):  # where a console provider prints
                is_ours = dispatch.deliver(message_id) or is_ours
        time.sleep(POLL_SECONDS)


def why_nobody_was_asked(message: Message) -> str:
    serving = Provider.objects.serving(message.project_id).filter(channel=message.channel)
    aside = [row for row in serving.select_related("breaker") if hasattr(row, "breaker") and row.breaker.open_until]
    if aside:
        parts = "; ".join(
            f"{row.name} until {row.breaker.open_until:%H:%M:%S} UTC: {row.breaker.reason}" for row in aside
        )
        return f"No provider was tried. Paused after repeated failures: {parts}"
    return (
        "No provider was tried. Providers that speak SMPP need a worker that connects: manage.py worker --connections"
    )


def describe(message: Message, attempts: list[DeliveryAttempt], is_ours: bool) -> str:
    ending = ENDINGS.get(MessageStatus(message.status), f"not delivered after {WAIT_SECONDS:.0f} s")
    lines = [f"Message {message.pk}: {ending}." + (f" {message.error}" if message.error else "")]
    if is_ours:
        lines.append("No worker picked it up, so this command delivered it. Start one with: manage.py worker")
    if message.status == MessageStatus.SENDING and not attempts:
        lines.append(why_nobody_was_asked(message))
    lines.append(
        aligned(
            (attempt.provider_name, f"{attempt.outcome} after {attempt.latency_ms} ms. {attempt.error}".strip())
            for attempt in attempts
        )
    )
    return "\n".join(filter(None, lines))
