"""The findings of the traffic guard and of the rules on guessing, and the button that lifts one."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action

from verification.admin.base import display
from verification.admin.base.traffic_admin import TrafficAdmin
from verification.core import countries
from verification.core.formats import grouped
from verification.models import GuardBlock, GuardRule, Right
from verification.models.guard import ABOUT_COUNTRIES, REFUSES_SENDS
from verification.services.protection.guard import findings


class FindingStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("running", _("Active")), ("over", _("Expired or lifted"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[GuardBlock]) -> QuerySet[GuardBlock]:
        running = Q(lifted_at=None, until__gt=timezone.now())
        return {"running": queryset.filter(running), "over": queryset.exclude(running)}.get(
            self.value() or "", queryset
        )


@admin.register(GuardBlock)
class GuardBlockAdmin(TrafficAdmin):
    viewers = Right.SEE_TRAFFIC
    actors = Right.HELP_USERS
    empty_text = gettext_lazy("No suspicious traffic detected.")
    list_display = ("rule_label", "subject_label", "state", "refused_count", "project", "began")
    list_filter = (FindingStateFilter, "rule")
    list_select_related = ("project",)
    intro = gettext_lazy(
        "Blocks set by the traffic guard and the code-guessing rules. While a block is active, its traffic is"
        " refused or treated as suspicious. Blocks expire on their own; lift one if the traffic is"
        " legitimate."
    )
    change_form_outer_before_template = "admin/verification/guardblock/lift.html"
    search_fields = ("subject",)
    search_help_text = gettext_lazy("Prefix, country or client network")
    ordering = ("-since", "-id")
    actions: Any = ("lift_selected",)
    actions_detail = ("lift",)
    fieldsets = (
        (None, {"fields": ("rule_label", "subject_label", "project", "state", "what", "refused_count", "level")}),
        (gettext_lazy("Times"), {"fields": ("since_time", "until_time", "lifted_time", "lifter")}),
    )
    readonly_fields = (
        "rule_label",
        "subject_label",
        "state",
        "what",
        "refused_count",
        "since_time",
        "until_time",
        "lifted_time",
        "lifter",
    )

    since_time = display.column("since", gettext_lazy("Since"))
    until_time = display.column("until", gettext_lazy("Until"))
    lifted_time = display.column("lifted_at", gettext_lazy("Lifted"))

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        return rows.filter(subject__startswith=countries.country_of(term) or term.rstrip("…"))

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Leave out "Lift": the notice above the form has that button."""
        return [each for each in super().get_actions_detail(request, object_id) if each.path != "lift"]

    @admin.display(description=gettext_lazy("Rule"), ordering="rule")
    def rule_label(self, finding: GuardBlock) -> str:
        return finding.get_rule_display()

    @admin.display(description=gettext_lazy("Applies to"), ordering="subject")
    def subject_label(self, finding: GuardBlock) -> str:
        if finding.rule in ABOUT_COUNTRIES and finding.subject:
            return display.format_country(finding.subject)
        return display.monospace(findings.subject_of(finding))

    @admin.display(description=gettext_lazy("State"), ordering="until")
    def state(self, finding: GuardBlock) -> str:
        if finding.lifted_at:
            return display.label(_("Lifted"))
        if not findings.is_running(finding):
            return display.label(_("Expired"))
        if findings.refuses(finding):
            return display.label(_("Active"), "danger")
        return display.label(_("Observed only") if finding.rule in REFUSES_SENDS else _("Suspicious"), "warning")

    @admin.display(description=gettext_lazy("Details"))
    def what(self, finding: GuardBlock) -> str:
        if findings.is_running(finding):
            return findings.headline_and_detail(finding)[1]
        end = _("The block was lifted.") if finding.lifted_at else _("The block has expired.")
        return f"{findings.what_was_counted(GuardRule(finding.rule), finding.figures)} {end}"

    @admin.display(description=gettext_lazy("Lifted by"))
    def lifter(self, finding: GuardBlock) -> str:
        """Name who lifted it, without a link: the pages of accounts are the operator's."""
        return str(finding.lifted_by or "–")

    @admin.display(description=gettext_lazy("Refused"), ordering="refused")
    def refused_count(self, finding: GuardBlock) -> str:
        if finding.rule not in REFUSES_SENDS:
            return "–"
        return (
            grouped(finding.refused)
            if findings.refuses(finding)
            else _("{refused} (observed only)").format(refused=grouped(finding.refused))
        )

    @admin.display(description=gettext_lazy("Since"), ordering="since")
    def began(self, finding: GuardBlock) -> str:
        return display.time_ago_label(finding.since)

    @action(description=gettext_lazy("Lift"), permissions=["act"])
    def lift(self, request: HttpRequest, object_id: str) -> HttpResponse:
        finding: GuardBlock = self.find(request, object_id)
        if request.method == "POST":
            self._lift(request, finding)
        return HttpResponseRedirect(reverse("admin:verification_guardblock_change", args=(finding.pk,)))

    @admin.action(description=gettext_lazy("Lift selected blocks"), permissions=["act"])
    def lift_selected(self, request: HttpRequest, queryset: QuerySet[GuardBlock]) -> None:
        for finding in queryset:
            self._lift(request, finding)

    def _lift(self, request: HttpRequest, finding: GuardBlock) -> None:
        if not findings.lift(finding, by=request.user):  # type: ignore[arg-type]  # a page of the panel has a user
            self.message_user(request, _("{finding} had already expired.").format(finding=finding), messages.INFO)
            return
        self.log_change(request, finding, gettext_noop("Lifted"))
        self.message_user(
            request,
            _("Lifted. Counts for {subject} were reset.").format(subject=findings.subject_shown(finding)),
            messages.SUCCESS,
        )
