"""The balances that vendors told of the accounts at them."""

from django.db import models

from verification.models.prices import DECIMAL_PLACES, SUM_DIGITS

UNIT_MAX_LENGTH = 7  # characters: a currency of ISO 4217, or "credits"


class VendorBalance(models.Model):
    """The balance of a provider's account when the vendor was first asked on a day (UTC)."""

    provider = models.ForeignKey(
        "verification.Provider", on_delete=models.CASCADE, related_name="balances", db_index=False
    )
    day = models.DateField()
    amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=DECIMAL_PLACES)
    unit = models.CharField(max_length=UNIT_MAX_LENGTH)

    class Meta:
        constraints = (models.UniqueConstraint(name="vendor_balance_once", fields=("provider", "day")),)
        indexes = (models.Index(name="vendor_balance_to_purge", fields=("day",)),)

    def __str__(self) -> str:
        return f"{self.amount} {self.unit} on {self.day}"
