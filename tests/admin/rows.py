"""Two projects that must never see each other, with a row of everything in the first."""

from dataclasses import dataclass
from datetime import timedelta
from unittest import mock

from django.contrib.auth.models import User
from django.template.response import TemplateResponse
from django.test import Client
from django.utils import timezone

from config import urls as _loads_all_pages  # noqa: F401  # tests ask for the pages when they are collected
from tests import factories
from tests.factories import a_message, a_session
from verification.admin.base.current_project import section_address
from verification.admin.base.fields import ChosenField
from verification.admin.projects.sections import section_with
from verification.core.crypto import connection_secret_binding, encrypt
from verification.models import (
    Alert,
    AlertService,
    ApiKey,
    AuditEntry,
    Channel,
    Decision,
    DeliveryAttempt,
    EventType,
    GuardBlock,
    IdentityConnection,
    KeyKind,
    ListEntry,
    Membership,
    Message,
    MessageTemplate,
    Project,
    Provider,
    Recipient,
    RoutingRule,
    Session,
    Suppression,
    TestLogin,
    WebhookAttempt,
    WebhookEvent,
)
from verification.services.notifications import alert_services
from verification.services.projects import test_logins
from verification.services.providers import accounts

ADDRESS = "+4915112345678"
CALLBACK_URL = "https://shop.example/watchword"
SERVICE_SECRET = "https://hooks.slack.example/services/T0/B0/very-secret"
PROVIDER_SECRET = "Authorization: Bearer provider-secret"


@dataclass
class Panel:
    """The panel as four people see it: root, the owner, the member of another project, nobody."""

    project: Project
    other: Project
    rows: dict

    def as_(self, who):
        client = Client()
        if who != "anonymous":
            client.force_login(User.objects.get(username=who))
        return client


def make_panel():
    made, other = factories.project("Ours", channels=("sms",)), factories.project("Theirs", channels=("sms",))
    User.objects.create_superuser("root")
    for name, project in (("owner", made.row), ("stranger", other.row)):
        user = User.objects.create_user(name, is_staff=True)
        Membership.objects.create(project=project, user=user)
    return Panel(made.row, other.row, rows_of(made.row))


def rows_of(project):
    """One row for each page of the panel."""
    recipient = Recipient.objects.create(project=project, address=ADDRESS)
    session = a_session(recipient)
    message = a_message(recipient, session=session)
    DeliveryAttempt.objects.create(message=message, provider_name="Gateway", outcome="refused", latency_ms=40)
    callback = WebhookEvent.objects.create(
        type=EventType.MESSAGE_FINISHED, message=message, project=project, url=CALLBACK_URL, tries=10, due_at=None
    )
    WebhookAttempt.objects.create(event=callback, status=500, error="HTTP 500", latency_ms=120)
    return {
        Project: project,
        Channel: project.channels.get(type="sms"),
        Provider: accounts.add_provider(
            project=project,
            channel="sms",
            provider_type="http",
            name="Our gateway",
            values={"url": "http://127.0.0.1:9/send", "headers": PROVIDER_SECRET},
        ),
        ApiKey: project.keys.filter(kind=KeyKind.SECRET).get(),
        TestLogin: test_logins.add_test_login(project=project, to="reviewer@example.com", code="123456"),
        Session: session,
        Message: message,
        Recipient: recipient,
        MessageTemplate: MessageTemplate.objects.create(
            project=project, channel="sms", language="de", text="{code} ist Ihr Code."
        ),
        Suppression: Suppression.objects.create(
            project=project, recipient=recipient, channel="voice", reason="The number asked not to be called."
        ),
        WebhookEvent: callback,
        Decision: Decision.objects.create(
            project=project,
            rule="country",
            subject="KP",
            hour=timezone.now().replace(minute=0, second=0, microsecond=0),
            refused=1,
            figures={"channel": "sms"},
        ),
        ListEntry: ListEntry.objects.create(project=project, kind="block", subject="prefix", value="+850"),
        GuardBlock: GuardBlock.objects.create(
            project=project,
            rule="prefix",
            subject="+491511234",
            level=1,
            since=timezone.now(),
            until=timezone.now() + timedelta(minutes=30),
            figures={"numbers": 11, "limit": 10, "minutes": 10},
            refused=3,
        ),
        Alert: Alert.objects.create(
            project=project, kind="daily_budget", key="sms", title="SMS: half of the budget", detail="500 of 1,000."
        ),
        AlertService: an_alert_service(project),
        RoutingRule: RoutingRule.objects.create(
            project=project, provider=project.providers.get(name="sms first"), country="BR", percent=5
        ),
        AuditEntry: AuditEntry.objects.filter(project=project)[0],
    }


def an_alert_service(project, kind="slack", secret=SERVICE_SECRET, **fields):
    service = AlertService(project=project, kind=kind, name="Ops chat", **fields)
    service.secret = alert_services.seal(service, secret)
    service.save()
    return service


def a_connection(project, secret="of-an-identity-system"):
    """As the app of connections makes it, which an installation may leave out."""
    row = IdentityConnection(project=project, system="logto", name="Logto")
    row.secret = encrypt(secret, binding=connection_secret_binding(row.public_id))
    row.save()
    return row


def sent_once(client, page, **values):
    """The answer to the form of this page, which carries the text that lets it act once."""
    return client.post(page, {"_once": client.get(page).context["once"], **values})


def values_on(client, page):
    """Return what a browser would send back from the form on this page, unchanged.

    The page is not drawn, which is most of its cost; tests of what it shows look at it themselves.
    """
    with mock.patch.object(TemplateResponse, "rendered_content", ""):
        return form_values(client.get(page))


def page_with(project, setting):
    """Return the address of the section of the project's page that a setting stands on."""
    return section_address(project, section_with(setting).slug)


def form_values(response):
    values = {}
    for form in [response.context_data["adminform"].form, *inline_forms(response)]:
        for bound in form:
            value = bound.value()
            if isinstance(value, bool) or value is None:
                if value:
                    values[bound.html_name] = "on"
            elif not isinstance(value, list):
                values[bound.html_name] = value
            elif isinstance(bound.field, ChosenField):
                if value:
                    values[bound.html_name] = value
            else:
                values[bound.html_name] = "\n".join(str(item) for item in value)
    return values


def inline_forms(response):
    for inline in response.context_data.get("inline_admin_formsets", []):
        yield inline.formset.management_form
        yield from inline.formset.forms
