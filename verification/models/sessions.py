"""A verification from its code to its token."""

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from verification.core import request_ids
from verification.core.ids import ULID_LENGTH
from verification.models.channels import ChannelType
from verification.models.fields import LANGUAGE_MAX_LENGTH, NETWORK_MAX_LENGTH
from verification.models.shared import Requested, caller_request_field, request_field

REFERENCE_MAX_LENGTH = 255  # characters of a caller's own word for a session


class SessionState(models.TextChoices):
    OPEN = "open", pgettext_lazy("session", "Open")
    LOCKED = "locked", pgettext_lazy("session", "Locked")
    VERIFIED = "verified", pgettext_lazy("session", "Verified")
    EXPIRED = "expired", pgettext_lazy("session", "Expired")
    CANCELLED = "cancelled", pgettext_lazy("session", "Cancelled")


class SessionQuerySet(models.QuerySet["Session"]):
    def with_state(self) -> Any:
        """Annotate each with its ``state``, a value of :class:`SessionState`, as the SQL function has it."""
        return self.annotate(
            state=RawSQL(
                "CASE WHEN verification_session.cancelled_at IS NOT NULL THEN 'cancelled'"
                " ELSE replace(session_state(verification_session, clock_timestamp()), 'session_', '') END",
                (),
                output_field=models.CharField(),
            )
        )


class Session(Requested):
    """The time in which a recipient can prove that they know a code. Its end is set with it, and nothing moves it back.

    The code is drawn with the session. ``channel`` names where it last went and is empty until it went anywhere;
    until then every code is wrong. Both forms of the code are wiped once the session is verified or over.
    """

    id = models.CharField(_("id"), primary_key=True, max_length=ULID_LENGTH)
    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    recipient = models.ForeignKey(
        "verification.Recipient", on_delete=models.CASCADE, related_name="sessions", db_constraint=False
    )
    language = models.CharField(_("language"), max_length=LANGUAGE_MAX_LENGTH)
    code_digest = models.BinaryField(max_length=32, null=True)
    code_encrypted = models.BinaryField(null=True)
    code_length = models.SmallIntegerField()
    code_digits = models.BooleanField()
    code_letters = models.BooleanField()
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices, blank=True)
    awaited_channel = models.CharField(
        max_length=20,
        choices=ChannelType.choices,
        blank=True,
        help_text="A messenger that the code goes out over once the user starts its bot.",
    )
    reference = models.CharField(
        max_length=REFERENCE_MAX_LENGTH, default="", db_default="", help_text="The caller's own word for it, as given."
    )
    refusal = models.CharField(
        max_length=40,
        blank=True,
        db_default="",
        default="",
        help_text="Why its code did not go out at the last request: an outcome or a rule of the decision log.",
    )
    link_payload = models.CharField(max_length=64, help_text="The one-time payload of the messenger's deep link.")
    is_open = models.BooleanField(default=True, help_text="False once verified, or replaced by a later session.")
    is_link_used = models.BooleanField(default=False, db_default=False, help_text="Used up by binding an account.")
    is_test = models.BooleanField(default=False)
    test_login = models.UUIDField(null=True, help_text="The revision of the test login that it is good for.")
    is_challenged = models.BooleanField(default=False, help_text="Whether a challenge was passed.")
    attempts = models.SmallIntegerField(default=0)
    attempts_max = models.SmallIntegerField()
    subnet = models.CharField(
        max_length=NETWORK_MAX_LENGTH,
        default="",
        db_default="",
        help_text="The origin of the request, as in WrongCode.",
    )
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True)
    cancelled_at = models.DateTimeField(null=True, help_text="When the customer's server ended it before its time.")

    objects = SessionQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        constraints = (
            models.UniqueConstraint(
                # A locked, expired or verified session is closed before the next is opened, under the recipient's
                # lock; so at most one stands open, whatever races.
                name="session_one_open_per_recipient",
                fields=("recipient",),
                condition=Q(is_open=True),
            ),
            # Unique, so that PostgreSQL knows without statistics that it leads to one row; and without `is_open`, so
            # that no other index of open sessions looks as good.
            models.UniqueConstraint(name="session_of_link", fields=("link_payload",), condition=~Q(link_payload="")),
        )
        indexes = (
            models.Index(name="session_of_project", fields=("project", "-created_at")),
            models.Index(name="session_of_request", fields=("caller_request",), condition=~Q(caller_request="")),
            models.Index(
                name="session_of_reference", fields=("project", "reference", "-created_at"), condition=~Q(reference="")
            ),
            models.Index(name="session_code_to_wipe", fields=("expires_at",), condition=Q(code_digest__isnull=False)),
        )

    rules = {
        "session_attempts": Q(attempts__gte=0, attempts__lte=F("attempts_max")),
        "session_code_length": Q(code_length__gt=0),
        "session_expires_later": Q(expires_at__gt=F("created_at")),
        "session_code_wiped_when_verified": Q(verified_at=None) | Q(code_digest=None, code_encrypted=None),
        "session_of_its_recipients_project": Q(project=F("recipient__project")),
    }

    def __str__(self) -> str:
        return self.id


