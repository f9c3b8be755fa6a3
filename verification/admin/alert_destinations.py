"""Alert destinations: e-mail, the webhook, and chats in one list, each with its test and how its last alert ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.forms.models import modelform_factory
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.current_project import current_projects
from verification.admin.base.display import page_address, time_ago_label
from verification.admin.base.permissions import own_projects
from verification.core import mail_server
from verification.core.numbers import whole_number
from verification.models import AlertOutcome, AlertService, AlertServiceKind, AlertWay, Project, Right
from verification.services.notifications import alert_services, own_ways
from verification.services.projects.settings import faults
from verification.services.records import audit

PROJECTS_SHOWN = 30  # with their destinations; of more, the switcher chooses one
QUIET = "quiet"  # in the address of a form, beside the ways
FORMS = {  # by what the form is about: its title, and the settings of the project that it has
    AlertWay.MAIL: (gettext_lazy("Alerts by e-mail"), ("alert_by_mail", "alert_emails")),
    AlertWay.WEBHOOK: (gettext_lazy("Alerts by webhook"), ("alert_by_webhook", "alert_url")),
    QUIET: (
        gettext_lazy("Quiet hours and digest"),
        ("alert_quiet_hours", "alert_time_zone", "alert_digest", "balance_alert_days"),
    ),
}
ICONS = {AlertServiceKind.TELEGRAM: "send", AlertServiceKind.SLACK: "forum", AlertServiceKind.APPRISE: "campaign"}
NO_MAIL_SERVER = gettext_lazy(
    "No mail server is set up (EMAIL_URL), so the worker writes e-mail alerts and digests to its log and sends none."
    " Other destinations work without it."
)


@dataclass(frozen=True, slots=True)
class Destination:
    """A line of the list. ``state`` is a word: on, off, stopped where there is no mail server, or none where it has no
    address yet."""

    icon: str
    kind: str
    name: str
    state: str
    tried: str  # how long ago the last try was; empty before the first
    error: str
    is_at_once: bool  # also in quiet hours
    edit: str
    test: str
    toggle: str


@dataclass(frozen=True, slots=True)
class ProjectDestinations:
    project: Project
    lines: list[Destination]
    quiet: str  # the address of the form
    add: str


class AlertSettingsForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A few settings of a project, judged like all of them."""

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # Django's, but not in the stubs
        for name, text in faults(self.instance, self.changed_data).items():
            if name in self.fields and name not in self.errors:
                self.add_error(name, text)


def context_of(request: HttpRequest) -> dict[str, Any]:
    """Return what the list shows: the destinations of the chosen project, or those of each."""
    projects = list(current_projects(request, Right.CHANGE).order_by("name", "pk")[: PROJECTS_SHOWN + 1])
    outcomes = {
        (each.project_id, each.way): each for each in AlertOutcome.objects.filter(project__in=projects[:PROJECTS_SHOWN])
    }
    services: dict[int, list[AlertService]] = {}
    for service in AlertService.objects.filter(project__in=projects[:PROJECTS_SHOWN]):
        services.setdefault(service.project_id, []).append(service)
    return {
        "groups": [
            ProjectDestinations(
                project=project,
                lines=[
                    _mail(project, outcomes.get((project.pk, AlertWay.MAIL))),
                    _webhook(project, outcomes.get((project.pk, AlertWay.WEBHOOK))),
                    *map(_service, services.get(project.pk, ())),
                ],
                quiet=_address("settings", project, QUIET),
                add=reverse("admin:verification_alertservice_add", query={"project": project.pk}),
            )
            for project in projects[:PROJECTS_SHOWN]
        ],
        "is_cut": len(projects) > PROJECTS_SHOWN,
        "no_mail_server": "" if mail_server.has_mail_server() else NO_MAIL_SERVER,
    }


def _mail(project: Project, outcome: AlertOutcome | None) -> Destination:
    if project.alert_emails:
        name = ", ".join(project.alert_emails)
    else:
        addresses = own_ways.mail_addresses(project)
        name = _("Members of the project: {addresses}").format(
            addresses=", ".join(addresses) or _("none of them has an e-mail address")
        )
    state = "off" if not project.alert_by_mail else "on" if mail_server.has_mail_server() else "stopped"
    return _own_way(project, AlertWay.MAIL, "mail", name, state, outcome)


def _webhook(project: Project, outcome: AlertOutcome | None) -> Destination:
    state = "none" if not project.alert_url else "on" if project.alert_by_webhook else "off"
    return _own_way(project, AlertWay.WEBHOOK, "webhook", project.alert_url, state, outcome)


def _own_way(
    project: Project, way: AlertWay, icon: str, name: str, state: str, outcome: AlertOutcome | None
) -> Destination:
    return Destination(
        icon=icon,
        kind=str(way.label),
        name=name,
        state=state,
        tried=_tried(outcome.tried_at if outcome else None),
        error=_(outcome.error) if outcome and outcome.error else "",
        is_at_once=way == AlertWay.WEBHOOK,
        edit=_address("settings", project, way),
        test=_address("test", project, way) if state != "none" else "",
        toggle=_address("toggle", project, way) if state != "none" else "",
    )


