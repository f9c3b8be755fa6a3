"""The rules of the rows that every verification writes, which no foreign key and no check of the database holds.

The functions that write the rows hold them: under the recipient's lock or the message's, and in one transaction. To ask
the database for each rule at each write would cost a sixth of the database's time. So they are looked over here, by
``checkintegrity`` and at the end of the tests that race.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, ForeignKey, Model, OuterRef

from verification.models import (
    DailySpend,
    DeliveryAttempt,
    GuardedSend,
    Message,
    Recipient,
    RiskVerdict,
    Session,
    UsedChallenge,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)

LOOKED_OVER: tuple[type[Model], ...] = (
    Recipient,
    Session,
    Message,
    DeliveryAttempt,
    WrongCode,
    VerifyToken,
    GuardedSend,
    RiskVerdict,
    UsedChallenge,
    DailySpend,
    WebhookEvent,
)


def violations() -> dict[str, int]:
    """Return the number of rows that break a rule, by the rule's name; nothing for rules that all rows keep.

    Every row is read.
    """
    counts = {}
    for model in LOOKED_OVER:
        fields: list[Any] = [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey)]
        for field in fields:
            if not field.db_constraint:
                counts[f"{model._meta.model_name}_without_its_{field.name}"] = _lost(model, field)
        for name, rule in getattr(model, "rules", {}).items():
            counts[name] = model._default_manager.filter(~rule).count()
    return {name: count for name, count in counts.items() if count}


def rows() -> dict[str, int]:
    """Return how many rows of each table are looked over, so that an empty database does not look sound."""
    return {model._meta.model_name or "": model._default_manager.count() for model in LOOKED_OVER}


def _lost(model: type[Model], field: Any) -> int:
    """Count the rows that refer to a row that is not there."""
    referred = field.remote_field.model._default_manager.filter(pk=OuterRef(field.attname))
    return model._default_manager.filter(~Exists(referred), **{f"{field.attname}__isnull": False}).count()
