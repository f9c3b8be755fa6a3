"""Invitations to a project: a mail with a link that its address may use once, within a day.

The worker that sends the mail draws the link's token, and the row keeps its digest alone. So the token is in no
request, no broker message and no table; a mail that is tried again has a new one.
"""

from __future__ import annotations

import logging
import secrets
import smtplib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import get_language, gettext_lazy, gettext_noop
from django.utils.translation import gettext as _

from verification import sql
from verification.core import mail_server
from verification.core.crypto import stored_digest
from verification.core.errors import UserError
from verification.models import Invitation, Membership, Project, Role
from verification.models.bounds import MAX_INVITATIONS, lock
from verification.services.notifications import schedule
from verification.services.records import audit
from verification.services.users.people import require_manager, require_may_give_addresses

log = logging.getLogger(__name__)

LIFE = timedelta(days=1)
LEASE = timedelta(seconds=60)  # the time a worker has for one mail: longer than a mail server may take
TOKEN_BYTES = 32  # 256 random bits, too many to be guessed from an unkeyed digest
OVER = gettext_lazy(
    "This invitation has expired, was withdrawn or was already used. Ask for a new one; a link works once,"
    " within a day."
)


@transaction.atomic
def invite(*, project: Project, email: str, role: str, sees_addresses: bool, by: User) -> Invitation:
    """Invite an address. An earlier invitation of it ends. Raises :class:`UserError`."""
    require_manager(project, by)
    if sees_addresses:
        require_may_give_addresses(project, by)
    lock(project)
    now, email = timezone.now(), email.strip().lower()
    if Membership.objects.annotate(mail=Lower("user__email")).filter(project=project, mail=email).exists():
        raise UserError(_("{email} is already a member. Change the role in the list.").format(email=email))
    if Invitation.objects.filter(project=project, created_at__gt=now - LIFE).count() >= MAX_INVITATIONS:
        raise UserError(
            _("A project can send at most {max_invitations} invitations per day. Try again tomorrow.").format(
                max_invitations=MAX_INVITATIONS
            )
        )
    Invitation.objects.filter(project=project, email=email, ended_at=None).update(ended_at=now, due_at=None)
    return Invitation.objects.create(
        project=project,
        email=email,
        role=role,
        sees_addresses=sees_addresses,
        invited_by=by,
        expires_at=now + LIFE,
        due_at=now,
        language=get_language() or settings.LANGUAGE_CODE,
    )


def withdraw(invitation: Invitation, *, by: User) -> bool:
    """End an invitation. Return False if it was over. Raises :class:`UserError`."""
    require_manager(invitation.project, by)
    open_one = Invitation.objects.filter(pk=invitation.pk, ended_at=None)
    return bool(open_one.update(ended_at=timezone.now(), due_at=None))


def draw_link(invitation: Invitation, *, by: User) -> str:
    """Return a new link of an invitation, for whoever invited to pass on where no mail gets out.

    An earlier link of it opens nothing any more, and no mail follows. Raises :class:`UserError`.
    """
    require_manager(invitation.project, by)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    live = Invitation.objects.filter(pk=invitation.pk, ended_at=None, expires_at__gt=timezone.now())
    if mail_server.has_mail_server() or not live.update(digest=digest_of(token), due_at=None, tries=0):
        raise UserError(OVER)
    done = gettext_noop("Viewed an invitation link")
    audit.record(done, row=invitation, project=invitation.project, label=invitation.email)
    return _link(token)


def open_of(project: Project) -> Any:
    """Return the invitations of a project that may still be accepted."""
    return Invitation.objects.filter(project=project, ended_at=None, expires_at__gt=timezone.now()).order_by("-pk")


def digest_of(token: str) -> bytes:
    return stored_digest(token, kind="invitation")


def find(digest: bytes) -> Invitation | None:
    """Return the invitation of a link that is still good."""
    found = Invitation.objects.select_related("project", "invited_by").filter(
        digest=digest, ended_at=None, expires_at__gt=timezone.now(), project__deleted_at=None
    )
    return found.first()


def proves_address(invitation: Invitation) -> bool:
    """Return whether who opens the link reads the mailbox: it was mailed there, and not shown in the panel."""
    return invitation.due_at is not None or invitation.tries > 0


def is_for(invitation: Invitation, user: User) -> bool:
    """Return whether the invitation is bound to the user's address. One that was shown takes users without one."""
    return user.email.lower() == invitation.email.lower() or not (user.email or proves_address(invitation))


