"""The rules on recipients that need no question to the database: lists, countries, types of number, the kill switch.

Callers hear one answer whichever rule it was; the owner's log says which.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import DatabaseError, InterfaceError

from verification import sql
from verification.core.addresses import is_reachable, kind_of, mask
from verification.core.error_codes import CATALOGUE
from verification.core.errors import ApiError, DecisionRecord, refusal
from verification.models import EventType, ListSubject
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection.client_networks import network_of
from verification.services.protection.recipient import RecipientPolicy
from verification.services.records.decisions import RULES, rule_of

STOPPED = "Sending is stopped for now."
STOPPED_RETRY_SECONDS = 60  # nobody knows when the operator ends the stop; a try a minute costs little
NOWHERE = "no country"  # the subject for satellite and other networks that belong to no country


def allowed_channels(policy: RecipientPolicy, channels: list[ChannelConfig]) -> list[ChannelConfig]:
    """Return those of ``channels`` over which this recipient may be sent to, in their order.

    Raises ``recipient_not_allowed``.
    """
    project, address = policy.project, policy.address
    if subject := policy.blocked_by:
        raise _not_allowed(project, "block_list", _named(subject, policy), {"entry": subject})
    reaching = [channel for channel in channels if is_reachable(address, channel.type, allow_voip=project.allow_voip)]
    if not reaching:
        figures = {"type": address.number_type.value, "country": address.country or NOWHERE}
        raise _not_allowed(project, "number_type", mask(address.text), figures)
    if project.is_sandbox and not policy.sandbox.is_simulated:
        # No other recipient may seem to have been verified by the sandbox's known code, or to have been sent to.
        reaching = [channel for channel in reaching if not channel.is_simulation]
        if not reaching:
            raise _not_allowed(project, "sandbox", mask(address.text), {})
    if address.is_phone:
        reaching = [channel for channel in reaching if _serves_country(project, channel, address.country)]
        if not reaching:
            raise _not_allowed(
                project, "country", address.country or NOWHERE, {"channels": [channel.type for channel in channels]}
            )
    return reaching


def require_sending(policy: RecipientPolicy, channel: str) -> None:
    """Raise ``service_unavailable`` while the operator has stopped all sending, and the refusal that a sandbox forces.

    Nothing is sent to test logins, so nothing is refused for them.
    """
    if policy.is_test:
        return
    project = policy.project
    if project.is_stopped:
        raise ApiError(
            "service_unavailable",
            STOPPED,
            retry_after=STOPPED_RETRY_SECONDS,
            decision=DecisionRecord(project.id, "kill_switch", "all sending"),
        )
    if policy.sandbox.refusal is not None:
        outcome, retry_after = policy.sandbox.refusal
        raise refusal_of(project, outcome, retry_after, to=policy.address.text, channel=channel)


def refusal_of(
    project: ProjectConfig, outcome: str, retry_after: int | None, *, to: str, channel: str | None
) -> ApiError:
    """Return the refusal of a send or a check by an SQL function, with the entry for the owner's decision log."""
    decision, limit, channels, rule = None, None, None, rule_of(outcome)
    if rule == "daily_budget":
        spent = project.spent_costs.get(channel or "")
        figures = {"budget": project.budgets.get(channel or "")} if spent is None else {"budget_in_money": spent}
        is_month = channel in project.spent_months
        if is_month:
            retry_after = _seconds_to_next_month()
        limit = "monthly_budget" if is_month else "daily_budget"
        others = (each.type for each in project.channels_for(kind_of(to)) if each.type != channel)
        channels = [other for other in others if other not in project.spent_costs]
        decision = DecisionRecord(project.id, rule, channel or "", figures)
    elif rule in RULES:
        decision = DecisionRecord(project.id, rule, mask(to), {"retry_after": retry_after} if retry_after else {})
    return refusal(outcome, retry_after, decision=decision, limit=limit, channels=channels)


def _seconds_to_next_month() -> int:
    now = datetime.now(UTC)
    first = (now.replace(day=1) + timedelta(days=31)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return math.ceil((first - now).total_seconds())


def why_not_to_send(policy: RecipientPolicy, channel: str) -> str:
    """Return why a queued message must not be sent any more, as its ``error``; empty if it may be sent."""
    project, address = policy.project, policy.address
    if project.is_stopped:
        return STOPPED
    if channel not in project.active_channels:
        return "The channel is switched off."
    is_served = not address.is_phone or not project.countries or address.country in project.countries
    if is_served and not policy.blocked_by:
        return ""
    return CATALOGUE["recipient_not_allowed"].detail


def _serves_country(project: ProjectConfig, channel: ChannelConfig, country: str) -> bool:
    """Return whether the project and the channel send to this country.

    An empty list allows every country. Where a list names any, a number of no known country is refused.
    """
    return all(not allowed or country in allowed for allowed in (project.countries, channel.countries))


def _named(subject: str, policy: RecipientPolicy) -> str:
    match subject:
        case ListSubject.CLIENT:
            return network_of(policy.client_address or "")
        case ListSubject.COUNTRY:
            return policy.address.country
        case _:
            return mask(policy.address.text)


def _not_allowed(project: ProjectConfig, rule: str, subject: str, figures: Mapping[str, object]) -> ApiError:
    return ApiError("recipient_not_allowed", decision=DecisionRecord(project.id, rule, subject, figures))


log = logging.getLogger(__name__)

# Events of refusals that one project gets in a minute: more tell nothing that the decision log does not count, and
# whoever repeats refused requests must not have us call the customer's server as often.
EVENTS_PER_MINUTE = 60


@contextmanager
def recorded_refusals(project: ProjectConfig, *, to: str, session_id: str | None = None) -> Iterator[None]:
    """Record each refusal that is raised in the block, as :func:`record_refused` does."""
    try:
        yield
    except ApiError as refusal:
        record_refused(project, refusal, to=to, session_id=session_id)
        raise


def record_refused(project: ProjectConfig, refusal: ApiError, *, to: str, session_id: str | None = None) -> None:
    """Note that a code for ``to`` did not go out, if a rule of the decision log refused it and the project wants that.

    Call this after the refusing transaction. It never raises: the refusal stands, whatever becomes of its event.
    """
    if refusal.decision is None or EventType.SESSION_REFUSED not in project.events:
        return
    try:
        sql.call(
            "note_refused_session",
            events=sql.Jsonb(project.event_terms),
            project=project.id,
            session=session_id,
            reason=refusal.decision.rule,
            subject="" if session_id else mask(to),
            per_minute=EVENTS_PER_MINUTE,
        )
    except (DatabaseError, InterfaceError) as error:
        log.warning("No event could be written for a refusal of project %s: %s", project.id, type(error).__name__)
