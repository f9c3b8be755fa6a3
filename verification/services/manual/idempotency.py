"""``Idempotency-Key``: the same request twice has one effect and one answer.

The row is written in the transaction of the effect itself. A second request with the same key waits at the unique
constraint for the first one's commit, and then finds its answer. If the first request fails, the second one executes.

An answer holds the envelope of a code, so it is kept encrypted. Of a body only a keyed digest is kept, as a plain one
would let its code be guessed. After a change of ``SECRET_KEY`` its fallbacks still recognise earlier bodies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from verification.core import crypto
from verification.core.crypto import DecryptionFailed, body_digests, decrypt, encrypt
from verification.core.errors import ApiError
from verification.models import IdempotentRequest
from verification.services.projects.keys import Caller

KEPT = timedelta(hours=24)  # how long a key is remembered, as the API promises. Repetitions come within a day.
WAIT_MILLISECONDS = 5_000  # wait of a parallel request for the first one's answer, as the API promises.
COME_BACK_SECONDS = 1  # when a request comes back whose first one took longer than that
LOCK_NOT_AVAILABLE = "55P03"  # PostgreSQL's code for a lock that did not come within `lock_timeout`


@dataclass(frozen=True, slots=True)
class IdempotentAnswer:
    """An answer. ``is_replayed``: an earlier request with this key got it first."""

    body: dict[str, Any]
    is_replayed: bool


def answer_once(
    *, caller: Caller, key: str, body: Mapping[str, Any], execute: Callable[[], dict[str, Any]]
) -> IdempotentAnswer:
    """Return the stored answer to this key, or the answer of ``execute`` and store it. Refusals are not stored.

    Raises ``idempotency_conflict`` where the key came with another body or another secret key, and with ``retry_after``
    where the first request is still at work.
    """
    digests = body_digests(json.dumps(body, sort_keys=True))
    with transaction.atomic():
        answer = _answer(caller, key, digests, execute)
    if isinstance(answer, ApiError):
        raise answer
    return answer


def _answer(
    caller: Caller, key: str, digests: list[bytes], execute: Callable[[], dict[str, Any]]
) -> IdempotentAnswer | ApiError:
    """Return a refusal by ``execute`` instead of raising it: raising would roll back what the traffic guard wrote."""
    stored = _claim(caller, key, digests[0])
    binding = crypto.idempotent_answer_binding(caller.project.id, key)
    if stored.answer_encrypted is None:  # ours: a row that others can see has its answer
        own = IdempotentRequest.objects.filter(pk=stored.pk)
        try:
            answer = execute()
        except ApiError as refusal:
            own.delete()
            return refusal
        own.update(answer_encrypted=encrypt(json.dumps(answer), binding=binding), message=answer["message_id"])
        return IdempotentAnswer(answer, is_replayed=False)
    if bytes(stored.body_digest) not in digests or stored.api_key_id != caller.key_id:
        raise ApiError("idempotency_conflict")
    try:
        answer = dict(json.loads(decrypt(bytes(stored.answer_encrypted), binding=binding)))
    except DecryptionFailed:
        raise ApiError(
            "idempotency_conflict",
            "The message of this key was accepted, but its answer can no longer be read. Do not send it again.",
        ) from None
    return IdempotentAnswer(answer, is_replayed=True)


def _claim(caller: Caller, key: str, digest: bytes) -> IdempotentRequest:
    """Return the row of this key, and make it if there is none. Wait for another request's commit, within limits."""
    requests = IdempotentRequest.objects.filter(project_id=caller.project.id, key=key)
    request = IdempotentRequest(project_id=caller.project.id, key=key, api_key_id=caller.key_id, body_digest=digest)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {WAIT_MILLISECONDS}")
            requests.filter(created_at__lt=timezone.now() - KEPT).delete()
            IdempotentRequest.objects.bulk_create([request], ignore_conflicts=True)
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") == LOCK_NOT_AVAILABLE:
            raise ApiError(
                "idempotency_conflict",
                "The first request with this key is still at work. Repeat it in a moment.",
                retry_after=COME_BACK_SECONDS,
            ) from None
        raise
    return requests.get()
