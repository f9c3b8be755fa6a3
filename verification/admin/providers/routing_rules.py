"""Routing rules: which are in force, with "Remove", and the page that previews and makes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Sum
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from phonenumbers import SUPPORTED_REGIONS
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from verification.admin.base import display
from verification.admin.base.csv_export import is_asked_for
from verification.admin.base.current_project import current_project_id, return_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import own_project_ids, own_projects
from verification.admin.figures.words import percent
from verification.core.addresses import usual_number
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.models import ChannelType, HourlyFigures, Project, Provider, Right, RoutingRule
from verification.services.analytics import costs
from verification.services.analytics.price_comparison import Experience, experience_of
from verification.services.analytics.ranges import last_days
from verification.services.providers import rules
from verification.services.providers.prices import book_of
from verification.services.providers.rules import WHOLE, FirstAsked, Proposal

TRIAL_PERCENT = 5  # of a hundred messages, as "Try with 5 %" sends
EXAMPLE_DAYS = 30  # whose busiest country stands for all countries in a preview
LATELY_DAYS = 7  # which say more of a provider that fails now than all that is known of it
FALLBACK_EXAMPLE = "US"  # where there was no traffic yet
RESTORE = "restore"  # the button that removes a rule for those that it replaced


class CountrySelect(UnfoldAdminSelectWidget):
    """A list of countries, whose names the browser writes (``countries.js``)."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(name, value, *args, **kwargs)
        if value:
            option["attrs"]["data-country"] = value
        return option


class ProviderChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} ({ChannelType(obj.channel).label})"


