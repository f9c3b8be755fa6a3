"""Events: the customer's server is told what happened, by a call signed as Standard Webhooks has it.

An event is the end of a message (for a manual send its callback), or what became of a session. The rows are the queue:
each is told until the server takes it or the schedule ends. Workers call in threads of their own, so that a slow
receiver slows down no message.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError
from standardwebhooks import Webhook

from providers.errors import ProviderError
from providers.http.client import HttpAnswer, Timeouts, retry_after_seconds
from verification import sql
from verification.core import metrics, tracing
from verification.core.bulkhead import BulkheadFull, bulkhead
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.core.ids import ULID_LENGTH
from verification.models import EventType, MessageStatus, Project, WebhookAttempt, WebhookEvent
from verification.services.notifications import schedule
from verification.services.notifications.payloads import body_of, webhook_id
from verification.services.projects.webhook_secrets import live_webhook_secrets
from verification.services.providers.http_client import BoundedHttpClient, http_client
from verification.services.records import traceparents
from verification.sql.rows import DescribedEvent

log = logging.getLogger(__name__)

TIMEOUTS = Timeouts(connect=3.0, total=10.0)
LEASE_SECONDS = 30  # the time a worker has for one event: longer than a call may take.
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


def claim_due(*, limit: int, busy: Sequence[int] = ()) -> list[DescribedEvent]:
    """Claim events that are due, up to :data:`PER_PROJECT` of a project.

    ``busy`` names the project of each event that this process has under way, and so may name one twice.
    """
    return sql.call_many(
        DescribedEvent,
        "claim_events_to_tell",
        limit=limit,
        per_project=PER_PROJECT,
        busy=list(busy),
        lease_seconds=LEASE_SECONDS,
    )


def deliver(row: DescribedEvent) -> None:
    """Make one call for a claimed event (a row of ``claim_events_to_tell``) and note its outcome."""
    started_at = time.monotonic()
    parent = traceparents.of_message(row.message_id) or traceparents.of_session(row.session_id)
    with tracing.span("callback", "CLIENT", parent=parent, event=row.type):
        try:
            tried = _send(row)
        except DatabaseError:
            raise
        except Exception as error:  # no fault of the customer's server: the schedule holds for it too
            what = type(error).__name__
            log.error("Event %s of project %s could not be sent: %s.", webhook_id(row), row.project_id, what)
            tried = Try(None, error=f"Watchword could not send it: {what}.")
        tracing.annotate(project=row.project_id, result=tried.result, status=tried.status, tries=row.tries)
    metrics.count_callback(tried.result)
    WebhookAttempt.objects.create(
        event_id=row.id,
        status=tried.status,
        error=tried.error[:200],
        latency_ms=round((time.monotonic() - started_at) * 1000),
    )
    delivered_at = sql.now() if tried.is_delivered else None
    due_at = None
    if not tried.is_delivered and tried.status != GONE:
        due_at = schedule.next_try(row.tries, wait_at_least=tried.retry_after or 0)
    WebhookEvent.objects.filter(pk=row.id, tries=row.tries).update(due_at=due_at, delivered_at=delivered_at)
    if not tried.is_delivered and due_at is None:
        log.warning("Event %s was not delivered after %s tries; no more retries.", webhook_id(row), row.tries)


def _send(row: DescribedEvent) -> Try:
    if not row.url:
        return Try(None, error="The project no longer has an address for events.")
    project = Project.objects.get(pk=row.project_id)
    return call(project=project, url=row.url, event_id=webhook_id(row), body=body_of(row))


def call(
    *, project: Project, url: str, event_id: str, body: dict[str, Any], networks: Sequence[str] | None = None
) -> Try:
    """POST one signed event. Every live secret of the project signs the very bytes that are sent.

    ``networks`` are those of our own that may be called, in place of the operator's.
    """
    try:
        secrets = [secret for secret, _ in live_webhook_secrets(project)]
    except DecryptionFailed:
        return Try(None, error="The webhook secret cannot be decrypted; is a key missing from ENCRYPTION_KEYS?")
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
    if traceparent := tracing.current():
        headers["traceparent"] = traceparent
    try:
        with bulkhead(project.pk):
            client = http_client() if networks is None else BoundedHttpClient(networks)
            answer = client.request(
                "POST", url, headers=headers, content=text.encode(), timeout=TIMEOUTS, wants_body=False
            )
    except ProviderError as error:
        return Try(None, error=str(error))
    return Try(answer.status, error="" if answer.status < 300 else _reason(answer), retry_after=_asked_for(answer))


def described(event: WebhookEvent) -> DescribedEvent:
    """Return the event with all that its body tells."""
    return sql.call_many(DescribedEvent, "events_to_tell", ids=[event.pk])[0]


def send_again(event: WebhookEvent) -> None:
    """Start the schedule over, for an owner who has mended their server."""
    WebhookEvent.objects.filter(pk=event.pk).update(due_at=sql.now(), delivered_at=None, tries=0)


def send_test_event(*, project: Project, url: str, event_type: str = EventType.MESSAGE_FINISHED) -> Try:
    """Call ``url`` once with a made-up event, so that an owner sees their receiver work.

    Raises :class:`UserError` for a project without a webhook secret, and where too many requests wait outside already.
    """
    if not live_webhook_secrets(project):
        raise UserError("The project has no webhook secret to sign with.")
    try:
        return call(project=project, url=url, event_id=f"test_{int(time.time())}", body=body_of(_made_up(event_type)))
    except BulkheadFull as full:
        raise UserError(f"Watchword did not send it. {full.detail}") from None


_MADE_UP_REASONS: dict[str, str] = {
    EventType.SESSION_REFUSED: "too_many_sends",
    EventType.SESSION_UNDELIVERED: MessageStatus.FAILED,
}


def _made_up(event_type: str) -> DescribedEvent:
    """Return an event as none has happened: of message 0, or of a session whose id is all zeros."""
    now = sql.now()
    is_message = event_type == EventType.MESSAGE_FINISHED
    return DescribedEvent(
        id=0,
        project_id=0,
        type=event_type,
        created_at=now,
        url="",
        tries=0,
        message_id=0 if is_message else None,
        status=MessageStatus.SUCCESS.value,
        error=None,
        finished_at=now,
        session_id=None if is_message else "0" * ULID_LENGTH,
        channel="sms",
        reason=_MADE_UP_REASONS.get(event_type, ""),
        subject="",
        address="+4915112345678",
        language="en",
        is_test=True,
        opened_at=now,
        expires_at=now,
        shows_recipient=False,
        reference="",
    )


def _reason(answer: HttpAnswer) -> str:
    return "Watchword does not follow redirects" if 300 <= answer.status < 400 else f"HTTP {answer.status}"


def _asked_for(answer: HttpAnswer) -> float | None:
    return retry_after_seconds(answer, most=MAX_RETRY_AFTER_SECONDS)