class WrongCode(Requested):
    """One wrong code: it counts in the recipient's budget and in the rules on guessing.

    ``network`` is the caller's address (for IPv6 its /64) and ``subnet`` the /24 (for IPv6 the /48) around it; both are
    empty where they tell nobody apart. ``guess`` is a keyed HMAC of what was entered. All go with the row.
    """

    # Rows from before there was this column have none.
    project = models.ForeignKey(
        "verification.Project", null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False
    )
    network = models.CharField(max_length=43, default="", db_default="")
    subnet = models.CharField(max_length=43, default="", db_default="")
    guess = models.BinaryField(max_length=16, null=True)
    is_settled = models.BooleanField(
        default=False, db_default=False, help_text="Whether the recipient's right code came from the same subnet since."
    )
    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, related_name="wrong_codes", db_index=False, db_constraint=False
    )
    recipient = models.ForeignKey(
        "verification.Recipient", on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (
            models.Index(name="wrong_code_of_recipient", fields=("recipient", "-created_at")),
            models.Index(name="wrong_code_of_session", fields=("session",)),
            models.Index(name="wrong_code_of_request", fields=("caller_request",), condition=~Q(caller_request="")),
            models.Index(name="wrong_code_of_project", fields=("project", "created_at")),
            models.Index(
                name="wrong_code_of_subnet",
                fields=("project", "subnet", "created_at"),
                condition=Q(is_settled=False) & ~Q(subnet=""),
            ),
            models.Index(
                name="wrong_code_of_strangers",
                fields=("project", "created_at"),
                condition=Q(is_settled=False) & ~Q(subnet=""),
            ),
        )

    def __str__(self) -> str:
        return f"wrong code {self.pk}"


class UsedChallenge(models.Model):
    """The answer to a challenge, used up: by its digest, for longer than any provider lets an answer live."""

    digest = models.BinaryField(primary_key=True, max_length=32)
    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False, db_constraint=False)
    expires_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(name="used_challenge_to_purge", fields=("expires_at",)),)

    def __str__(self) -> str:
        return f"used challenge of {self.project_id}"


class VerifyToken(Requested):
    """The token that a right code is exchanged for. Only a digest of the token is kept.

    ``subnet`` is whence the right code came, as in :class:`WrongCode`: right codes explain some wrong ones. ``request``
    and ``caller_request`` are of that check, ``used_request`` and ``used_caller_request`` of what redeemed the token.
    """

    digest = models.BinaryField(primary_key=True, max_length=32)
    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, db_index=False, db_constraint=False)
    session = models.OneToOneField(Session, on_delete=models.CASCADE, related_name="verify_token", db_constraint=False)
    # As the session has them, so that the token alone tells what it proves.
    recipient = models.ForeignKey(
        "verification.Recipient", null=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False
    )
    test_login = models.UUIDField(null=True)
    subnet = models.CharField(max_length=43, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_key = models.BinaryField(max_length=32, null=True, help_text="Digest of the Idempotency-Key that used it.")
    used_request = request_field()
    used_caller_request = caller_request_field()  # in no index, so that redeeming changes none

    class Meta:
        indexes = (
            models.Index(
                name="verify_token_of_subnet", fields=("project", "subnet", "created_at"), condition=~Q(subnet="")
            ),
            models.Index(name="verify_token_of_request", fields=("caller_request",), condition=~Q(caller_request="")),
            models.Index(name="verify_token_of_strangers", fields=("project", "created_at"), condition=~Q(subnet="")),
        )

    rules = {
        "verify_token_expires_later": Q(expires_at__gt=F("created_at")),
        "verify_token_of_its_sessions_recipient": Q(recipient=F("session__recipient")),
    }

    @property
    def used_request_id(self) -> str:
        return request_ids.format_request_id(self.used_request, self.used_caller_request)

    def __str__(self) -> str:
        return f"token of {self.session_id}"