@transaction.atomic
def accept(invitation: Invitation, user: User) -> Membership:
    """Make the user, whom the invitation is for, a member. Raises :class:`UserError`."""
    if not is_for(invitation, user):
        raise UserError(_("This invitation is for a different address than {user}'s.").format(user=user.get_username()))
    lock(invitation.project)
    live = Invitation.objects.filter(pk=invitation.pk, ended_at=None, expires_at__gt=timezone.now())
    if not live.update(ended_at=timezone.now(), due_at=None):
        raise UserError(OVER)
    if Membership.objects.filter(project=invitation.project, user=user).exists():
        raise UserError(_("You are already a member of this project."))
    _require_inviter_still_may(invitation)
    audit.record("Accepted an invitation", row=user, project=invitation.project, label=user.username, who=user.username)
    return Membership.objects.create(
        project=invitation.project, user=user, role=invitation.role, sees_addresses=invitation.sees_addresses
    )


@transaction.atomic
def accept_as_new(invitation: Invitation, *, username: str, password: str) -> User:
    """Make an account, and a member of it. Raises :class:`UserError`.

    It has the invited address only if the link was mailed there: commands find owners by it, and alerts go to it.
    """
    if User.objects.filter(email__iexact=invitation.email).exists():  # a disabled one is not for members to replace
        raise UserError(
            _("An account with this address already exists. Log in with it, or ask the operator to reactivate it.")
        )
    email = invitation.email if proves_address(invitation) else ""
    try:
        with transaction.atomic():
            user = User.objects.create_user(username, email=email, password=password, is_staff=True)
    except IntegrityError:
        raise UserError(_("This username is already in use. Choose another.")) from None
    accept(invitation, user)
    return user


def accounts_of(email: str) -> list[User]:
    """Return the accounts with this address that can log in."""
    return list(User.objects.filter(email__iexact=email, is_active=True, is_staff=True))


def _require_inviter_still_may(invitation: Invitation) -> None:
    """Raises :class:`UserError` where whoever invited has lost the right meanwhile: their links end with it."""
    inviter = invitation.invited_by
    try:
        if not inviter.is_active:
            raise UserError(OVER)
        require_manager(invitation.project, inviter)
        if invitation.sees_addresses:
            require_may_give_addresses(invitation.project, inviter)
    except UserError:
        raise UserError(OVER) from None


# --- mailing, by workers -----------------------------------------------------------------------------------------


@transaction.atomic
def claim_due(*, limit: int) -> list[tuple[int]]:
    """Claim invitations that are to be mailed, for the time of a lease."""
    now = sql.now()
    due = Invitation.objects.select_for_update(skip_locked=True, no_key=True).filter(due_at__lte=now)
    ids = [row.pk for row in due.order_by("due_at").only("pk")[:limit]]
    Invitation.objects.filter(pk__in=ids).update(due_at=now + LEASE, tries=F("tries") + 1)
    return [(pk,) for pk in ids]


def deliver(row: tuple[int]) -> None:
    """Draw the link of a claimed invitation, and mail it. A mail that fails is tried again while the link lasts."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    claimed = Invitation.objects.filter(pk=row[0], due_at__isnull=False)  # no link was drawn in the panel meanwhile
    live = claimed.filter(ended_at=None, expires_at__gt=timezone.now())
    if not live.update(digest=digest_of(token)):
        claimed.update(due_at=None)
        return
    invitation = live.select_related("project", "invited_by").get()
    due_at = None
    try:
        with translation.override(invitation.language):
            mail = _mail(invitation, token)
        mail.send()
    except (smtplib.SMTPException, OSError, ValueError) as error:  # ValueError: a character that no header may hold
        due_at = schedule.next_try(invitation.tries)
        log.warning("Invitation %s was not mailed: %s", invitation.pk, type(error).__name__)
    claimed.filter(digest=digest_of(token)).update(due_at=due_at)


def _link(token: str) -> str:
    return settings.BASE_URL + reverse("admin:invitation", args=(token,))


def _mail(invitation: Invitation, token: str) -> EmailMessage:
    """Write the mail, in the language that is spoken now. Nobody knows yet which one the invited person reads."""
    link = _link(token)
    role = Role(invitation.role).label.lower()
    return EmailMessage(
        subject=_("[{project}] Invitation").format(project=invitation.project.name),
        body="\n\n".join(
            (
                _("{user} invited you to the project {project}. Your role: {role}.").format(
                    user=invitation.invited_by.get_username(), project=invitation.project.name, role=role
                ),
                _("Open this link within 24 hours. It works once, and only for this address:") + f"\n{link}",
                _(
                    "If you did not expect this invitation, ignore this e-mail: nobody gets access unless "
                    "you open the link."
                )
                + "\n",
            )
        ),
        to=[invitation.email],
        headers={"Auto-Submitted": "auto-generated"},  # RFC 3834, so that no vacation notice answers
    )
