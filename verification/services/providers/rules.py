"""Routing rules: the part of a country's messages that one provider is asked first for, or a pause of it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils.translation import gettext as _

from verification.core.addresses import usual_number
from verification.core.errors import UserError
from verification.models import ChannelType, Project, Provider, RoutingRule
from verification.services.projects.channel_config import FIXED_ORDER
from verification.services.projects.snapshot import load_project
from verification.services.providers.active import LiveProvider, forget_providers, live_providers
from verification.services.providers.routing import of_its_kind, order_of

DRAWS = 400  # of an order that is drawn: a share is then right to two or three of a hundred
WHOLE = 100  # of a hundred messages


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule that is not made yet. ``percent`` 0 pauses the provider; the country is empty for all of them."""

    project: Project
    provider: Provider
    country: str
    percent: int


@dataclass(frozen=True, slots=True)
class FirstAsked:
    """The percentage of messages for which a provider is asked first: now, and with a proposed rule."""

    provider: LiveProvider
    before: int
    after: int


def require_possible(proposal: Proposal, example: str) -> None:
    """Raises :class:`UserError` for a rule that would do nothing, or leave the country without a provider.

    ``example`` is a country of which a number is looked at where the rule is for all.
    """
    provider, place = proposal.provider, proposal.country or example
    channel = str(ChannelType(provider.channel).label)
    live = live_providers(proposal.project.pk, provider.channel)
    ours = next((each for each in live if each.id == provider.pk), None)
    if ours is None:
        raise UserError(_("{name} is off or does not serve this project.").format(name=provider.name))
    if provider.channel == ChannelType.EMAIL and proposal.country:
        raise UserError(_("E-mail addresses have no country. Choose all countries."))
    if not ours.serves(_address(provider.channel, place)):
        raise UserError(_("{name} does not serve this country's prefix.").format(name=provider.name))
    if not proposal.percent and not _fitting(_with(live, proposal), provider.channel, place):
        raise UserError(
            _("No other {channel} provider can send these messages. Add one first.").format(channel=channel)
        )
    taken = sum(rule.percent for rule in _others(proposal))
    if 0 < proposal.percent < WHOLE and taken + proposal.percent > WHOLE:
        raise UserError(
            _(
                # xgettext:no-python-format
                "Other rules already route {number} % of messages there."
            ).format(number=taken)
        )


def preview(proposal: Proposal, example: str) -> list[FirstAsked]:
    """Return who is asked first now, and with the rule, by drawing the order of trial as a message does."""
    return _compared(proposal, example, lambda live: _with(live, proposal))


def preview_removal(rule: RoutingRule, example: str) -> list[FirstAsked]:
    """Return who is asked first now, and without the rule."""
    return _compared(rule, example, lambda live: _without(live, rule))


def replaced_by(proposal: Proposal) -> list[RoutingRule]:
    """Return the rules that end with this one: its provider's for this place, and those of others if it is for all."""
    own = RoutingRule.objects.filter(
        project=proposal.project, provider=proposal.provider, country=proposal.country
    ).exclude(percent=proposal.percent)
    return [*own, *(_others(proposal) if proposal.percent == WHOLE else ())]


@transaction.atomic
def set_rule(proposal: Proposal) -> RoutingRule:
    """Make or change a rule. One for all messages of a place takes the place of the others' parts of it.

    It keeps what it ended, for :func:`restore`.
    """
    ended = {str(rule.provider_id): rule for rule in replaced_by(proposal)}
    for rule in ended.values():
        rule.delete()
    made, _is_new = RoutingRule.objects.get_or_create(
        project=proposal.project,
        provider=proposal.provider,
        country=proposal.country,
        defaults={
            "percent": proposal.percent,
            "replaced": {key: rule.percent for key, rule in ended.items()} or None,
        },
    )
    forget_providers()
    return made


def end_rule(rule: RoutingRule) -> None:
    """Remove a rule. Within a second the project's other rules apply, and the channel's own routing."""
    rule.delete()
    forget_providers()


