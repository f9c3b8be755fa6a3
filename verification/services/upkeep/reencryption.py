"""Every ciphertext in the database under the newest key, so that an old one can be dropped.

Processes may be at work meanwhile. A row is only written where its ciphertext is still the one that was read, so
nobody's change is lost, and each row is a transaction of its own, so the work can be broken off and begun again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import F, Func, Model, QuerySet, Value

from verification import crypto, places
from verification.models import (
    IdempotentRequest,
    Message,
    Project,
    Provider,
    SecondFactor,
    Session,
    TestLogin,
    WebhookSecret,
)

BATCH = 500  # rows that are read at once


@dataclass(frozen=True, slots=True)
class EncryptedColumn:
    """A column of ciphertexts. ``place`` makes the associated data from the values of the lookups ``bound_to``."""

    model: type[Model]
    column: str
    bound_to: tuple[str, ...]
    place: Callable[..., str]

    @property
    def name(self) -> str:
        return f"{self.model._meta.model_name}.{self.column}"

    def rows(self) -> QuerySet[Any]:
        """Those that hold a ciphertext, with the id of the key that it is under."""
        key_id = Func(
            F(self.column),
            Value(crypto.KEY_ID_FROM + 1),  # PostgreSQL counts from one
            Value(crypto.KEY_ID_BYTES),
            function="substring",
            output_field=models.BinaryField(),
        )
        with_one = self.model._default_manager.filter(**{f"{self.column}__isnull": False})
        rows: QuerySet[Any] = with_one.annotate(key_id=key_id)
        return rows


COLUMNS = (
    EncryptedColumn(Provider, "secrets", ("uuid",), places.provider_secrets),
    EncryptedColumn(Provider, "hook_secret", ("uuid",), places.provider_hook),
    EncryptedColumn(Project, "challenge_secret", ("public_id",), places.challenge_secret),
    EncryptedColumn(WebhookSecret, "secret", ("project__public_id",), places.webhook_secret),
    EncryptedColumn(TestLogin, "code_encrypted", ("project__public_id", "to"), places.test_login),
    EncryptedColumn(SecondFactor, "secret", ("user_id",), places.second_factor),
    EncryptedColumn(Session, "code_encrypted", ("pk",), places.session_code),
    EncryptedColumn(Message, "code_encrypted", ("pk",), places.message_code),
    EncryptedColumn(IdempotentRequest, "answer_encrypted", ("project_id", "key"), places.idempotent_answer),
)


@dataclass(frozen=True, slots=True)
class Count:
    """What became of one column's rows. ``changed_meanwhile`` are those that somebody else wrote or wiped first."""

    reencrypted: int
    changed_meanwhile: int
    unreadable: int


def reencrypt(column: EncryptedColumn) -> Count:
    """Bring a column under the newest key. What is there already is not read; what no key opens is left as it is."""
    counts: Counter[str] = Counter()
    for pk, ciphertext, *bound_to in _old(column):
        counts[_reencrypt_row(column, pk, bytes(ciphertext), column.place(*bound_to))] += 1
    return Count(counts["reencrypted"], counts["changed_meanwhile"], counts["unreadable"])


def rows_by_key() -> dict[str, int]:
    """How many ciphertexts of the database are under each key, by the key's id in hex: the ring's in its order, then
    those that no key of the ring opens."""
    counts = Counter(dict.fromkeys((key_id.hex() for key_id in crypto.key_ids()), 0))
    for column in COLUMNS:
        for key_id, rows in column.rows().order_by().values_list("key_id").annotate(rows=models.Count("pk")):
            counts[bytes(key_id).hex()] += rows
    return dict(counts)


def _old(column: EncryptedColumn) -> Iterator[tuple[Any, ...]]:
    """Key, ciphertext and what it is bound to, of the rows that are not under the newest key."""
    old = column.rows().exclude(key_id=crypto.key_ids()[0]).order_by("pk")
    rows = old.values_list("pk", column.column, *column.bound_to)
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])


def _reencrypt_row(column: EncryptedColumn, pk: Any, old: bytes, place: str) -> str:
    try:
        new = crypto.encrypt(crypto.decrypt(old, place=place), place=place)
    except crypto.DecryptionFailed:
        return "unreadable"
    is_ours = column.model._default_manager.filter(pk=pk, **{column.column: old}).update(**{column.column: new})
    return "reencrypted" if is_ours else "changed_meanwhile"