class ProposalForm(forms.Form):
    project = forms.ModelChoiceField(
        label=gettext_lazy("Project"), queryset=Project.objects.none(), widget=UnfoldAdminSelectWidget
    )
    country = forms.ChoiceField(
        label=gettext_lazy("Country"),
        required=False,
        choices=[("", gettext_lazy("All countries")), *((code, code) for code in sorted(SUPPORTED_REGIONS))],
        widget=CountrySelect,
    )
    provider = ProviderChoiceField(
        label=gettext_lazy("Provider"), queryset=Provider.objects.none(), widget=UnfoldAdminSelectWidget
    )
    percent = forms.IntegerField(
        label=gettext_lazy("Percentage of messages sent to this provider first"),
        min_value=0,
        max_value=WHOLE,
        initial=WHOLE,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=gettext_lazy("100 = all messages, 5 = a test, 0 = paused."),
    )

    def __init__(self, request: HttpRequest, data: Any = None) -> None:
        super().__init__(data, initial={"project": current_project_id(request)})
        owned = own_projects(request.user, Right.CHANGE).order_by("name")
        project, provider = self.fields["project"], self.fields["provider"]
        assert isinstance(project, forms.ModelChoiceField) and isinstance(provider, forms.ModelChoiceField)
        project.queryset = owned
        provider.queryset = Provider.objects.serving(list(owned.values_list("pk", flat=True))).order_by("name")
        only = list(owned[:2])
        if len(only) == 1:
            project.initial, project.widget = only[0].pk, forms.HiddenInput()
            self.initial["project"] = only[0].pk

    @property
    def proposal(self) -> Proposal:
        chosen = self.cleaned_data
        return Proposal(chosen["project"], chosen["provider"], chosen["country"], chosen["percent"])


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A provider in the preview: of how many messages it is asked first, and what is known of it there."""

    name: str
    is_this: bool
    before: str
    after: str
    is_changed: bool
    verified: str
    price: str


def propose_link(project: int, provider: int, country: str, percent: int, way_back: str = "") -> str:
    """Return the address of the page that previews a rule, and goes on to ``way_back`` once it is made."""
    query: dict[str, Any] = {"project": project, "provider": provider, "country": country, "percent": percent}
    return reverse(
        "admin:verification_routingrule_propose", query=query | ({display.NEXT: way_back} if way_back else {})
    )


def remedies(
    request: HttpRequest, project: int, provider: Provider, country: str, best: Provider | None = None
) -> list[tuple[str, str]]:
    """Return the title and address of each step against a provider that fails in a country, or, with none, in all.

    Empty where the user may not change the project, or no other provider serves the channel. ``best`` is the one that
    is known to do better. A step that was taken is offered to be taken back; one that changes nothing is left out.
    """
    if project not in own_project_ids(request, Right.CHANGE):
        return []
    serving = Provider.objects.serving(project).filter(channel=provider.channel)
    other = best or serving.exclude(pk=provider.pk).in_order().first()
    if other is None:
        return []
    way_back, place = request.get_full_path(), display.format_country(country)
    here = RoutingRule.objects.filter(project=project, country=country, provider__channel=provider.channel)
    made = {(rule.provider_id, rule.percent): rule for rule in here.select_related("provider")}
    if country:
        route: str = format_html(_("Route {country} to {name}"), country=place, name=other.name)
        pause: str = format_html(_("Pause {name} for {country}"), name=provider.name, country=place)
    else:
        route = _("Use {name} first").format(name=other.name)
        pause = _("Pause {name}").format(name=provider.name)
    steps: list[tuple[str, str]] = []
    for title, chosen, part in ((route, other, WHOLE), (pause, provider, 0)):
        if rule := made.get((chosen.pk, part)):
            title = format_html(_("Remove the rule: {rule}"), rule=sentence_of(rule))
            steps.append((title, remove_link(rule, way_back)))
        elif not (country and part and rules.first_share(project, chosen, country) == WHOLE):
            steps.append((title, propose_link(project, chosen.pk, country, part, way_back)))
    return steps


def in_force(projects: list[int], provider: Provider, country: str | None) -> list[tuple[str, str]]:
    """Return the rules about a provider, each as a sentence with the address of its "Remove"."""
    rows = RoutingRule.objects.filter(project__in=projects, provider=provider).select_related("provider")
    rows = rows.filter(country__in=(country, "")) if country else rows
    return [(sentence_of(row), remove_link(row)) for row in rows]


def remove_link(rule: RoutingRule, way_back: str = "") -> str:
    """Return the address of the page that asks whether to remove a rule, and then goes on to ``way_back``."""
    query = {display.NEXT: way_back} if way_back else {}
    return reverse("admin:verification_routingrule_delete", args=(rule.pk,), query=query)


def sentence_of(rule: RoutingRule | Proposal) -> SafeString:
    name, country = rule.provider.name, rule.country
    if not rule.percent:
        text = _("{name} is paused for {country}.") if country else _("{name} is paused for all countries.")
    elif rule.percent == WHOLE:
        text = (
            _("All messages to {country} are sent to {name} first.")
            if country
            else _("All messages are sent to {name} first.")
        )
    else:
        text = (
            _(
                # xgettext:no-python-format
                "{percent} % of messages to {country} are sent to {name} first."
            )
            if country
            else _(
                # xgettext:no-python-format
                "{percent} % of messages are sent to {name} first."
            )
        )
    return format_html(text, name=name, country=display.format_country(country), percent=rule.percent)


@admin.register(RoutingRule)
class RoutingRuleAdmin(ScopedAdmin):
    deleters = Right.CHANGE
    list_display = ("rule", "channel", "project", "since", "remove")
    list_select_related = ("project", "provider")
    ordering = ("-created_at", "-id")
    delete_confirmation_template = "admin/verification/form_page.html"
    fields = readonly_fields = ("rule", "channel", "project", "since", "remove_here")
    empty_text = gettext_lazy("No rules. Each channel uses its own routing.")

    def get_intro(self, request: HttpRequest) -> Any:
        text = _(
            "Exceptions to a channel's routing: route a country to one provider first, or pause a provider"
            " there. Remove a rule to restore the channel's routing."
        )
        if not own_project_ids(request, Right.CHANGE):
            return text
        add = format_html(
            '<a class="ww-link" href="{}">{}</a>', reverse("admin:verification_routingrule_propose"), _("Add a rule")
        )
        return SafeString(f"{text} {add}")

    def get_custom_urls(self) -> tuple[tuple[str, str, Callable[..., HttpResponse]], ...]:
        return (("propose/", "verification_routingrule_propose", propose_view),)

    @admin.display(description=gettext_lazy("Rule"))
    def rule(self, row: RoutingRule) -> str:
        return sentence_of(row)

    @admin.display(description=gettext_lazy("Channel"))
    def channel(self, row: RoutingRule) -> str:
        return str(ChannelType(row.provider.channel).label)

    @admin.display(description=gettext_lazy("Since"), ordering="created_at")
    def since(self, row: RoutingRule) -> str:
        return display.time_ago_label(row.created_at)

    @admin.display(description="")
    def remove(self, row: RoutingRule) -> str:
        return format_html('<a class="ww-link" href="{}">{}</a>', remove_link(row), _("Remove"))

    @admin.display(description=gettext_lazy("What you can do"))
    def remove_here(self, row: RoutingRule) -> str:
        return format_html('<a class="ww-act" href="{}">{}</a>', remove_link(row), _("Remove the rule"))

    def get_fields(self, request: HttpRequest, obj: RoutingRule | None = None) -> Any:
        return self.fields if self.has_delete_permission(request, obj) else self.fields[:-1]

    def get_list_display(self, request: HttpRequest) -> Any:
        columns = super().get_list_display(request)
        return tuple(column for column in columns if column != "remove") if is_asked_for(request) else columns

    def get_actions(self, request: HttpRequest) -> Any:
        return {}

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the rule without Django's "Delete": its field names the same step as everywhere else."""
        return super().changeform_view(request, object_id, form_url, {"show_delete": False, **(extra_context or {})})

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Ask in the words of what deleting does here. A rule that ended others can be removed for them, too."""
        rule = self.get_object(request, object_id)
        ended = rules.restorable(rule) if rule else []
        words = rule and {
            "title": _("Remove the rule"),
            "intro": _question(rule, ended),
            "submit_text": _("Remove the rule"),
            "first_submit": (RESTORE, _restore_text(ended)),
            "back": self._after_removal(request),
        }
        try:
            response: HttpResponse = super().delete_view(request, object_id, {**(words or {}), **(extra_context or {})})
        except UserError as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())
        return response

    def delete_model(self, request: HttpRequest, obj: RoutingRule) -> None:
        if RESTORE in request.POST:
            rules.restore(obj, _example(obj))
        else:
            rules.end_rule(obj)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        text = _("The replaced rules are restored.") if RESTORE in request.POST else _("The rule is removed.")
        self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self._after_removal(request))

    def _after_removal(self, request: HttpRequest) -> str:
        return return_address(request) or reverse("admin:verification_routingrule_changelist")


def _restore_text(ended: list[Proposal]) -> str:
    """Return the text of the button that makes the replaced rules again; empty where there are none."""
    text = ngettext("Restore the previous rule", "Restore the previous rules", len(ended))
    return text if ended else ""


def _question(rule: RoutingRule, ended: list[Proposal]) -> SafeString:
    """Return what a rule does, who is tried first without it, and the rules that it ended."""
    place = "" if rule.provider.channel == ChannelType.EMAIL else rule.country or _example(rule)
    shares = {each.provider.name: each.after for each in rules.preview_removal(rule, place) if each.after}
    if not shares:
        text = _("If you remove this rule, no active provider can send these messages.")
    elif place:
        text = _("If you remove this rule, messages to {country} are sent to {names} first.")
    else:
        text = _("If you remove this rule, messages are sent to {names} first.")
    names = ", ".join(
        name if share == WHOLE else _("{name} ({percent})").format(name=name, percent=percent(share))
        for name, share in shares.items()
    )
    after = format_html(text, country=display.format_country(place), names=names)
    replaced = (format_html(_("This rule replaced: {rule}"), rule=sentence_of(each)) for each in ended)
    return format_html_join(SafeString(" "), "{}", ((each,) for each in (sentence_of(rule), after, *replaced)))


def propose_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Ask for a rule, preview what it changes, and make it when its form is sent."""
    if not own_project_ids(request, Right.CHANGE):
        raise PermissionDenied
    form = ProposalForm(request, request.GET if "provider" in request.GET else None)
    if form.fields["project"].widget.is_hidden and "project" in form.errors:
        raise Http404
    back = return_address(request) or reverse("admin:verification_routingrule_changelist")
    context: dict[str, Any] = {"form": form, "back": back, "next": return_address(request), "rows": []}
    if form.is_valid():
        proposal, example = form.proposal, _example(form.proposal)
        try:
            rules.require_possible(proposal, example)
        except UserError as error:
            form.add_error(None, str(error))
        else:
            if request.method == "POST":
                rule = rules.set_rule(proposal)
                model_admin.message_user(
                    request,
                    format_html(
                        '{} {} <a class="ww-link" href="{}">{}</a>',
                        sentence_of(rule),
                        _("The rule applies within a second."),
                        remove_link(rule),
                        _("Remove the rule"),
                    ),
                    messages.SUCCESS,
                )
                return HttpResponseRedirect(back)
            context |= _preview(proposal, example)
    title = _("Routing rule")
    return TemplateResponse(
        request,
        "admin/verification/routingrule/propose.html",
        model_admin.page_context(request, title, **context),
        status=400 if form.is_bound and not form.is_valid() else 200,
    )


