"""Bringing every ciphertext in the database under the newest key, so that an old key can be dropped.

Processes may be at work meanwhile. A row is written only where its ciphertext is still the one that was read, so
nobody's change is lost. Each row is a transaction of its own, so the work can be broken off and begun again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import models
from django.db.models import F, Func, Model, QuerySet, Value

from verification.core import crypto
from verification.models import (
    AlertService,
    IdempotentRequest,
    IdentityConnection,
    Message,
    Project,
    Provider,
    SecondFactor,
    Session,
    TestLogin,
    WebhookSecret,
)
from verification.models.project_settings import SECRETS

BATCH = 500  # rows read by one query


@dataclass(frozen=True, slots=True)
class EncryptedColumn:
    """A column of ciphertexts. ``binding`` makes the associated data from the values of the lookups ``bound_to``."""

    model: type[Model]
    column: str
    bound_to: tuple[str, ...]
    binding: Callable[..., str]

    @property
    def name(self) -> str:
        return f"{self.model._meta.model_name}.{self.column}"

    def rows(self) -> QuerySet[Any]:
        """Return the rows that hold a ciphertext, with the id of the key that it is under."""
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
    EncryptedColumn(Provider, "secrets", ("uuid",), crypto.provider_secrets_binding),
    EncryptedColumn(Provider, "hook_secret", ("uuid",), crypto.provider_hook_binding),
    EncryptedColumn(AlertService, "secret", ("uuid",), crypto.alert_service_binding),
    EncryptedColumn(IdentityConnection, "secret", ("public_id",), crypto.connection_secret_binding),
    *(
        EncryptedColumn(Project, name, ("public_id",), partial(crypto.project_secret_binding, name=name))
        for name in SECRETS
    ),
    EncryptedColumn(WebhookSecret, "secret", ("project__public_id",), crypto.webhook_secret_binding),
    EncryptedColumn(TestLogin, "code_encrypted", ("project__public_id", "to"), crypto.test_login_binding),
    EncryptedColumn(SecondFactor, "secret", ("user_id",), crypto.second_factor_binding),
    EncryptedColumn(Session, "code_encrypted", ("pk",), crypto.session_code_binding),
    EncryptedColumn(Message, "code_encrypted", ("pk",), crypto.message_code_binding),
    EncryptedColumn(IdempotentRequest, "answer_encrypted", ("project_id", "key"), crypto.idempotent_answer_binding),
)
SHORT_LIVED = (Session, Message, IdempotentRequest)  # their ciphertexts go within minutes, and their tables are large


@dataclass(frozen=True, slots=True)
class Count:
    """The results of one column. ``changed_meanwhile`` counts rows that somebody else wrote or wiped first."""

    reencrypted: int
    changed_meanwhile: int
    unreadable: int


def reencrypt(column: EncryptedColumn) -> Count:
    """Bring a column under the newest key. Rows under it are not read; a ciphertext that no key opens stays."""
    counts: Counter[str] = Counter()
    for pk, ciphertext, *bound_to in _old(column):
        counts[_reencrypt_row(column, pk, bytes(ciphertext), column.binding(*bound_to))] += 1
    return Count(counts["reencrypted"], counts["changed_meanwhile"], counts["unreadable"])


def rows_by_key(columns: Sequence[EncryptedColumn] = COLUMNS) -> dict[str, int]:
    """Count the ciphertexts in these columns under each key, by the key's id in hex.

    The keys of the ring come first, in its order, then those that the ring does not have.
    """
    counts = Counter(dict.fromkeys((key_id.hex() for key_id in crypto.key_ids()), 0))
    for column in columns:
        for key_id, rows in column.rows().order_by().values_list("key_id").annotate(rows=models.Count("pk")):
            counts[bytes(key_id).hex()] += rows
    return dict(counts)


def _old(column: EncryptedColumn) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that are not under the newest key: primary key, ciphertext, and what it is bound to."""
    old = column.rows().exclude(key_id=crypto.key_ids()[0]).order_by("pk")
    rows = old.values_list("pk", column.column, *column.bound_to)
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])


def _reencrypt_row(column: EncryptedColumn, pk: Any, old: bytes, binding: str) -> str:
    try:
        new = crypto.encrypt(crypto.decrypt(old, binding=binding), binding=binding)
    except crypto.DecryptionFailed:
        return "unreadable"
    is_ours = column.model._default_manager.filter(pk=pk, **{column.column: old}).update(**{column.column: new})
    return "reencrypted" if is_ours else "changed_meanwhile"
