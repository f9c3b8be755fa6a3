"""Selections of rows that several places ask for, by name."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

M = TypeVar("M", bound=models.Model)


class Expiring(models.QuerySet[M]):
    """Rows with an ``expires_at``, which may be null for those without an end."""

    def live(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