def _example(rule: RoutingRule | Proposal) -> str:
    """Return the country with most of the project's messages, which stands for all in a preview."""
    rows = HourlyFigures.objects.filter(
        project=rule.project,
        channel=rule.provider.channel,
        hour__gte=timezone.now() - timedelta(days=EXAMPLE_DAYS),
    ).exclude(country="")
    busiest = rows.order_by().values("country").annotate(sum=Sum("messages")).order_by("-sum").first()
    return busiest["country"] if busiest else FALLBACK_EXAMPLE


def _preview(proposal: Proposal, example: str) -> dict[str, Any]:
    place = proposal.country or example
    projects, now = [proposal.project.pk], timezone.now()
    known = experience_of(projects, now, last_days(now, LATELY_DAYS))
    rows = rules.preview(proposal, example)
    is_example = not proposal.country and proposal.provider.channel != ChannelType.EMAIL
    return {
        "sentence": sentence_of(proposal),
        "replaced": [sentence_of(rule) for rule in rules.replaced_by(proposal)],
        "rows": [_row(each, proposal, place, known.get((each.provider.id, place), Experience())) for each in rows],
        "currency": costs.account_currency(),
        "note": format_html(_("The table shows {country} as an example."), country=display.format_country(place))
        if is_example
        else "",
        "is_same": proposal.percent and all(each.before == each.after for each in rows),
        "submit_text": _submit(proposal),
    }


