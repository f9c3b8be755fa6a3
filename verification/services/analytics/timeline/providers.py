"""The providers that a message was not offered to, and why, as far as rows still tell."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers import registry
from providers.errors import Outcome
from verification.core.addresses import domain_of
from verification.core.formats import CLOCK, written_moment
from verification.models import CircuitBreaker, Message, Provider
from verification.services.analytics.timeline.rows import Rows, attempts_of
from verification.services.analytics.timeline.words import channel_name
from verification.services.delivery.policy import POLICY
from verification.services.protection import risk

UNKNOWN = gettext_lazy(
    "The reason was not recorded: it may have been paused, off or slow at that moment, or no time was left."
)


def passed_over(rows: Rows, message: Message) -> Iterator[tuple[Provider, str]]:
    """Return each provider whose turn came without its being asked, with the reason.

    One that stands behind the provider which took the message is left out.
    """
    if message.is_test or message.pinned_provider_id is not None or risk.has_stopped(message.error):
        return
    attempts = attempts_of(message)
    asked = {attempt.provider_id for attempt in attempts}
    # In the order of trial: those behind the last one that was asked were not needed.
    serving = [
        each
        for each in rows.providers
        if each.channel == message.channel and (each.created_at <= message.created_at or each.pk in asked)
    ]
    last = max((place for place, each in enumerate(serving) if each.pk in asked), default=-1)
    is_decided = any(_decides(attempt.outcome) for attempt in attempts) or message.finished_at is None
    for place, provider in enumerate(serving):
        if provider.pk in asked or (is_decided and place > last):
            continue
        why = _reason(rows, message, provider)
        if why:
            yield provider, why
        else:
            yield provider, str(UNKNOWN)


def awaited(rows: Rows, message: Message) -> list[Provider]:
    """Return the providers that a message waits for: all that could carry it are set aside. The first to end leads.

    Empty where one could be asked, or where the rows hold no providers, as in a list of stories.
    """
    able = [
        each
        for each in rows.providers
        if each.channel == message.channel and message.pinned_provider_id in (None, each.pk) and not _unfit(rows, each)
    ]
    aside = [(until, each.pk, each) for each in able if (until := _open_until(each))]
    return [each for _until, _pk, each in sorted(aside)] if len(aside) == len(able) else []


def waiting_for(aside: list[Provider]) -> str:
    """Tell in a sentence what a message waits for."""
    first, *others = aside
    sentence = (
        _("Waiting: all {channel} providers are paused, {name} until {time}.")
        if others
        else _("Waiting: {name} is paused until {time}; there is no other {channel} provider.")
    )
    until = _open_until(first)
    time = written_moment(until, CLOCK) if until else "–"
    return sentence.format(name=first.name, channel=channel_name(first.channel), time=time)


def _open_until(provider: Provider) -> datetime | None:
    breaker = getattr(provider, "breaker", None)
    return breaker.open_until if breaker else None


def _decides(outcome: str) -> bool:
    """Return whether no further provider is asked after an answer with this outcome."""
    return outcome in POLICY and not POLICY[Outcome(outcome)].next_provider


def _reason(rows: Rows, message: Message, provider: Provider) -> str:
    """Return the reason that the provider's own row gives, empty if there is none."""
    breaker = getattr(provider, "breaker", None)
    return _unfit(rows, provider) or (set_aside(breaker, message) if breaker else "")


def _unfit(rows: Rows, provider: Provider) -> str:
    """Return why it cannot carry messages to this recipient, empty if it can."""
    if not provider.is_enabled:
        return _("It is off.")
    if provider.pk in rows.paused:
        return _("A routing rule pauses it for this country.")
    address = rows.recipient.address
    domain, domains = domain_of(address), provider.only_domains
    if domain and ((domains and domain not in domains) or domain in provider.except_domains):
        return _("It does not serve this e-mail domain.")
    only, never = tuple(provider.only_prefixes), tuple(provider.except_prefixes)
    if not domain and (only and not address.startswith(only) or never and address.startswith(never)):
        return _("It does not serve numbers with this prefix.")
    try:
        needs_start = registry.adapter_class(provider.type).needs_start
    except registry.UnknownAdapter:
        return _("This installation does not support providers of type {type}.").format(type=provider.type)
    if needs_start and provider.pk not in rows.started_bots:
        return _("The user has not started its bot.")
    return ""


def set_aside(breaker: CircuitBreaker, message: Message) -> str:
    """Return that the provider was set aside while the message was on its way, if it was."""
    end = message.finished_at or message.expires_at
    if not breaker.opened_at or not breaker.open_until or breaker.opened_at > end:
        return ""
    if breaker.open_until < message.created_at:
        return ""
    # What a system provider answered others is not this project's to read.
    said = f": {breaker.reason.rstrip('.')}" if breaker.reason and not breaker.provider.is_system else ""
    return _("It was paused at {opened_at} after repeated failures{said}.").format(
        opened_at=written_moment(breaker.opened_at, CLOCK), said=said
    )
