"""The checklist on the page of a new project: what is done, and where to do the next step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base.current_project import form_link
from verification.admin.base.display import NEXT, page_address
from verification.core import mail_server
from verification.models import Channel, ChannelType, Project, Provider
from verification.services.analytics import onboarding
from verification.services.analytics.onboarding import FirstUse
from verification.services.texts.own import VENDOR_WORDED

NEW_FOR = timedelta(days=30)  # of a project; who has left a step open for longer has decided so


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    """One line of the checklist. ``link`` leads to where it is done; ``press`` is the button's text.

    ``again`` is the button's text once the step is done; without one it then has no button.
    ``outlasts_first_user``: while it is open, it stays on the list after the first user was verified.
    """

    title: str
    text: str
    link: str
    press: str
    is_done: bool
    again: str = ""
    outlasts_first_user: bool = False


def checklist(project: Project) -> dict[str, Any]:
    """Return the context of the checklist's template."""
    steps = steps_of(project)
    return {"first_steps": steps, "first_done": sum(step.is_done for step in steps)}


def steps_of(project: Project) -> list[ChecklistStep]:
    """Return the checklist; nothing once it is over.

    A verified user ends it, but for the check of credentials and the alerts: these stay while they are open, as long
    as the project is new.
    """
    is_verified = onboarding.is_over(project)
    if is_verified and project.created_at < timezone.now() - NEW_FOR:
        return []
    facts = onboarding.facts_of(project)
    if is_verified and facts.is_checked and facts.has_alerts:
        return []
    steps = [
        *_set_up_steps(project, facts),
        *_first_use_steps(project, facts, is_verified=is_verified),
        _alert_step(project, facts),
    ]
    return [step for step in steps if step.is_done or not is_verified or step.outlasts_first_user]


def _set_up_steps(project: Project, facts: FirstUse) -> list[ChecklistStep]:
    steps = [
        ChecklistStep(
            _("Create an API key"),
            _("Your app uses it to call the API. It is shown only once."),
            _page("project_issue_key", project.pk),
            _("Create a key"),
            facts.has_key,
        ),
        ChecklistStep(
            _("Connect a provider"),
            _("Your account at a vendor that sends the codes."),
            form_link("provider_add", project),
            _("Add a provider"),
            facts.has_provider,
            again=_("Add another"),
        ),
    ]
    if project.is_sandbox:  # whose providers have no credentials
        return steps
    check = ChecklistStep(
        _("Check the credentials"),
        _(
            "Checks each provider with its vendor. Nothing is sent. Once the vendor accepts a message, "
            "this step is done too."
        ),
        _check_link(project, facts.unchecked),
        _("Check"),
        facts.is_checked,
        outlasts_first_user=True,
    )
    return [*steps, check]


def _first_use_steps(project: Project, facts: FirstUse, *, is_verified: bool) -> list[ChecklistStep]:
    return [
        ChecklistStep(
            _("Send a test to yourself"),
            _("A simulated message that reaches nobody. Its page shows what happened to it.")
            if project.is_sandbox
            else _("A real message. Its page shows what happened to it."),
            _test_link(project),
            _("Send a test"),
            facts.has_sent_test,
        ),
        ChecklistStep(
            _("Request a code from your app"),
            _("Example code in six languages, with your URL filled in. The session then appears here."),
            _page("project_show_code", project.pk),
            _("View example code"),
            facts.has_session,
        ),
        ChecklistStep(
            _("Verify the first user"),
            _("Someone enters the code they received. Test logins don't count."),
            reverse("admin:verification_session_changelist", query={"project": project.pk}),
            _("View sessions"),
            is_verified,
        ),
    ]


def _alert_step(project: Project, facts: FirstUse) -> ChecklistStep:
    return ChecklistStep(
        _("Choose where alerts go"),
        _("Until you do, the project's members get them by e-mail.")
        if mail_server.has_mail_server()
        else _("No mail server is set up, so nobody gets alerts until you do."),
        reverse("admin:verification_alertservice_changelist", query={"project": project.pk}),
        _("Set up alerts"),
        facts.has_alerts,
        outlasts_first_user=True,
    )


def _check_link(project: Project, unchecked: Provider | None) -> str:
    """Return the check of the provider; else the list, as the system's providers are the operator's."""
    if unchecked is None or unchecked.is_system:
        return reverse("admin:verification_provider_changelist")
    back = {NEXT: page_address(project)}
    return reverse("admin:verification_provider_check_credentials", args=(unchecked.pk,), query=back)


def _test_link(project: Project) -> str:
    """Return the form that sends a text to oneself; the texts where no channel with a text of ours is on."""
    active = Channel.objects.filter(project=project, is_active=True).exclude(type__in=VENDOR_WORDED)
    served = [each.type for each in active if Provider.objects.serving(project).filter(channel=each.type).exists()]
    if not served:
        return reverse("admin:verification_messagetemplate_changelist", query={"project": project.pk})
    channel = ChannelType.SMS if ChannelType.SMS in served else served[0]
    values = {"project": project.pk, "channel": channel, "language": project.language}
    return reverse("admin:verification_text_send", query=values)


def _page(name: str, pk: int) -> str:
    return reverse(f"admin:verification_{name}", args=(pk,))
