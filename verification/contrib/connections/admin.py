"""A project's connections in the panel: which there are, making one with the lines to paste, and removing it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from verification.admin.auth import form_tokens
from verification.admin.base.display import page_address, time_ago_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.projects.project import ProjectAdmin
from verification.admin.projects.sections import INTEGRATION
from verification.contrib.connections import connections, registry
from verification.contrib.connections.base import System
from verification.core.errors import UserError
from verification.core.numbers import whole_number
from verification.models import ChannelType, IdentityConnection, Project
from verification.models.connections import NAME_MAX_LENGTH

COPY_NOW = gettext_lazy("Copy the secret now; you won't see it again. Anyone who has it can send at your expense.")
OPTION = "option_"  # before the name of a system's option, so that none meets another field


class ConnectionForm(forms.Form):
    """Asks for what a system's connection needs: its own options beside the name, channel and secret."""

    name = forms.CharField(
        max_length=NAME_MAX_LENGTH,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Your name for it, here and in the decision log."),
        widget=UnfoldAdminTextInputWidget,
    )
    channel = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Channel"),
        help_text=gettext_lazy(
            "“Chosen for each recipient” picks the channel as for a session and uses the project's fallback order."
        ),
        widget=UnfoldAdminSelectWidget,
    )
    secret = forms.CharField(
        required=False,
        label=gettext_lazy("Secret"),
        help_text=gettext_lazy(
            "Leave empty to generate one, which is shown once. Only enter one if the system generates its own."
        ),
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, system: type[System], *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        channels = [
            (channel.value, channel.label)
            for channel in ChannelType
            if ("email" if channel is ChannelType.EMAIL else "phone") in system.recipients
        ]
        self.fields["channel"].choices = [("", _("Chosen for each recipient")), *channels]  # type: ignore[attr-defined]
        self.fields["name"].initial = system.label
        for option in system.declared:
            self.fields[OPTION + option.name] = forms.CharField(
                required=option.is_required,
                initial=option.default,
                max_length=registry.MAX_OPTION,
                label=option.label,
                help_text=option.help,
                widget=UnfoldAdminTextInputWidget(attrs={"spellcheck": "false"}),
            )

    @property
    def options(self) -> dict[str, str]:
        return {
            name.removeprefix(OPTION): value for name, value in self.cleaned_data.items() if name.startswith(OPTION)
        }


@action(description=gettext_lazy("Connections"), icon="cable", permissions=["change"], url_path="connections")
def show_connections(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """List the connections and the systems that can be connected."""
    project: Project = model_admin.find(request, object_id)
    context = model_admin.page_context(
        request,
        _("Connections"),
        object=project,
        lines=[
            (row, _label(row), row.get_channel_display() or _("chosen"), _used(row), connections.address_of(row))
            for row in connections.connections_of(project)
        ],
        systems=[(system.name, system.label) for system in registry.all_systems().values()],
        add_address=_address("add_connection", project),
        remove_address=_address("remove_connection", project),
        back=page_address(project),
    )
    return TemplateResponse(request, "admin/verification/project/connections.html", context)


@action(description=gettext_lazy("Connect"), permissions=["change"], url_path="add-connection")
def add_connection(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Make a connection to the system that the address names. Its secret is in the answer to the POST alone."""
    project: Project = model_admin.find(request, object_id)
    back = _address("show_connections", project)
    system = registry.all_systems().get(request.GET.get("system", ""))
    if system is None:
        return HttpResponseRedirect(back)
    form = ConnectionForm(system, request.POST if request.method == "POST" else None)
    if form.is_valid():
        if fault := form_tokens.spend(request):
            return model_admin.refuse(request, project, _("{fault} Nothing was connected.").format(fault=fault))
        try:
            row, secret = connections.add_connection(
                project=project,
                system=system.name,
                channel=form.cleaned_data["channel"],
                name=form.cleaned_data["name"],
                secret=form.cleaned_data["secret"],
                options=form.options,
            )
        except UserError as error:
            form.add_error(None, str(error))
        else:
            model_admin.log_change(request, project, f"Connected {row}")
            return model_admin.show_secrets(
                request,
                project,
                title=_("Paste into {system}").format(system=row),
                warning=COPY_NOW,
                secrets=[(str(line.name), line.text, str(line.note)) for line in connections.lines_of(row, secret)],
            )
    return model_admin.ask(
        request,
        _("Connect {system}").format(system=system.label),
        row=project,
        form=form,
        intro=_("The next page shows what to paste there. The guide to connections explains the steps."),
        submit=_("Connect"),
        back=back,
        acts_once=True,
    )


@action(description=gettext_lazy("Remove a connection"), permissions=["change"], url_path="remove-connection")
def remove_connection(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Remove the connection that the address names, once the user has said so."""
    project: Project = model_admin.find(request, object_id)
    back = _address("show_connections", project)
    number = whole_number(request.GET.get("connection", "")) or 0
    row = connections.connections_of(project).filter(pk=number).first()
    if row is None:
        return HttpResponseRedirect(back)
    if request.method != "POST":
        return model_admin.ask(
            request,
            _("Remove {connection}").format(connection=row),
            row=project,
            intro=_("Within a second, its requests get “not found” and its users get no codes."),
            submit=_("Remove"),
            back=back,
            is_dangerous=True,
        )
    connections.remove_connection(row.pk, project)
    model_admin.log_change(request, project, f"Removed the connection {row}")
    model_admin.message_user(request, _("{connection} was removed.").format(connection=row))
    return HttpResponseRedirect(back)


def _label(row: IdentityConnection) -> str:
    system = registry.all_systems().get(row.system)
    return str(system.label) if system else row.system


def _used(row: IdentityConnection) -> str:
    return time_ago_label(row.last_used_at) if row.last_used_at else _("Never")


def _address(name: str, project: Project) -> str:
    return reverse(f"admin:verification_project_{name}", args=(project.pk,))


ProjectAdmin.add_actions(show_connections, add_connection, remove_connection, part=INTEGRATION)
