"""What the service does for itself, and when it last did."""

from django.db import models


class Upkeep(models.Model):
    """One kind of recurring work. Whoever moves ``started_at`` forward does the next run."""

    name = models.CharField(primary_key=True, max_length=40)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
