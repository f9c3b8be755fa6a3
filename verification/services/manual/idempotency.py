"""The same request twice has one effect and one answer: by its ``Idempotency-Key``, or by the id of an identity system.

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
from typing import Any, NamedTuple

from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now

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
    return _answer_once(
        _Request(caller.project.id, key, caller.key_id, json.dumps(body, sort_keys=True), KEPT), execute
    )


def answer_call_once(
    *, project_id: int, connection_id: int, call: str, kept: timedelta, execute: Callable[[], dict[str, Any]]
) -> IdempotentAnswer:
    """The same for a call of an identity system, which is known by ``call`` for as long as ``kept``.

    Raises ``idempotency_conflict`` with ``retry_after`` where the first call is still at work.
    """
    key = f"connection {connection_id} {call}"  # no key of a caller's has a space
    return _answer_once(_Request(project_id, key, None, key, kept), execute)


class _Request(NamedTuple):
    project_id: int
    key: str
    key_id: int | None  # of the secret key that it came with; None for an identity system
    body: str
    kept: timedelta


def _answer_once(request: _Request, execute: Callable[[], dict[str, Any]]) -> IdempotentAnswer:
    with transaction.atomic():
        answer = _answer(request, execute)
    if isinstance(answer, ApiError):
        raise answer
    return answer


def _answer(request: _Request, execute: Callable[[], dict[str, Any]]) -> IdempotentAnswer | ApiError:
    """Return a refusal by ``execute`` instead of raising it: raising would roll back what the traffic guard wrote."""
    digests = body_digests(request.body)
    stored = _claim(request, digests[0])
    binding = crypto.idempotent_answer_binding(request.project_id, request.key)
    if stored.answer_encrypted is None:  # ours: a row that others can see has its answer
        own = IdempotentRequest.objects.filter(pk=stored.pk)
        try:
            answer = execute()
        except ApiError as refusal:
            own.delete()
            return refusal
        own.update(answer_encrypted=encrypt(json.dumps(answer), binding=binding), message=answer["message_id"])
        return IdempotentAnswer(answer, is_replayed=False)
    if bytes(stored.body_digest) not in digests or stored.api_key_id != request.key_id:
        raise ApiError("idempotency_conflict")
    try:
        answer = dict(json.loads(decrypt(bytes(stored.answer_encrypted), binding=binding)))
    except DecryptionFailed:
        raise ApiError(
            "idempotency_conflict",
            "Watchword accepted the message of this key, but can no longer read its answer. Do not send it again.",
        ) from None
    return IdempotentAnswer(answer, is_replayed=True)


def _claim(request: _Request, digest: bytes) -> IdempotentRequest:
    """Return the row of this key, and make it if there is none. Wait for another request's commit, within limits."""
    rows = IdempotentRequest.objects.filter(project_id=request.project_id, key=request.key)
    new = IdempotentRequest(
        project_id=request.project_id, key=request.key, api_key_id=request.key_id, body_digest=digest
    )
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {WAIT_MILLISECONDS}")
            rows.filter(created_at__lt=Now() - request.kept).delete()
            IdempotentRequest.objects.bulk_create([new], ignore_conflicts=True)
            cursor.execute("SET LOCAL lock_timeout TO DEFAULT")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") == LOCK_NOT_AVAILABLE:
            raise ApiError(
                "idempotency_conflict",
                "The first request with this key is still running. Repeat it in a moment.",
                retry_after=COME_BACK_SECONDS,
            ) from None
        raise
    return rows.get()
