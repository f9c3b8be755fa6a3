"""The checklist on the page of a new project: what is done, and where to do the next step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base.current_project import form_link
from verification.core import mail_server
from verification.models import Channel, ChannelType, Project, Provider
from verification.services.analytics import onboarding
from verification.services.texts.own import VENDOR_WORDED

NEW_FOR = timedelta(days=30)  # of a project; who has left a step open for longer has decided so


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    """One line of the checklist. ``link`` leads to where it is done; ``press`` is the button's text."""

    title: str
    text: str
    link: str
    press: str
    is_done: bool


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
        ChecklistStep(
            _("Create an API key"),
            _("Your app calls with it. It is shown once."),
            _page("project_issue_key", project.pk),
            _("Issue a key"),
            facts.has_key,
        ),
        ChecklistStep(
            _("Connect a provider"),
            _("The account at a vendor that codes go out over."),
            form_link("provider_add", project),
            _("Add a provider"),
            facts.has_provider,
        ),
        ChecklistStep(
            _("Check its credentials"),
            _("Asks the vendor whether it takes them. Nothing is sent."),
            _check_link(project),
            _("Check"),
            facts.is_checked,
        ),
        ChecklistStep(
            _("Send a test to yourself"),
            _("A simulated message, which reaches nobody. Its page tells what became of it.")
            if project.is_sandbox
            else _("A real message. Its page tells what became of it."),
            _test_link(project),
            _("Send a test"),
            facts.has_sent_test,
        ),
        ChecklistStep(
            _("Ask for a code from your app"),
            _("The call in six languages, with your address filled in. The session appears here."),
            _page("project_show_code", project.pk),
            _("See the code"),
            facts.has_session,
        ),
        ChecklistStep(
            _("Verify the first user"),
            _("Somebody enters the code that they got. Test logins do not count."),
            reverse("admin:verification_session_changelist", query={"project": project.pk}),
            _("See the sessions"),
            is_verified,
        ),
        ChecklistStep(
            _("Choose where alerts go"),
            _("Until you do, the project's members get them by e-mail.")
            if mail_server.has_mail_server()
            else _("No mail server is set up, so alerts reach nobody until you do."),
            reverse("admin:verification_alertservice_changelist", query={"project": project.pk}),
            _("Set up alerts"),
            facts.has_alerts,
        ),
    ]
    late = (_check_link(project), steps[-1].link)
    return [step for step in steps if step.is_done or not is_verified or step.link in late]


def _check_link(project: Project) -> str:
    """Return the check of the project's first own provider; else the list, as the system's are the operator's."""
    own = Provider.objects.serving(project).filter(project=project).in_order().first()
    if own is None:
        return reverse("admin:verification_provider_changelist")
    return _page("provider_check_credentials", own.pk)


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
