"""What a channel's page has of the choice of the best provider: how much explores, and what it would have saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.channels import ChannelAdmin
from verification.admin.figures.words import seconds
from verification.contrib.route_optimizer.backtest import DAYS, LEAST_ASKED, Backtest, CountryResult, run_backtest
from verification.contrib.route_optimizer.optimizer import Objective
from verification.core.formats import grouped
from verification.models import Channel, RoutingMode
from verification.services.projects.ceilings import platform

COUNTRIES_SHOWN = 10  # of one estimate, those that would save most
LEARNS = (RoutingMode.BEST_PRICE, RoutingMode.BEST_TIME)


@dataclass(frozen=True, slots=True)
class Estimate:
    """One way of choosing: its sentence, and its countries."""

    title: str
    unit: str
    saved: str
    is_loss: bool
    of_all: str
    words: str  # after it
    rate_then: float
    rate_with: float
    rows: list[tuple[str, str, str, str, str]]
    number: int
    left_out: str
    messages: str


def context_of(channel: Channel) -> dict[str, Any]:
    """Return the template's context for a channel: both ways of choosing, whichever it uses."""
    currency = platform().account_currency
    results = [run_backtest(channel, objective) for objective in Objective]
    return {
        "backtest_days": DAYS,
        "backtest_least": LEAST_ASKED,
        "backtest_explores": channel.explore_percent,
        "backtest_is_on": channel.routing in LEARNS,
        "estimates": [_estimate(each, currency) for each in results if each.countries],
        "has_no_prices": results[0].left_out > 0 and not results[0].countries and bool(results[1].countries),
    }


def _estimate(result: Backtest, currency: str) -> Estimate:
    is_money = result.objective is Objective.MONEY
    then, with_best = result.then / result.verified, result.with_best / result.verified
    if is_money:
        saved, of_all = (
            f"{currency} {grouped(abs(result.saved), places=2)}",
            f"{currency} {grouped(result.then, places=2)}",
        )
    else:
        saved, of_all = seconds(abs(then - with_best)), seconds(then)
    return Estimate(
        title=str((RoutingMode.BEST_PRICE if is_money else RoutingMode.BEST_TIME).label),
        unit=_("{currency} per 1,000 verified users").format(currency=currency)
        if is_money
        else _("Seconds per verified user"),
        saved=saved,
        is_loss=result.saved < 0,
        of_all=of_all,
        words=_("spent") if is_money else _("per verified user"),
        rate_then=round(100 * result.verified / result.messages, 1),
        rate_with=round(100 * result.verified_with_best / result.messages, 1),
        rows=[_row(each, is_money=is_money) for each in result.countries[:COUNTRIES_SHOWN]],
        number=len(result.countries),
        left_out=grouped(result.left_out) if result.left_out else "",
        messages=grouped(result.messages),
    )


def _row(result: CountryResult, *, is_money: bool) -> tuple[str, str, str, str, str]:
    times, digits = (1000, 2) if is_money else (1, 1)
    then, with_best = (grouped(times * value, places=digits) for value in (result.then, result.with_best))
    return result.country, result.best, grouped(result.verified), then, with_best


class WithOptimizer(ChannelAdmin):
    """A channel's page, with what the app brings."""

    change_form_after_template = "admin/verification/channel/backtest.html"

    def get_fieldsets(self, request: HttpRequest, obj: Channel | None = None) -> Any:
        *others, (title, options) = super().get_fieldsets(request, obj)
        fields, description = options["fields"], options["description"]
        return (
            *others,
            (
                title,
                {
                    "fields": (*fields, "explore_percent"),
                    "description": format_lazy(
                        "{description} {more}",
                        description=description,
                        more=gettext_lazy(
                            "The choice is based on this project's own traffic; providers that lose users are"
                            " never chosen."
                        ),
                    ),
                },
            ),
        )

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        channel = kwargs.get("obj")
        return super().render_change_form(
            request, {**context, **(context_of(channel) if channel else {})}, *args, **kwargs
        )


admin.site.unregister(Channel)
admin.site.register(Channel, WithOptimizer)