def restorable(rule: RoutingRule) -> list[Proposal]:
    """Return the rules that this one ended, of providers that still serve the project."""
    before = rule.replaced or {}
    serving = Provider.objects.serving(rule.project_id).filter(pk__in=before).in_order()
    return [Proposal(rule.project, each, rule.country, before[str(each.pk)]) for each in serving]


@transaction.atomic
def restore(rule: RoutingRule, example: str) -> None:
    """Remove a rule and make those again that it ended. Raises :class:`UserError` where one is not possible now."""
    proposals = restorable(rule)
    end_rule(rule)
    for proposal in proposals:
        require_possible(proposal, example)
        set_rule(proposal)


def first_share(project_id: int, provider: Provider, country: str) -> int:
    """Return the percentage of messages to a country for which a provider is asked first now."""
    channel = provider.channel
    return _first(project_id, channel, country, live_providers(project_id, channel))[provider.pk]


def relieving(project_id: int, provider: Provider, country: str) -> RoutingRule | None:
    """Return the rule that keeps a provider from being asked first in a country: a pause, or another for all."""
    if first_share(project_id, provider, country):
        return None
    here = RoutingRule.objects.filter(
        project=project_id, provider__channel=provider.channel, country__in=(country, ""), percent__in=(0, WHOLE)
    )
    in_turn = here.select_related("provider").order_by("-country")  # the country's before those of all
    return next((rule for rule in in_turn if rule.is_pause is (rule.provider_id == provider.pk)), None)


def _others(proposal: Proposal) -> list[RoutingRule]:
    """Return the parts of the same place that other providers of the channel have."""
    rules = RoutingRule.objects.filter(
        project=proposal.project, country=proposal.country, provider__channel=proposal.provider.channel, percent__gt=0
    )
    return list(rules.exclude(provider=proposal.provider))


def _compared(
    rule: RoutingRule | Proposal, example: str, change: Callable[[list[LiveProvider]], list[LiveProvider]]
) -> list[FirstAsked]:
    project, channel, place = rule.project.pk, rule.provider.channel, rule.country or example
    live = live_providers(project, channel)
    before, after = (_first(project, channel, place, each) for each in (live, change(live)))
    return [FirstAsked(each, before[each.id], after[each.id]) for each in live if each.serves(_address(channel, place))]


def _with(live: Iterable[LiveProvider], proposal: Proposal) -> list[LiveProvider]:
    """Return the providers as they would be with the rule."""
    changed = []
    for each in live:
        rules = dict(each.rules)
        if each.id == proposal.provider.pk:
            rules[proposal.country] = proposal.percent
        elif proposal.percent == WHOLE and rules.get(proposal.country):
            del rules[proposal.country]
        changed.append(replace(each, rules=rules))
    return changed


def _without(live: Iterable[LiveProvider], rule: RoutingRule) -> list[LiveProvider]:
    """Return the providers as they would be once the rule is removed."""
    return [
        replace(each, rules={place: part for place, part in each.rules.items() if place != rule.country})
        if each.id == rule.provider_id
        else each
        for each in live
    ]


def _first(project_id: int, channel: str, place: str, live: Iterable[LiveProvider]) -> dict[int, int]:
    project = load_project(project_id)
    config = project and project.channels.get(channel)
    address = _address(channel, place)
    # A provider that was slow just now is first again in half a minute.
    usual = [replace(each, latency=replace(each.latency, is_late=False)) for each in live]
    serving = of_its_kind(usual, address)
    drawn: Counter[int] = Counter()
    for seed in range(DRAWS):
        order = order_of(
            serving,
            project_id=project_id,
            channel=channel,
            address=address,
            country=place,
            routing=config.routing if config else FIXED_ORDER,
            seed=seed,
        )
        drawn.update(each.id for each in order.providers[:1])
    return Counter({key: round(100 * number / DRAWS) for key, number in drawn.items()})


def _fitting(live: Iterable[LiveProvider], channel: str, place: str) -> list[LiveProvider]:
    return [each for each in live if each.serves(_address(channel, place)) and not each.is_paused_in(place)]


def _address(channel: str, place: str) -> str:
    return "user@example.com" if channel == ChannelType.EMAIL else usual_number(place)
