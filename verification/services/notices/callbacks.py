"""Callbacks: the customer's server is told how a manual send ended, by a call signed as Standard Webhooks has it.

The rows are the queue. Workers call in threads of their own, so that a slow receiver slows down no message.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from standardwebhooks import Webhook

from providers.door.http import HttpAnswer, Timeouts, retry_after_seconds
from providers.errors import ProviderError
from verification import metrics, sql, timestamps
from verification.crypto import DecryptionFailed
from verification.errors import Misuse
from verification.models import Callback, CallbackAttempt, MessageStatus, Project
from verification.outside import Busy, outside
from verification.services.gateways.accounts import http_door
from verification.services.notices import schedule
from verification.services.projects.webhook_secrets import live_webhook_secrets
from verification.sql.rows import ClaimedCallback

log = logging.getLogger(__name__)

TIMEOUTS = Timeouts(connect=3.0, total=10.0)
LEASE_SECONDS = 30  # the time a worker has for one callback: longer than a call may take.
PER_PROJECT = 2  # calls of one project at a time, in each worker: a slow receiver leaves threads to the others.
MAX_RETRY_AFTER_SECONDS = 86_400  # a receiver that asks for a longer wait is called after this one.
GONE = 410  # the status by which a receiver says that it wants no further call.


@dataclass(frozen=True, slots=True)
class Try:
    """The end of one call: its HTTP status, or None and the error. ``retry_after`` is the wait the server asked for."""

    status: int | None
    error: str = ""
    retry_after: float | None = None

    @property
    def is_delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def result(self) -> str:
        """The end in one word, for the metrics."""
        if self.status is None:
            return "unreachable"
        return "delivered" if self.is_delivered else "refused"


def claim_due(*, limit: int, busy: Sequence[int] = ()) -> list[ClaimedCallback]:
    """Claim callbacks that are due, up to :data:`PER_PROJECT` of a project.

    ``busy`` names the project of each callback that this process has under way, and so may name one twice.
    """
    return sql.call_many(
        ClaimedCallback,
        "claim_callbacks",
        limit=limit,
        per_project=PER_PROJECT,
        busy=list(busy),
        lease_seconds=LEASE_SECONDS,
    )


def deliver(row: ClaimedCallback) -> None:
    """Make one call for a claimed callback (a row of ``claim_callbacks``) and note its outcome."""
    started_at = time.monotonic()
    tried = call(
        project=Project.objects.get(pk=row.project_id),
        url=row.url,
        event_id=f"msg_{row.message_id}",
        body={
            "id": row.message_id,
            "channel": row.channel,
            "status": row.status,
            "error": row.error,
            "finished_at": timestamps.iso(row.finished_at),
        },
    )
    metrics.count_callback(tried.result)
    CallbackAttempt.objects.create(
        callback_id=row.message_id,
        status=tried.status,
        error=tried.error[:200],
        latency_ms=round((time.monotonic() - started_at) * 1000),
    )
    delivered_at = sql.now() if tried.is_delivered else None
    due_at = None
    if not tried.is_delivered and tried.status != GONE:
        due_at = schedule.next_try(row.tries, wait_at_least=tried.retry_after or 0)
    Callback.objects.filter(pk=row.message_id, tries=row.tries).update(due_at=due_at, delivered_at=delivered_at)
    if not tried.is_delivered and due_at is None:
        log.warning("The callback of message %s was given up after %s tries.", row.message_id, row.tries)


def call(*, project: Project, url: str, event_id: str, body: dict[str, Any]) -> Try:
    """POST one signed event. Every live secret of the project signs the very bytes that are sent."""
    try:
        secrets = [secret for secret, _ in live_webhook_secrets(project)]
    except DecryptionFailed:
        return Try(None, error="The webhook secret cannot be decrypted; is a key of ENCRYPTION_KEYS missing?")
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    now = sql.now()
    signatures = [Webhook(secret).sign(event_id, now, text) for secret in secrets]
    headers = {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
        "user-agent": "Watchword",
    }
    try:
        with outside(project.pk):
            answer = http_door().request(
                "POST", url, headers=headers, content=text.encode(), timeout=TIMEOUTS, wants_body=False
            )
    except ProviderError as error:
        return Try(None, error=str(error))
    return Try(answer.status, error="" if answer.status < 300 else _reason(answer), retry_after=_asked_for(answer))


def send_again(callback: Callback) -> None:
    """Start the schedule over, for an owner who has mended their server."""
    Callback.objects.filter(pk=callback.pk).update(due_at=sql.now(), delivered_at=None, tries=0)


def send_test_event(*, project: Project, url: str) -> Try:
    """Call ``url`` once with a made-up message, so that an owner sees their receiver work.

    Raises :class:`Misuse` for a project without a webhook secret, and where too many requests wait outside already.
    """
    if not live_webhook_secrets(project):
        raise Misuse("The project has no webhook secret to sign with.")
    body = {
        "id": 0,
        "channel": "sms",
        "status": MessageStatus.SUCCESS.value,
        "error": None,
        "finished_at": timestamps.iso(sql.now()),
    }
    try:
        return call(project=project, url=url, event_id=f"test_{int(time.time())}", body=body)
    except Busy as busy:
        raise Misuse(f"It was not sent. {busy.detail}") from None


def _reason(answer: HttpAnswer) -> str:
    return "redirects are not followed" if 300 <= answer.status < 400 else f"HTTP {answer.status}"


def _asked_for(answer: HttpAnswer) -> float | None:
    return retry_after_seconds(answer, most=MAX_RETRY_AFTER_SECONDS)
