"""Kill switches: the operator stops sending for every project, and resumes it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.display import column, label, time_ago_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import Who
from verification.models import KillSwitch
from verification.services.projects.kill_switch import stopped

RESUMED = gettext_lazy("Sending resumes within a second for every project.")


class KillSwitchForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        labels = {"subject": gettext_lazy("Stop")}
        help_texts = {
            "subject": gettext_lazy(
                "Takes effect within a second for every project. Queued messages fail; codes that were"
                " already delivered can still be checked and verified."
            ),
            "reason": gettext_lazy("Everyone affected sees this on the overview."),
        }


@admin.register(KillSwitch)
class KillSwitchAdmin(ScopedAdmin):
    """A row stops the sending; deleting the row resumes it."""

    viewers = adders = changers = deleters = Who.SUPERUSERS
    form = KillSwitchForm
    fields = ("subject", "reason")
    list_display = ("subject_label", "reason", "since_ago")
    delete_confirmation_template = "admin/verification/form_page.html"
    actions: Any = ("resume_selected",)

    since_time = column("since", gettext_lazy("Stopped"))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("subject", "since_time") if obj else ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("subject", "reason", "since_time") if obj else ("subject", "reason")

    def get_intro(self, request: HttpRequest) -> str:
        parts = [_("Each row stops sending for all projects until you resume it.")]
        if not KillSwitch.objects.exists():
            parts.append(_("None active."))
        parts.append(
            _(
                'To stop a country, use the <a class="ww-link"'
                ' href="%(address)s?kind__exact=block&amp;subject__exact=country">block list</a>; for a'
                " project or provider, its own page."
            )
            % {"address": reverse("admin:verification_listentry_changelist")}
        )
        if others := [escape(each.title) for each in stopped() if ":" in each.name]:
            parts += [_("Stopped this way:"), f"{', '.join(others)}."]
        return " ".join(parts)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Ask in the words of what deleting does here: it resumes."""
        words = {
            "title": _("Resume"),
            "intro": RESUMED,
            "submit_text": _("Resume"),
            "back": reverse("admin:verification_killswitch_change", args=(object_id,)),
        }
        response: HttpResponse = super().delete_view(request, object_id, {**words, **(extra_context or {})})
        return response

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        self._say_it_goes_on(request, obj_display)
        return HttpResponseRedirect(reverse("admin:verification_killswitch_changelist"))

    def get_actions(self, request: HttpRequest) -> Any:
        """Leave out Django's "Delete selected": a list's action is called what it does, too."""
        return {name: each for name, each in super().get_actions(request).items() if name != "delete_selected"}

    @admin.action(description=gettext_lazy("Resume selected"), permissions=["delete"])
    def resume_selected(self, request: HttpRequest, queryset: QuerySet[KillSwitch]) -> HttpResponse | None:
        switches = list(queryset)
        if not request.POST.get("confirmed"):
            return self.ask_about_selected(
                request,
                switches,
                _("Resume"),
                action="resume_selected",
                intro=f"{', '.join(map(str, switches))}. {RESUMED}",
                submit=_("Resume"),
            )
        self.log_deletions(request, queryset)
        self.delete_queryset(request, queryset)
        for switch in switches:
            self._say_it_goes_on(request, str(switch))
        return None

    def _say_it_goes_on(self, request: HttpRequest, name: str) -> None:
        self.message_user(request, _("{name}: sending resumed.").format(name=name), messages.SUCCESS)

    def save_model(self, request: HttpRequest, obj: KillSwitch, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            self.message_user(request, _("{obj} is stopped. Resume it on its page.").format(obj=obj), messages.WARNING)

    @admin.display(description=gettext_lazy("Stopped"), ordering="subject")
    def subject_label(self, switch: KillSwitch) -> str:
        return label(switch, "danger")

    @admin.display(description=gettext_lazy("Since"), ordering="since")
    def since_ago(self, switch: KillSwitch) -> str:
        return time_ago_label(switch.since)