def _service(service: AlertService) -> Destination:
    return Destination(
        icon=ICONS[AlertServiceKind(service.kind)],
        kind=service.get_kind_display(),
        name=service.name,
        state="on" if service.is_enabled else "off",
        tried=_tried(service.tried_at or service.told_at),
        error=service.error,
        is_at_once=False,
        edit=page_address(service),
        test=reverse("admin:verification_alertservice_send_test", args=(service.pk,)),
        toggle=_address("toggle", service.project, str(service.pk)),
    )


def _tried(moment: datetime | None) -> str:
    return time_ago_label(moment) if moment else ""


def _address(step: str, project: Project, what: str) -> str:
    return reverse(f"admin:verification_alert_{step}", args=(project.pk, what))


def list_address(project: Project) -> str:
    return reverse("admin:verification_alertservice_changelist", query={"project": project.pk})


# --- what is done ------------------------------------------------------------------------------------------------


def settings_view(request: HttpRequest, model_admin: Any, project_id: int, what: str) -> HttpResponse:
    """Show the settings of one way, or the quiet hours, and save them: these columns of the project alone."""
    project = _project(request, project_id)
    if what not in FORMS:
        raise Http404
    title, fields = FORMS[what]
    callback = partial(model_admin.formfield_for_dbfield, request=request)
    form_class = modelform_factory(Project, form=AlertSettingsForm, fields=fields, formfield_callback=callback)
    form = form_class(request.POST if "confirmed" in request.POST else None, instance=project)
    if form.is_valid():
        form.save(commit=False).save(update_fields=form.changed_data)
        model_admin.message_user(request, _("Saved."), messages.SUCCESS)
        return HttpResponseRedirect(list_address(project))
    answer: HttpResponse = model_admin.ask(
        request,
        str(title),
        intro=str(NO_MAIL_SERVER) if what != AlertWay.WEBHOOK and not mail_server.has_mail_server() else "",
        submit=_("Save"),
        row=project,
        form=form,
        back=list_address(project),
    )
    return answer


def toggle_view(request: HttpRequest, model_admin: Any, project_id: int, what: str) -> HttpResponse:
    """Turn a destination on or off, by the button of its line."""
    project = _project(request, project_id)
    row, column = _switch_of(project, what)
    if request.method == "POST":
        is_on = not getattr(row, column)
        type(row)._default_manager.filter(pk=row.pk).update(**{column: is_on})
        said = _("{name} is active.") if is_on else _("{name} is off and gets no alerts.")
        name = row.name if isinstance(row, AlertService) else AlertWay(what).label
        model_admin.message_user(request, said.format(name=name), messages.SUCCESS)
    return HttpResponseRedirect(list_address(project))


def _switch_of(project: Project, what: str) -> tuple[Model, str]:
    if what in AlertWay.values:
        return project, f"alert_by_{what}"
    service = AlertService.objects.filter(project=project, pk=whole_number(what) or 0).first()
    if service is None:
        raise Http404
    return service, "is_enabled"


@skip_reauthentication
def test_view(request: HttpRequest, model_admin: Any, project_id: int, what: str) -> HttpResponse:
    """Ask on a GET; on a POST send a test by one way at once, and show how it ended."""
    project = _project(request, project_id)
    if what not in AlertWay.values:
        raise Http404
    error = None
    if request.method == "POST":
        error = own_ways.send_test(project, what)
        audit.record(gettext_noop("Sent a test alert"), row=project, project=project, label=str(project))
    to = project.alert_url if what == AlertWay.WEBHOOK else ", ".join(own_ways.mail_addresses(project))
    lacks_secret = bool(error) and what == AlertWay.WEBHOOK and not project.webhook_secrets.live().exists()
    way = reverse("admin:verification_project_webhook_secret", args=(project.pk,)) if lacks_secret else ""
    return test_page(request, model_admin, str(AlertWay(what).label), to, error, project, secret_page=way)


def test_service(request: HttpRequest, model_admin: Any, service: AlertService) -> HttpResponse:
    error = None
    if request.method == "POST":
        error = alert_services.send(
            service,
            title=f"[{service.project.name}] {_('Test alert')}",
            text=_("This project's alerts will arrive here."),
        )
        model_admin.log_change(request, service, gettext_noop("Sent a test alert"))
    return test_page(request, model_admin, service.name, service.get_kind_display(), error, service.project)


def test_page(
    request: HttpRequest,
    model_admin: Any,
    name: str,
    to: str,
    error: str | None,
    project: Project,
    *,
    secret_page: str = "",
) -> HttpResponse:
    context = model_admin.page_context(
        request,
        _("Send a test alert"),
        name=name,
        to=to,
        error=None if error is None else _(error) if error else "",
        secret_page=secret_page,  # where the webhook secret is made that the test lacked
        back=list_address(project),
    )
    return TemplateResponse(request, "admin/verification/alertservice/test.html", context)


def _project(request: HttpRequest, project_id: int) -> Project:
    project = own_projects(request.user, Right.CHANGE).filter(pk=project_id).first()
    if project is None:
        raise Http404
    return project
