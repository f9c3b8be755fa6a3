"""The people of a project: who they are, inviting, their roles, leaving, and handing over."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminSelectWidget, UnfoldBooleanWidget

from verification.admin.base.display import page_address, time_ago_label, time_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import own_project_ids
from verification.core import mail_server
from verification.core.errors import UserError
from verification.core.formats import EXACT
from verification.core.numbers import whole_number
from verification.models import Invitation, Membership, Project, Right, Role
from verification.services.users import invitations, people, second_factor


class InvitationForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("E-mail address"),
        max_length=254,
        widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=Role.choices,
        initial=Role.SUPPORT,
        help_text=gettext_lazy(
            "Owner: everything. Developer: everything except managing people, lifting blocks and erasing "
            "recipients' data. Analyst: figures and costs. Support: sessions, messages, lifting blocks "
            "and erasing recipients' data."
        ),
        widget=UnfoldAdminSelectWidget,
    )
    sees_addresses = forms.BooleanField(
        required=False,
        label=gettext_lazy("Can see full recipient addresses"),
        help_text=gettext_lazy(
            "One at a time, recorded in the audit log. Only members who have this permission can give it to others."
        ),
        widget=UnfoldBooleanWidget,
    )


@action(description=gettext_lazy("People"), icon="group", permissions=["view"], url_path="people")
def show_people(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """List the people. A POST says in ``step`` what to do; the services check who may."""
    project: Project = model_admin.find(request, object_id)
    step = request.POST.get("step") if request.method == "POST" else None
    form = InvitationForm(request.POST if step == "invite" else None)
    if step == "link":
        return _show_link(model_admin, request, project) or HttpResponseRedirect(request.path)
    if step in STEPS:
        try:
            said = STEPS[step](request, project)
        except UserError as error:
            model_admin.message_user(request, str(error), messages.WARNING)
        else:
            model_admin.message_user(request, said, messages.SUCCESS)
        is_in = project.pk in own_project_ids(request) and _is_in(request, project)
        return HttpResponseRedirect(request.path if is_in else reverse("admin:index"))
    if form.is_valid() and _invite(model_admin, request, project, form):
        return HttpResponseRedirect(request.path)
    user: Any = request.user
    members = list(project.memberships.select_related("user").order_by("user__username"))
    own = next((member for member in members if member.user_id == user.pk), None)
    context = model_admin.page_context(
        request,
        _("People"),
        object=project,
        back=page_address(project),
        form=form,
        no_mail_server=not mail_server.has_mail_server(),
        may_manage=project.pk in own_project_ids(request, Right.MANAGE_PEOPLE),
        roles=Role.choices,
        people=_lines(members, user),
        own=own,
        successors=_successors(members, own),
        open_invitations=[
            (each, Role(each.role).label, each.invited_by.get_username(), time_label(each.expires_at, EXACT))
            for each in invitations.open_of(project).select_related("invited_by")
        ],
    )
    return TemplateResponse(request, "admin/verification/project/people.html", context)


def _lines(members: list[Membership], user: User) -> list[dict[str, Any]]:
    ids = [member.user_id for member in members]
    with_factor = second_factor.with_factor(ids)
    return [
        {
            "member": member,
            "is_own": member.user_id == user.pk,
            "has_factor": member.user_id in with_factor,
            "can_log_in": member.user.is_active and member.user.is_staff,
            "seen": time_ago_label(member.user.last_login) if member.user.last_login else _("Never"),
        }
        for member in members
    ]


def _successors(members: list[Membership], own: Membership | None) -> list[Membership]:
    """Return those whom the last owner may hand the project over to; none where another owner stays."""
    if own is None or own.role != Role.OWNER:
        return []
    others = [each for each in members if each.pk != own.pk and each.user.is_active and each.user.is_staff]
    return [] if any(each.role == Role.OWNER for each in others) else others


def _is_in(request: HttpRequest, project: Project) -> bool:
    user: Any = request.user
    return bool(user.is_superuser or project.memberships.filter(user=user).exists())


def _invite(model_admin: ScopedAdmin, request: HttpRequest, project: Project, form: InvitationForm) -> bool:
    given = form.cleaned_data
    try:
        invitations.invite(project=project, by=request.user, **given)  # type: ignore[arg-type]  # a page has a user
    except UserError as error:
        form.add_error(None, str(error))
        return False
    said = (
        _("An e-mail with a link was sent to {given}. The link works for one day.")
        if mail_server.has_mail_server()
        else _("{given} was invited. No mail server is set up, so copy the link and send it yourself.")
    )
    model_admin.message_user(request, said.format(given=given["email"]), messages.SUCCESS)
    return True


def _show_link(model_admin: ScopedAdmin, request: HttpRequest, project: Project) -> HttpResponse | None:
    """Show a new link of an open invitation once. None where there is none, with the reason as a message."""
    number = whole_number(request.POST.get("invitation", "")) or 0
    invitation = Invitation.objects.filter(project=project, pk=number).first()
    try:
        if invitation is None:
            raise UserError(invitations.OVER)
        link = invitations.draw_link(invitation, by=request.user)  # type: ignore[arg-type]  # a page has a user
    except UserError as error:
        model_admin.message_user(request, str(error), messages.WARNING)
        return None
    return model_admin.show_secrets(
        request,
        project,
        title=_("Invitation link"),
        warning=_("Send this link to {email}. It works once, within a day. Earlier links no longer work.").format(
            email=invitation.email
        ),
        secrets=[(_("Link"), link, _("Anyone who has it can join as {email}.").format(email=invitation.email))],
    )


def _member(request: HttpRequest, project: Project, name: str = "member") -> Membership:
    member = project.memberships.filter(pk=whole_number(request.POST.get(name, "")) or 0).first()
    if member is None:
        raise UserError(_("This person has left the project."))
    return member


def _change(request: HttpRequest, project: Project) -> str:
    member, role = _member(request, project), request.POST.get("role", "")
    if role not in Role.values:
        raise UserError(_("Choose one of the roles."))
    sees = "sees_addresses" in request.POST
    people.change_role(member, role=role, sees_addresses=sees, by=request.user)  # type: ignore[arg-type]
    return _("{user} is now {role}.").format(user=member.user, role=Role(role).label.lower())


def _remove(request: HttpRequest, project: Project) -> str:
    member = _member(request, project)
    people.remove(member, by=request.user)  # type: ignore[arg-type]  # a page of the panel has a user
    return _("{user} is no longer in {project}.").format(user=member.user, project=project)


def _withdraw(request: HttpRequest, project: Project) -> str:
    number = whole_number(request.POST.get("invitation", "")) or 0
    invitation = Invitation.objects.filter(project=project, pk=number).first()
    if invitation is None or not invitations.withdraw(invitation, by=request.user):  # type: ignore[arg-type]
        raise UserError(_("The invitation is no longer valid."))
    return _("The link sent to {email} no longer works.").format(email=invitation.email)


def _leave(request: HttpRequest, project: Project) -> str:
    user: Any = request.user
    own = project.memberships.filter(user=user).first()
    if own is None:
        raise UserError(_("You are not a member of this project."))
    successor = _member(request, project, "successor") if request.POST.get("successor") else None
    people.leave(own, successor=successor)
    if successor is None:
        return _("You have left {project}.").format(project=project)
    return _("You have left {project}. {user} is now its owner.").format(project=project, user=successor.user)


STEPS = {"change": _change, "remove": _remove, "withdraw": _withdraw, "leave": _leave}