def _submit(proposal: Proposal) -> str:
    if not proposal.percent:
        return _("Pause {name}").format(name=proposal.provider.name)
    if proposal.percent == WHOLE:
        return _("Route to {name}").format(name=proposal.provider.name)
    return _("Try with {percent} %").format(percent=proposal.percent)


def _row(asked: FirstAsked, proposal: Proposal, place: str, seen: Experience) -> PreviewRow:
    live = asked.provider
    price = book_price(live.id, place) if not live.is_system else ""
    return PreviewRow(
        live.name,
        live.id == proposal.provider.pk,
        percent(asked.before),
        percent(asked.after),
        asked.before != asked.after,
        percent(round(100 * seen.verified / seen.sent, 1))
        if seen.is_enough
        else (_("rarely used here") if seen.accepted else _("never used here")),
        price or "–",
    )


def book_price(provider_id: int, country: str) -> str:
    """Write the price of one message or segment to a country in the currency of account; empty where none is known."""
    row = Provider.objects.filter(pk=provider_id).first()
    day = timezone.now().date()
    found = book_of(row.pk, row.price_list).find(usual_number(country), country, day) if row else None
    if found is None:
        return ""
    amount = costs.Rates(costs.account_currency()).into_account(found.amount, found.currency, day)
    return "" if amount is None else grouped(round(amount, costs.SHOWN_PLACES))
