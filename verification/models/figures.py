"""Figures that last: how much happened in an hour or a day, without any person in it.

The workers count these rows from the sessions, messages and attempts. They outlive those rows by far.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from verification.models.channels import ChannelType
from verification.models.fields import LANGUAGE_MAX_LENGTH

COUNTRY_MAX_LENGTH = 3  # characters of an ISO 3166 code, as wide as elsewhere
AREA_MAX_LENGTH = 9  # characters: the plus and the first 8 digits, which name the country of every number


class Figures(models.Model):
    """Counts of one project by channel, provider, country and language.

    A session counts in the hour or day of its creation, over the channel and the provider of its last accepted
    message. Its channel is empty and its provider 0 where no message was written. A message and its attempts count in
    the hour or day of the message's creation. Test logins never count.

    The times are histograms, null where there is no time to count; ``sql/records/count_figures.sql`` has their buckets.
    """

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False)
    channel = models.CharField(max_length=20, choices=ChannelType.choices, blank=True)
    provider_id = models.BigIntegerField(help_text="The provider, also once it was deleted; 0 for none.")
    country = models.CharField(max_length=COUNTRY_MAX_LENGTH, blank=True, help_text="ISO 3166, empty for none.")
    language = models.CharField(max_length=LANGUAGE_MAX_LENGTH)
    is_manual = models.BooleanField(help_text="Sent by the customer's server itself, so without a session.")

    sessions = models.PositiveIntegerField(default=0)
    sessions_sent = models.PositiveIntegerField(default=0, help_text="A provider accepted a message of them.")
    sessions_delivered = models.PositiveIntegerField(default=0, help_text="A message of them arrived.")
    sessions_checked = models.PositiveIntegerField(default=0, help_text="A code was entered.")
    sessions_verified = models.PositiveIntegerField(default=0, help_text="The right code was entered.")
    sessions_proved = models.PositiveIntegerField(default=0, help_text="Their token was redeemed.")
    sessions_first = models.PositiveIntegerField(default=0, help_text="Verified with one message.")

    messages = models.PositiveIntegerField(default=0)
    messages_accepted = models.PositiveIntegerField(default=0)
    messages_delivered = models.PositiveIntegerField(default=0)
    messages_confirmed = models.PositiveIntegerField(default=0, help_text="Delivered, as a receipt of its own says.")
    messages_failed = models.PositiveIntegerField(default=0)
    messages_expired = models.PositiveIntegerField(default=0)

    attempts = models.PositiveIntegerField(default=0, help_text="Calls of this provider.")
    attempts_accepted = models.PositiveIntegerField(default=0)

    accept_times = ArrayField(models.IntegerField(), null=True, help_text="A message's, from creation to acceptance.")
    receipt_times = ArrayField(models.IntegerField(), null=True, help_text="A message's, from creation to receipt.")
    verify_times = ArrayField(models.IntegerField(), null=True, help_text="A session's, from creation to right code.")

    class Meta:
        abstract = True


class HourlyFigures(Figures):
    """The figures of one hour (UTC)."""

    hour = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="hourly_figures_once",
                fields=("project", "hour", "channel", "provider_id", "country", "language", "is_manual"),
            ),
        )
        indexes = (models.Index(name="hourly_figures_to_purge", fields=("hour",)),)

    def __str__(self) -> str:
        return f"figures of {self.hour}"


class DailyFigures(Figures):
    """The figures of one day (UTC) that is over: the sum of its hours."""

    day = models.DateField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="daily_figures_once",
                fields=("project", "day", "channel", "provider_id", "country", "language", "is_manual"),
            ),
        )
        indexes = (models.Index(name="daily_figures_to_purge", fields=("day",)),)

    def __str__(self) -> str:
        return f"figures of {self.day}"


class DailyUsers(models.Model):
    """The different recipients of one day (UTC): how many asked for a code, and how many of them were verified."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    users = models.PositiveIntegerField()
    verified = models.PositiveIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(name="daily_users_once", fields=("project", "day")),)

    def __str__(self) -> str:
        return f"users of {self.day}"


class HourlyRefusals(models.Model):
    """The requests that a rule of the decision log refused in one hour, without whom it refused."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False)
    hour = models.DateTimeField()
    rule = models.CharField(max_length=40)
    country = models.CharField(max_length=COUNTRY_MAX_LENGTH, blank=True)
    refused = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(name="hourly_refusals_once", fields=("project", "hour", "rule", "country")),
        )
        indexes = (models.Index(name="hourly_refusals_to_purge", fields=("hour",)),)

    def __str__(self) -> str:
        return f"{self.rule} at {self.hour}"


class HourlyFaults(models.Model):
    """The calls of a provider in one hour that it did not accept, by their outcome and the number's country."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False)
    hour = models.DateTimeField()
    provider_id = models.BigIntegerField()
    country = models.CharField(max_length=COUNTRY_MAX_LENGTH, blank=True)
    outcome = models.CharField(max_length=20)
    calls = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="hourly_faults_once", fields=("project", "hour", "provider_id", "country", "outcome")
            ),
        )
        indexes = (models.Index(name="hourly_faults_to_purge", fields=("hour",)),)

    def __str__(self) -> str:
        return f"{self.outcome} at {self.hour}"


class NumberArea(models.Model):
    """The country of the numbers that begin alike, so that PostgreSQL can count by country. It can be lost any time."""

    area = models.CharField(primary_key=True, max_length=AREA_MAX_LENGTH)
    country = models.CharField(max_length=COUNTRY_MAX_LENGTH, blank=True)
    noted_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.area


class PurgedRows(models.Model):
    """The time before which a project's sessions and messages have been purged: figures of then stay as they are."""

    project = models.OneToOneField("verification.Project", primary_key=True, on_delete=models.CASCADE)
    before = models.DateTimeField()

    def __str__(self) -> str:
        return f"rows before {self.before}"
