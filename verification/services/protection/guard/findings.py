"""The findings of the traffic guard: looking for them, telling owners, and taking one back.

A finding is a row of :class:`verification.models.GuardBlock`: while it runs, its subject is refused or suspicious.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification import sql
from verification.core import countries
from verification.core.formats import DAY_OF_YEAR_AND_TIME, written_moment
from verification.models import GuardBlock, GuardMode, GuardRule, Project
from verification.models.guard import ABOUT_COUNTRIES, GUARD_RULES, REFUSES, REFUSES_SENDS, GuardSubject
from verification.services.notifications import alerts
from verification.services.records import decisions

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

log = logging.getLogger(__name__)

ANNOUNCED_AT_ONCE = 100  # findings a sweep tells of; their rows stay locked meanwhile, the rest waits for the next

OBSERVED = {  # what follows from a finding that the project only observes
    GuardRule.PREFIX: gettext_lazy("In enforce mode the traffic guard would block SMS and calls to {subject}"),
    GuardRule.MANUAL_PREFIX: gettext_lazy(
        "In enforce mode the traffic guard would block manual SMS and calls to {subject}"
    ),
    GuardRule.CONVERSION: gettext_lazy(
        "In enforce mode the traffic guard would block SMS and calls to the country {subject}"
    ),
    GuardRule.NETWORK_COUNTRIES: gettext_lazy(
        "In enforce mode the traffic guard would block SMS and calls requested by {subject}"
    ),
}
OBSERVED_AT_FIRST = gettext_lazy(
    "The project is new, so the traffic guard does not block SMS and calls to the country {subject} yet"
)


class FailedSweep(NamedTuple):
    """A project that the sweep could not judge, and PostgreSQL's code of the error."""

    project_id: int
    fault: str


def sweep() -> None:
    """Look for countries that are not verified and for guessing, and tell the owners of all new findings."""
    for project_id, fault in sql.call_many(FailedSweep, "sweep_guard"):
        log.error("The traffic guard could not check project %s (SQLSTATE %s).", project_id, fault)
    announce()


@transaction.atomic
def announce() -> int:
    """Alert the owner of each new finding, and return how many there were.

    A finding that refuses nothing is noted in the decision log here. One that refuses has each refusal noted instead.
    One that cannot be told is logged and left on its page, so that it keeps no other from being told.
    """
    new = GuardBlock.objects.filter(is_announced=False).select_related("project").order_by("pk")
    findings = list(new.select_for_update(skip_locked=True, of=("self",), no_key=True)[:ANNOUNCED_AT_ONCE])
    for finding in findings:
        try:
            headline, detail = headline_and_detail(finding)
        except (KeyError, ValueError) as error:  # its figures or its rule are not those of this version
            log.error("No alert could be made of block %s of project %s: %r.", finding.pk, finding.project_id, error)
            continue
        if finding.rule not in REFUSES:
            decisions.record(
                project_id=finding.project_id,
                rule=finding.rule,
                subject=subject_of(finding),
                figures=finding.figures,
                is_refusal=False,
            )
        key = f"{finding.rule} {finding.subject} {finding.since:%Y-%m-%dT%H:%M:%S}"
        alerts.raise_alert(project_id=finding.project_id, kind="guard", key=key, title=headline, detail=detail)
    GuardBlock.objects.filter(pk__in=[finding.pk for finding in findings]).update(is_announced=True)
    return len(findings)


def subject_of(finding: GuardBlock) -> str:
    """Return the subject as an owner is shown it. ``note_guarded`` in SQL writes prefixes and countries alike."""
    if GUARD_RULES[GuardRule(finding.rule)].subject is GuardSubject.PREFIX:
        return f"{finding.subject}…"
    return finding.subject or (_("no country") if finding.rule in ABOUT_COUNTRIES else _("whole project"))


def subject_shown(finding: GuardBlock) -> str:
    """Return the subject in words: a country by its name."""
    is_country = finding.rule in ABOUT_COUNTRIES and finding.subject
    return countries.named(finding.subject) if is_country else subject_of(finding)


def what_was_counted(rule: GuardRule, figures: Mapping[str, Any]) -> str:
    """Return the figures of a finding in sentences."""
    span = {"span": _span(figures["minutes"])} if "minutes" in figures else {}
    counted = str(GUARD_RULES[rule].counted).format(**figures, **span)
    undelivered = figures.get("undelivered")
    if not undelivered:
        return counted
    lost = _("{number} of these were not delivered, because a provider fails there.").format(number=undelivered)
    return f"{counted} {lost}"


def _span(minutes: int) -> str:
    """Write the window of a rule. The overview's span is another text: it follows "the last", which some bend."""
    if minutes < 120 or minutes % 60:
        return _("{number} minutes").format(number=minutes)
    return _("{hours} hours").format(hours=minutes // 60)


def headline_and_detail(finding: GuardBlock) -> tuple[str, str]:
    """Return one line, and some sentences, on the finding and on what follows from it."""
    rule = GuardRule(finding.rule)
    is_observed = rule in REFUSES_SENDS and not refuses(finding)
    effect = _observed(finding, rule) if is_observed else GUARD_RULES[rule].effect
    effect = effect.format(subject=subject_shown(finding))
    detail = _(
        "{counted} {effect} until {time}. If this traffic is legitimate, lift the block in the panel and raise "
        "the project's limit."
    ).format(
        counted=what_was_counted(rule, finding.figures),
        effect=effect,
        time=written_moment(finding.until, DAY_OF_YEAR_AND_TIME),
    )
    return effect, detail


def _observed(finding: GuardBlock, rule: GuardRule) -> StrOrPromise:
    is_enforced_later = rule == GuardRule.CONVERSION and finding.project.traffic_guard == GuardMode.ENFORCE
    return OBSERVED_AT_FIRST if is_enforced_later else OBSERVED[rule]


def refuses(finding: GuardBlock) -> bool:
    """Return whether traffic is refused while the finding runs. In observe mode sends are not."""
    if finding.rule == GuardRule.MANUAL_PREFIX and not finding.project.traffic_guard_manual:
        return False
    if finding.rule == GuardRule.CONVERSION and finding.project.countries_observed_until is not None:
        return False
    if finding.rule in REFUSES_SENDS:
        return finding.project.traffic_guard == GuardMode.ENFORCE
    return finding.rule in REFUSES


def is_running(finding: GuardBlock) -> bool:
    return finding.lifted_at is None and finding.until > timezone.now()


def running_findings(project: Project) -> list[GuardBlock]:
    """Return the findings that run now, the newest first."""
    return list(project.guard_blocks.filter(lifted_at=None, until__gt=Now()))


def lift(finding: GuardBlock, *, by: User | None = None) -> bool:
    """End a finding now, within a second everywhere; its counts start anew. Return False if it was over."""
    rules = [finding.rule]
    if finding.rule in (GuardRule.NETWORK, GuardRule.NETWORK_REFUSED):
        rules = [GuardRule.NETWORK, GuardRule.NETWORK_REFUSED]  # one cause, in two steps
    running = GuardBlock.objects.filter(
        project_id=finding.project_id, subject=finding.subject, rule__in=rules, lifted_at=None, until__gt=Now()
    )
    return bool(running.update(lifted_at=Now(), lifted_by=by))
