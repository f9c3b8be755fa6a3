"""The traffic guard and the alarms on guessing: what is judged, what was found, and taking a finding back.

Sends are judged within the statement that queues them; the rest is found by the workers' sweep. A finding is a row
(:class:`verification.models.GuardBlock`) that refuses traffic, or makes it suspicious, while it runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Sum
from django.db.models.functions import Now
from django.utils import timezone

from verification import errors, sql
from verification.addresses import Address, AddressKind, country_of, kind_of
from verification.errors import Refusal
from verification.models import Decision, GuardBlock, GuardedSend, GuardMode, GuardRule, Project
from verification.services.notices import alerts
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import limits
from verification.services.records import decisions

ANNOUNCED_AT_ONCE = 100
PREFIXES_SHOWN = 20
SUBSCRIBER_DIGITS = 4  # numbers are alike if all but so many of their last digits are the same


def case_of(project: ProjectConfig, to: str, country: str | None = None, *, is_manual: bool = False) -> Any:
    """What the SQL functions need to judge a send to this address, or None where the guard has no say.

    Manual sends are counted apart and only observed, unless the project enforces them too.
    """
    guard = project.guard
    if guard.mode == GuardMode.OFF or kind_of(to) is not AddressKind.PHONE or project.lists.is_safe(to):
        return None
    is_apart = is_manual and not guard.enforces_manual
    return sql.json(
        {
            "enforce": guard.mode == GuardMode.ENFORCE and not is_apart,
            "rule": GuardRule.MANUAL_PREFIX if is_apart else GuardRule.PREFIX,
            "counts_all": guard.enforces_manual,
            "prefix": to[:-SUBSCRIBER_DIGITS],
            "country": country_of(to) if country is None else country,
            "numbers": guard.prefix_numbers,
            "window": guard.prefix_seconds,
            "block": guard.block_seconds,
            "block_max": guard.block_max_seconds,
            "quiet": guard.quiet_seconds,
        }
    )


def require_no_guesser(project: ProjectConfig, network: str) -> None:
    """Raises ``rate_limited`` for a client network that is kept from checking codes."""
    end = project.alarms.get((GuardRule.NETWORK_REFUSED, network))
    if end is not None and (left := end - time.monotonic()) > 0:
        raise Refusal(
            "rate_limited",
            "Too many wrong codes came from this client address.",
            retry_after=math.ceil(left),
            decision=errors.Decision(project.id, GuardRule.NETWORK_REFUSED, network),
        )


def stranger_refused(project: ProjectConfig, subnet: str, retry_after: int, figures: Mapping[str, object]) -> Refusal:
    """The refusal of a check from a subnet whose wrong codes are too many for what goes on in the project."""
    return Refusal(
        "rate_limited",
        "Too many wrong codes came from around this client address. If it is your own server's, list it among the"
        " project's server addresses.",
        retry_after=retry_after,
        decision=errors.Decision(project.id, GuardRule.STRANGERS, subnet, figures),
    )


def is_wary(project: ProjectConfig, address: Address | None, client_address: str) -> bool:
    """Whether the guard has a suspicion of this caller or recipient. Asks the database about a phone number alone."""
    network, now = limits.stranger(project, client_address), time.monotonic()
    alarms = (
        (GuardRule.WRONG_CODES, ""),
        (GuardRule.STRANGERS, ""),
        (GuardRule.NETWORK, network),
        (GuardRule.NETWORK_REFUSED, network),
    )
    if any(project.alarms.get(alarm, 0.0) > now for alarm in alarms):
        return True
    if any(rule == GuardRule.SAME_GUESS and end > now for (rule, _), end in project.alarms.items()):
        return True
    case = case_of(project, address.text, address.country) if address else None
    return case is not None and bool(sql.call("guard_is_wary", project=project.id, guard=case).is_wary)


# --- what the sweep does ---------------------------------------------------------------------------------------------


def sweep() -> None:
    """Look for countries that are not verified and for guessing, and tell the owners of all that was found."""
    sql.call("guard_sweep")
    announce()


@transaction.atomic
def announce() -> int:
    """Alert the owner of each new finding; what refuses nothing is noted in the log. Returns how many there were."""
    found = GuardBlock.objects.filter(is_announced=False).select_related("project").order_by("pk")
    rows = list(found.select_for_update(skip_locked=True, of=("self",), no_key=True)[:ANNOUNCED_AT_ONCE])
    for block in rows:
        if block.rule not in REFUSING:  # of those, each refusal is noted
            decisions.note(
                project_id=block.project_id,
                rule=block.rule,
                subject=subject_of(block),
                figures=block.figures,
                is_refusal=False,
            )
        title, detail = describe(block)
        key = f"{block.rule} {block.subject} {block.since:%Y-%m-%dT%H:%M:%S}"
        alerts.raise_alert(project_id=block.project_id, kind="guard", key=key, title=title, detail=detail)
    GuardBlock.objects.filter(pk__in=[block.pk for block in rows]).update(is_announced=True)
    return len(rows)


def subject_of(block: GuardBlock) -> str:
    """What an owner is shown as the subject."""
    if block.rule in (GuardRule.PREFIX, GuardRule.MANUAL_PREFIX):
        return f"{block.subject}…"
    return block.subject or ("no country" if block.rule in COUNTRY_RULES else "whole project")


def saw(rule: GuardRule, figures: Mapping[str, object]) -> str:
    """What was counted, in a sentence."""
    return _SAYINGS[rule][0].format(**figures)


def describe(block: GuardBlock) -> tuple[str, str]:
    """One line, and some sentences, on what was found and what follows from it."""
    rule = GuardRule(block.rule)
    text = _SAYINGS[rule][1].format(subject=subject_of(block))
    if block.rule in REFUSING_SENDS and not refuses(block):
        text = text.replace(" are refused", " would be refused, were the traffic guard to enforce this")
    until = f"{block.until:%H:%M} UTC"
    advice = "If this traffic is honest, lift the block in the panel, and raise the project's limit."
    return text, f"{saw(rule, block.figures)} {text} until {until}. {advice}"


def refuses(block: GuardBlock) -> bool:
    """Whether traffic is refused while it runs. In observe mode sends are not."""
    if block.rule == GuardRule.MANUAL_PREFIX and not block.project.traffic_guard_manual:
        return False
    if block.rule in REFUSING_SENDS:
        return block.project.traffic_guard == GuardMode.ENFORCE
    return block.rule in REFUSING


def is_running(block: GuardBlock) -> bool:
    return block.lifted_at is None and block.until > timezone.now()


COUNTRY_RULES = (GuardRule.CONVERSION, GuardRule.LOW_CONVERSION)
REFUSING_SENDS = (GuardRule.PREFIX, GuardRule.MANUAL_PREFIX, GuardRule.CONVERSION)
REFUSING = (*REFUSING_SENDS, GuardRule.NETWORK_REFUSED, GuardRule.STRANGERS)
_NUMBERS = (
    "{numbers} unverified numbers that differ only in their last 4 digits asked for a code within {minutes} minutes;"
    " the limit is {limit}."
)
_CONVERSION = (
    "Of {sends} SMS and calls in {minutes} minutes {verified} were verified: {percent} %, where {limit} % are asked."
)
_SAYINGS = {
    GuardRule.PREFIX: (_NUMBERS, "SMS and calls to {subject} are refused"),
    GuardRule.MANUAL_PREFIX: (_NUMBERS, "Manual SMS and calls to {subject} are refused"),
    GuardRule.CONVERSION: (_CONVERSION, "SMS and calls to the country {subject} are refused"),
    GuardRule.LOW_CONVERSION: (_CONVERSION, "Traffic to the country {subject} is watched"),
    GuardRule.WRONG_CODES: (
        "{wrong} wrong and {right} right codes were entered in {minutes} minutes.",
        "Codes are being guessed in the {subject}: all its callers are suspected",
    ),
    GuardRule.SAME_GUESS: (
        "One and the same wrong code was tried on {sessions} sessions in {minutes} minutes.",
        "Codes are being guessed over many sessions: all callers are suspected",
    ),
    GuardRule.NETWORK: (
        "Wrong codes were entered for {recipients} recipients in {minutes} minutes.",
        "Callers from {subject} are suspected of guessing",
    ),
    GuardRule.NETWORK_REFUSED: (
        "Too many wrong codes came from one client network within {minutes} minutes.",
        "Checks from {subject} are refused",
    ),
    GuardRule.STRANGERS: (
        "{wrong} wrong codes more than right ones explain came from client networks within {minutes} minutes; the limit"
        " is {limit}.",
        "Codes are being guessed from many client networks in the {subject}: further checks from where wrong codes came"
        " are refused",
    ),
}


# --- what an owner does ----------------------------------------------------------------------------------------------


def lift(block: GuardBlock, *, by: User | None = None) -> bool:
    """End a finding now; its counts start anew from here. False if it was over. Takes effect within a second."""
    rules = [block.rule]
    if block.rule in (GuardRule.NETWORK, GuardRule.NETWORK_REFUSED):
        rules = [GuardRule.NETWORK, GuardRule.NETWORK_REFUSED]  # one cause, in two steps
    running = GuardBlock.objects.filter(
        project_id=block.project_id, subject=block.subject, rule__in=rules, lifted_at=None, until__gt=Now()
    )
    return bool(running.update(lifted_at=Now(), lifted_by=by))


@dataclass(frozen=True, slots=True)
class Line:
    """The SMS and calls to a country or a prefix, without manual sends; and what the traffic guard refused."""

    subject: str
    sends: int
    verified: int
    refused: int

    @property
    def percent(self) -> int | None:
        """The conversion: how many of a hundred sends were proved by session/verify. None without a send."""
        return 100 * self.verified // self.sends if self.sends else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "sends": self.sends,
            "verified": self.verified,
            "percent": self.percent,
            "refused": self.refused,
        }


def by_country(projects: Any, *, hours: int) -> list[Line]:
    """Those with most sends that nobody verified, or that were refused, first."""
    since = timezone.now() - timedelta(hours=hours)
    noted = Decision.objects.filter(project__in=projects, rule__in=REFUSING_SENDS, refused__gt=0, last_at__gte=since)
    return _lines(projects, "country", noted.order_by().values_list("country").annotate(Sum("refused")), since)


def by_prefix(projects: Any, *, hours: int) -> list[Line]:
    """The prefixes with most sends that nobody verified."""
    since = timezone.now() - timedelta(hours=hours)
    blocks = GuardBlock.objects.filter(project__in=projects, rule=GuardRule.PREFIX, since__gte=since)
    refused = blocks.order_by().values_list("subject").annotate(Sum("refused"))
    return _lines(projects, "prefix", refused, since)[:PREFIXES_SHOWN]


def _lines(projects: Any, subject: str, refusals: Any, since: datetime) -> list[Line]:
    """``refusals`` are pairs of a subject and a number."""
    sends = (
        GuardedSend.objects.filter(project__in=projects, created_at__gte=since, is_manual=False)
        .values_list(subject)
        .annotate(Count("pk"), Count("verified_at"))
    )
    refused = dict(refusals)
    counts = {name: (total, verified) for name, total, verified in sends}
    lines = [Line(name, *counts.get(name, (0, 0)), refused.get(name, 0)) for name in counts.keys() | refused.keys()]
    return sorted(lines, key=lambda line: (line.verified - line.sends - line.refused, line.subject))


def blocks_of(project: Project) -> list[GuardBlock]:
    """What runs now, the newest first."""
    return list(project.guard_blocks.filter(lifted_at=None, until__gt=Now()))
