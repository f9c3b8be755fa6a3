"""The decision log: it tells owners which rule refused traffic, or would have.

Callers of the API are never told the rule. The words for callers stand in ``core/error_codes.py``, those of the traffic
guard's rules in ``models/guard.py``, and those of all other rules here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from django.db import DatabaseError, InterfaceError
from django.utils.translation import gettext_lazy as _

from verification import sql
from verification.core.caching import Memory
from verification.core.errors import ApiError, DecisionRecord
from verification.models.guard import GUARD_RULES

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

log = logging.getLogger(__name__)

SUBJECT_MAX_LENGTH = 120  # characters, as the column has


@dataclass(frozen=True, slots=True)
class Rule:
    """The words of a rule for owners: its name, the meaning of its line in the log, and what they can do about it.

    ``page`` names the model whose list helps, as ``Advice`` does; empty where none does.
    ``is_limit``: callers reach it by repeating requests, so it is counted in memory and written now and then.
    ``refuses`` is false for one that lets a code go out, and tells in which way.
    """

    title: StrOrPromise
    meaning: StrOrPromise
    remedy: StrOrPromise = ""
    page: str = ""
    is_limit: bool = False
    refuses: bool = True


_OF_A_FINDING = _("If this traffic is legitimate, lift the block in the traffic guard."), "guardblock"
RULES = {
    "country": Rule(
        _("Country not allowed"),
        _("The project only sends to selected countries, and this is not one of them."),
        _("To send there, add the country to the project's list."),
        "project",
    ),
    "number_type": Rule(
        _("Type of number"),
        _("Numbers of this type cannot receive codes: premium rate, pagers, VoIP (unless allowed) and similar."),
        _(
            "Ask the user for a mobile number, or allow VoIP numbers in the project. In Argentina a mobile number has"
            " a 9 after +54."
        ),
        "project",
    ),
    "block_list": Rule(
        _("Block list"),
        _("The recipient or caller is on the project's or the platform's block list."),
        _("To unblock, remove the entry from the block list."),
        "listentry",
    ),
    "sandbox": Rule(
        _("Not a sandbox recipient"),
        _("A test project only sends to sandbox recipients. Use a live project for real users."),
    ),
    "known_number": Rule(
        _("Known number"),
        _("The traffic guard would have refused it, but your server had confirmed this number before."),
        refuses=False,
    ),
    "risk_check": Rule(
        _("Risk check"),
        _("Before sending, a service or your own server checked the number, and Watchword did not send the message."),
        _("The line says which check and why. Change the project's risk checks, or put the number on the safe list."),
        "project",
    ),
    "code_form": Rule(
        _("Channel skipped"),
        _("The channel cannot send this type of code (for example, one with letters), so another channel was used."),
        refuses=False,
    ),
    "no_channel_for_code": Rule(
        _("No channel for this code"),
        _(
            "None of the project's channels can send this type of code: it has letters, or more digits than the"
            " service allows."
        ),
        _("Set up a channel that can send such codes, or have your login system use six digits."),
        "channel",
    ),
    "connection": Rule(
        _("Invalid connection request"),
        _("A login system sent a request without a usable code or recipient. The line shows what was wrong."),
        _("Compare the request with the guide to connections."),
        is_limit=True,
    ),
    "connection_proof": Rule(
        _("Connection request with a wrong secret"),
        _("A request to a connection's URL had no secret or a wrong one."),
        _("Enter the connection's secret in the login system again, or create a new connection."),
        is_limit=True,
    ),
    "kill_switch": Rule(
        _("Stopped by the operator"),
        _("The operator has stopped this traffic for now."),
        _("Ask the operator when sending resumes."),
    ),
    "daily_budget": Rule(
        _("Channel limit"),
        _("The channel's message limit or cost limit was reached."),
        _(
            "Raise the limit on the channel's page, or wait until it resets: at midnight UTC, or at the "
            "start of the next month."
        ),
        "channel",
    ),
    "secret_key_network": Rule(
        _("Secret key used from another network"),
        _("A valid secret key was used from outside the project's allowed networks. It may have been stolen."),
    ),
    "platform_recipient_limit": Rule(
        _("Too many SMS to one recipient"),
        _("All projects together reached the daily SMS limit for this recipient."),
        _("The operator sets this limit. It resets within a day."),
    ),
    "too_many_sends": Rule(
        _("Too many codes to one recipient"),
        _("The project's send limit for one recipient was reached."),
        _("Wait, or raise the project's send limits per recipient."),
        "project",
        is_limit=True,
    ),
    "session_sends": Rule(
        _("Too many sends in one session"),
        _("The session used all five of its sends."),
        _("The user has to start a new session; each one has five sends."),
        is_limit=True,
    ),
    "too_many_attempts": Rule(
        _("Too many wrong codes for one recipient"),
        _("After too many wrong codes, Watchword neither sends nor checks codes for this recipient for a while."),
        _("Wait until the limit resets; the recipient's page shows when."),
        is_limit=True,
    ),
    "session_locked": Rule(
        _("Session locked by wrong codes"),
        _("A check or resend was requested in a session that was locked after wrong codes."),
        is_limit=True,
    ),
    "channel_timeout": Rule(
        _("Resent within 60 seconds"),
        _("Another code was requested on the same channel within 60 seconds."),
        _("Show a countdown in your app: a channel sends one code every 60 seconds."),
        is_limit=True,
    ),
    "suppressed": Rule(
        _("Suppressed"),
        _("The recipient is on the suppression list after a bounce, complaint or opt-out."),
        _("If the recipient wants messages again, lift the suppression."),
        "suppression",
        is_limit=True,
    ),
    "client_address": Rule(
        _("Too many sessions from one IP address"),
        _(
            "One IP address opened too many sessions. If it is your own server's, add it to the project's server"
            " addresses."
        ),
        _("If it is your own server's address, add it to the project's server addresses."),
        "project",
        is_limit=True,
    ),
    "unlisted_server": Rule(
        _("X-Client-Address from an unlisted server"),
        _(
            "A request named an end user's IP address in X-Client-Address, but did not come from one of the project's"
            " server addresses. Watchword ignored the header, so limits counted for the address of the request."
        ),
        _("If it is your own server's address, add it to the project's server addresses."),
        "project",
        is_limit=True,
        refuses=False,
    ),
    "requests_per_second": Rule(
        _("Too many requests per second"),
        _("The project's limit of requests per second was reached."),
        _("Raise the project's requests per second."),
        "project",
        is_limit=True,
    ),
    "hooks_per_second": Rule(
        _("Too many delivery reports per second"),
        _(
            "The project's providers sent more reports per second than one web process accepts per project. Most of"
            " them retry later; the operator can raise HOOKS_PER_SECOND."
        ),
        is_limit=True,
    ),
    **{rule.value: Rule(rule.label, info.meaning, *_OF_A_FINDING) for rule, info in GUARD_RULES.items()},
}
# The guard's refusal as a session notes it. The decision log names the very rule of the guard.
GUARDED = Rule(_("Traffic guard"), _("The traffic guard blocked SMS and calls to this number."), *_OF_A_FINDING)

# Outcomes of the SQL functions that are known here by another name.
_RULE_OF_OUTCOME = {"over_budget": "daily_budget", "over_platform_limit": "platform_recipient_limit"}


def rule_of(outcome: str) -> str:
    """Return the name of the rule behind an outcome of an SQL function. Most outcomes are named as their rule."""
    return _RULE_OF_OUTCOME.get(outcome, outcome)


class RefusalBuffer(Memory):
    """Counts refusals that callers repeat at will, and hands them out to be written at most once in five seconds.

    So a flood costs each process a few statements, whatever its size. Refusals after the last writing wait for the next
    refusal by a limit. They are lost if the process ends before.
    """

    EVERY_SECONDS = 5.0  # the least time between two writings
    SUBJECTS_AT_ONCE = 50  # lines of one writing: the request that writes them takes a few milliseconds longer

    def __init__(self) -> None:
        self.lock = threading.Lock()
        super().__init__()

    def forget(self) -> None:
        self.counts: dict[DecisionRecord, int] = {}
        self.due_at = 0.0

    def add(self, decision: DecisionRecord) -> list[tuple[DecisionRecord, int]]:
        """Count one decision. Return those to be written now, each with its count: mostly none."""
        with self.lock:
            if decision not in self.counts and len(self.counts) >= self.SUBJECTS_AT_ONCE:
                decision = replace(decision, subject="others", figures={})
            self.counts[decision] = self.counts.get(decision, 0) + 1
            if time.monotonic() < self.due_at:
                return []
            self.due_at = time.monotonic() + self.EVERY_SECONDS
            due, self.counts = self.counts, {}
            return list(due.items())


limits_reached = RefusalBuffer()


def record(
    *, project_id: int, rule: str, subject: str, figures: Mapping[str, object], is_refusal: bool = True, times: int = 1
) -> None:
    """Count ``times`` decisions of ``rule``, one of :data:`RULES`, about ``subject`` in this hour's row.

    ``subject`` is something an owner may read: a prefix, a country, a client network, or a recipient through
    :func:`verification.core.addresses.mask`. ``figures`` is JSON: the counts of the rule, and its limit; the last ones
    are kept. ``is_refusal`` is false for a finding by which no request was refused. The SQL function by which the
    traffic guard refuses notes its refusals itself.

    Call this after the refusing transaction has rolled back, or the note is lost with it.
    """
    sql.call(
        "note_decision",
        project=project_id,
        rule=rule,
        subject=subject[:SUBJECT_MAX_LENGTH],
        country="",
        refused=times if is_refusal else 0,
        figures=sql.Jsonb(figures),
    )


def record_refusal(refusal: ApiError) -> None:
    """Note the decision behind a refusal, if there is one.

    The code that answers the refusal calls this, after the transaction was rolled back. It never raises: the refusal
    stands, whatever becomes of the log.
    """
    if refusal.decision is not None:
        note(refusal.decision)


def note(decision: DecisionRecord) -> None:
    """Note a decision: what a limit counts by way of the buffer. It never raises, as :func:`record_refusal`."""
    is_limit = decision.rule in RULES and RULES[decision.rule].is_limit
    try:
        for each, times in limits_reached.add(decision) if is_limit else [(decision, 1)]:
            is_refusal = each.rule not in RULES or RULES[each.rule].refuses
            record(**asdict(each), times=times, is_refusal=is_refusal)
    except (DatabaseError, InterfaceError) as error:
        log.warning("A decision of rule %s was not noted: %s", decision.rule, type(error).__name__)
