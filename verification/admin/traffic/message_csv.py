"""The CSV file of messages: its columns beside those of the list, such as the cost, the country and the times."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db.models import prefetch_related_objects
from django.http import HttpRequest

from verification.admin.base.csv_export import is_asked_for
from verification.admin.base.pagination import NewestList
from verification.admin.base.traffic_admin import NewestFirstAdmin
from verification.core.addresses import country_of
from verification.core.formats import iso_time
from verification.models import DeliveryAttempt, Message, MessageStatus

# Beside the list's columns. Their headings are in English whatever the reader's language.
CSV_COLUMNS = (
    "session_number",
    "country",
    "language_label",
    "accepted_at",
    "final_at",
    "accept_seconds",
    "deliver_seconds",
    "segments",
    "cost",
    "currency",
)


def _charged(message: Message) -> list[DeliveryAttempt]:
    return [attempt for attempt in message.attempts.all() if attempt.currency and attempt.price is not None]


def _seconds_between(since: datetime, until: datetime | None) -> str:
    return "" if until is None else f"{max((until - since).total_seconds(), 0):.3f}"


class MessageList(NewestList):
    """Reads the attempts of all messages at once."""

    def prefetch(self, rows: list[Any]) -> None:
        prefetch_related_objects(rows, "attempts")


class MessageCsvColumns(NewestFirstAdmin):
    """The columns of the file, for the page of messages."""

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = super().get_list_display(request)
        if not is_asked_for(request):
            return columns
        return (*columns, *(each for each in CSV_COLUMNS if each not in columns))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NewestList]:
        return MessageList

    @admin.display(description="Country")
    def country(self, message: Message) -> str:
        return country_of(message.recipient.address)

    @admin.display(description="Accepted")
    def accepted_at(self, message: Message) -> str:
        return iso_time(message.sent_at) if message.sent_at else ""

    @admin.display(description="Completed")
    def final_at(self, message: Message) -> str:
        return iso_time(message.finished_at) if message.finished_at else ""

    @admin.display(description="Seconds to accept")
    def accept_seconds(self, message: Message) -> str:
        return _seconds_between(message.created_at, message.sent_at)

    @admin.display(description="Seconds to deliver")
    def deliver_seconds(self, message: Message) -> str:
        is_delivered = message.status == MessageStatus.SUCCESS
        return _seconds_between(message.created_at, message.finished_at if is_delivered else None)

    @admin.display(description="Segments")
    def segments(self, message: Message) -> str:
        found = [attempt.segments for attempt in message.attempts.all() if attempt.segments]
        return str(sum(found)) if found else ""

    @admin.display(description="Cost")
    def cost(self, message: Message) -> str:
        """Return what all attempts cost; empty where a price is not known, or where two currencies were charged."""
        charged = _charged(message)
        if len({attempt.currency for attempt in charged}) != 1:
            return ""
        return f"{sum((attempt.price or Decimal(0) for attempt in charged), Decimal(0)).normalize():f}"

    @admin.display(description="Currency")
    def currency(self, message: Message) -> str:
        return " ".join(sorted({attempt.currency or "" for attempt in _charged(message)}))
