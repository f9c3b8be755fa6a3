"""The verdicts of risk checks: what a service said of a number before an SMS or a call was paid for."""

from django.db import models
from django.db.models.functions import Now

from verification.core import formats
from verification.models.messages import Message
from verification.models.prices import DECIMAL_PLACES, PRICE_DIGITS
from verification.models.projects import Project


class RiskVerdict(models.Model):
    """One question to one service, for the message that it was asked for. It goes with the message.

    A verdict other than ``unknown`` holds for the recipient for a day. The price is the project's: services tell none.
    """

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="risk_verdicts", db_constraint=False)
    project = models.ForeignKey(Project, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False)
    recipient = models.ForeignKey(
        "verification.Recipient", on_delete=models.DO_NOTHING, db_index=False, db_constraint=False
    )
    check_name = models.CharField(max_length=20)
    verdict = models.CharField(max_length=9, help_text="allow, challenge, deny or unknown.")
    reason = models.CharField(max_length=200, blank=True)
    latency_ms = models.PositiveIntegerField()
    price = models.DecimalField(max_digits=PRICE_DIGITS, decimal_places=DECIMAL_PLACES, null=True)
    currency = models.CharField(max_length=formats.CURRENCY_LENGTH, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (
            models.Index(name="risk_verdict_of_recipient", fields=("recipient", "-created_at")),
            models.Index(name="risk_verdict_of_project", fields=("project", "created_at")),
        )

    def __str__(self) -> str:
        return f"{self.check_name}: {self.verdict}"
