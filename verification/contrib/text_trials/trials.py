"""A second text against the present one: its start, what came of both, and its end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from verification import sql
from verification.contrib.text_trials.comparison import Arm
from verification.core.errors import UserError
from verification.models import MessageTemplate, Project, TextVariant, bounds
from verification.models.texts import MAX_SHARE, MIN_SHARE
from verification.services.records import audit
from verification.services.texts import own

# Every process knows of a trial within two seconds of its start. Only then do sessions begin to count.
KNOWN_AFTER = timedelta(seconds=5)
MAX_VARIANTS = 20  # trials that a project runs at once: each is counted every minute.


@transaction.atomic
def start(*, project: Project, channel: str, language: str, text: str, share: int, subject: str = "") -> TextVariant:
    """Begin to send ``text`` to a share of the sessions, in percent. Raises :class:`UserError`."""
    most = MAX_VARIANTS
    bounds.require_room(
        project,
        project.text_variants.all(),
        most,
        _("A project can run at most {most} A/B tests at once. End one first.").format(most=most),
    )
    if not MIN_SHARE <= share <= MAX_SHARE:
        raise UserError(
            _("The share must be between {min_share} and {max_share} percent.").format(
                min_share=MIN_SHARE, max_share=MAX_SHARE
            )
        )
    if find(project, channel, language):
        raise UserError(_("An A/B test is already running for this text. End it first."))
    present = own.present(project, channel, language)
    if (present.subject, present.text) == (subject, text):
        raise UserError(_("This is the current text. Enter a different one."))
    if faults := own.faults(project=project, channel=channel, text=text, subject=subject):
        raise UserError(" ".join(faults))
    return TextVariant.objects.create(
        project=project,
        channel=channel,
        language=language,
        subject=subject,
        text=text,
        share=share,
        since=sql.now() + KNOWN_AFTER,
    )


@transaction.atomic
def end(variant: TextVariant, *, is_taken: bool) -> None:
    """End the trial. If the second text ``is_taken``, it goes out from now on, else the present one.

    Raises :class:`UserError`, also where somebody else has just ended it.
    """
    bounds.lock(variant.project)
    if not TextVariant.objects.select_for_update().filter(pk=variant.pk).exists():
        raise UserError(_("This A/B test has ended."))
    present, tried = arms(variant)
    if is_taken:
        named: dict[str, Any] = {
            "project": variant.project,
            "channel": variant.channel,
            "language": variant.language,
        }
        if not MessageTemplate.objects.filter(**named).exists():
            own.require_room(variant.project)
        words = {"subject": variant.subject, "text": variant.text}
        MessageTemplate.objects.update_or_create(**named, defaults=words)
    audit.record(
        f"Ended the trial of a text and took {'the new' if is_taken else 'the present'} one. Verified:"
        f" present {present.verified} of {present.sessions}, new {tried.verified} of {tried.sessions}",
        row=variant,
        project=variant.project,
        label=str(variant),
    )
    variant.delete()


def find(project: Project, channel: str, language: str) -> TextVariant | None:
    """Return the trial that runs for this channel and language."""
    return TextVariant.objects.filter(project=project, channel=channel, language=language).first()


def arms(variant: TextVariant) -> tuple[Arm, Arm]:
    """Return what came of the present text and of the second one, as the workers last counted."""
    sums = variant.figures.order_by().values_list("is_variant").annotate(Sum("sessions"), Sum("verified"))
    found = {is_variant: Arm(sessions, verified) for is_variant, sessions, verified in sums}
    return found.get(False, Arm()), found.get(True, Arm())


def is_tried(project: Project, channel: str, language: str) -> bool:
    """Return whether a trial runs against this text. That in ``pt`` may be what one in ``pt-BR`` is compared with."""
    running = TextVariant.objects.filter(project=project, channel=channel).values_list("language", flat=True)
    return any(language in (tried, tried.partition("-")[0]) for tried in running)


def require_untried(project: Project, channel: str, language: str) -> None:
    """Raise :class:`UserError` where a trial runs against this text: if it changed, the trial would compare nothing.

    The project is locked until the transaction ends, so that no trial begins between the look and the change.
    """
    bounds.lock(project)
    if is_tried(project, channel, language):
        raise UserError(_("An A/B test is running for this text. End it first."))


def count(hour: datetime) -> None:
    """Count one hour of all trials."""
    sql.call("count_text_variants", hour=hour)
