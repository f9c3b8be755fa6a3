"""The request by which a row came about."""

from __future__ import annotations

from typing import Any

from django.db import models

from verification.core import ids


def request_field() -> Any:
    return models.UUIDField(
        null=True, help_text="The id of the request, if it tells its time: by that the row is found without an index."
    )


def caller_request_field() -> Any:
    return models.CharField(
        max_length=ids.REQUEST_ID_MAX_LENGTH,
        default="",
        db_default="",
        help_text="The id of the request, if its caller chose it.",
    )


class Requested(models.Model):
    """A row that a request made, with the request's id in one of two columns."""

    request = request_field()
    caller_request = caller_request_field()

    class Meta:
        abstract = True

    @property
    def request_id(self) -> str:
        return ids.format_request_id(self.request, self.caller_request)
