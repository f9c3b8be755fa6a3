"""The page of alert destinations: what is taken, what never leaves, and the test alerts."""

import re

import pytest
from django.core import mail
from django.urls import reverse

from tests.admin.rows import SERVICE_SECRET, an_alert_service, sent_once
from tests.fakes.http_server import FakeHttpServer, answer
from verification.models import AlertService, AuditEntry, Project
from verification.models.bounds import MAX_ALERT_SERVICES

pytestmark = pytest.mark.django_db
LIST = "admin:verification_alertservice_changelist"


@pytest.fixture
def receiver():
    with FakeHttpServer() as server:
        yield server


def add(panel, **values):
    given = {"project": panel.project.pk, "kind": "slack", "name": "Chat", "is_enabled": "on", **values}
    return panel.as_("owner").post(reverse("admin:verification_alertservice_add"), given)


def page_of(service, name="change"):
    return reverse(f"admin:verification_alertservice_{name}", args=(service.pk,))


def test_a_service_is_added_and_its_secret_is_shown_nowhere(panel):
    assert add(panel, new_secret="https://hooks.slack.com/services/T/B/hush").status_code == 302
    service = AlertService.objects.get(name="Chat")
    for page in (page_of(service), page_of(service, "send_test"), reverse(LIST)):
        assert b"hush" not in panel.as_("owner").get(page).content
    assert "hush" not in str(list(AuditEntry.objects.values()))


def test_a_wrong_value_is_told_at_its_field(panel):
    form = (
        add(panel, kind="telegram", new_secret="123456789:AAF-hush-hush-hush-hush", chat="").context["adminform"].form
    )
    assert list(form.errors) == ["chat"]


def test_what_is_not_typed_anew_stays(panel):
    service = panel.rows[AlertService]
    panel.as_("owner").post(page_of(service), {"name": "Renamed", "is_enabled": "on"})
    before, after = bytes(service.secret), AlertService.objects.get(pk=service.pk)
    assert (after.name, bytes(after.secret)) == ("Renamed", before)


def test_a_project_has_so_many_and_no_more(panel):
    for _ in range(MAX_ALERT_SERVICES - AlertService.objects.filter(project=panel.project).count()):
        an_alert_service(panel.project)
    add(panel, new_secret="https://hooks.slack.com/services/T/B/x")
    assert AlertService.objects.filter(project=panel.project).count() == MAX_ALERT_SERVICES


def test_a_test_alert_shows_how_the_service_answered(panel, receiver):
    service = an_alert_service(panel.project, secret=f"{receiver.url}/chat")
    receiver.script(answer(200, b"ok"), answer(404, b""))
    client = panel.as_("owner")
    assert client.get(page_of(service, "send_test")).status_code == 200 and receiver.requests == []
    assert b"The test was accepted" in client.post(page_of(service, "send_test")).content
    refused = client.post(page_of(service, "send_test")).content.decode()
    assert "The test failed" in refused and "/chat" not in refused
    assert len(receiver.requests) == 2


def test_nobody_else_tests_or_sees_it(panel):
    service = panel.rows[AlertService]
    assert panel.as_("stranger").post(page_of(service, "send_test")).status_code in (302, 403, 404)
    assert SERVICE_SECRET.encode() not in panel.as_("stranger").get(reverse(LIST)).content
    assert b"Ops chat" not in panel.as_("stranger").get(reverse(LIST)).content


def of_project(panel, what, step, project=None):
    return reverse(f"admin:verification_alert_{step}", args=((project or panel.project).pk, what))


def lines_of(panel, who="owner"):
    (group,) = panel.as_(who).get(reverse(LIST)).context["groups"]
    return {line.kind: line for line in group.lines}


def test_every_kind_of_destination_stands_in_one_list(panel):
    lines = lines_of(panel)
    assert {kind: line.state for kind, line in lines.items()} == {
        "E-mail": "on",
        "Webhook": "none",
        "Slack, Mattermost, Discord": "on",
    }
    assert lines["Webhook"].test == ""


def test_the_webhook_is_set_up_tested_and_turned_off_in_the_list(panel, receiver):
    client = panel.as_("owner")
    given = {"confirmed": "yes", "alert_by_webhook": "on", "alert_url": f"{receiver.url}/alerts"}
    assert client.post(of_project(panel, "webhook", "settings"), given).status_code == 302
    receiver.script(answer(200, b""), answer(404, b""))
    assert b"The test was accepted" in client.post(of_project(panel, "webhook", "test")).content
    assert receiver.requests[0].headers["webhook-signature"]
    assert b"HTTP 404" in client.post(of_project(panel, "webhook", "test")).content
    line = lines_of(panel)["Webhook"]
    assert (line.state, line.error, bool(line.tried)) == ("on", "HTTP 404", True)
    client.post(of_project(panel, "webhook", "toggle"))
    assert lines_of(panel)["Webhook"].state == "off"


def test_a_webhook_test_without_a_secret_leads_to_where_one_is_created(panel):
    Project.objects.filter(pk=panel.project.pk).update(alert_url="https://shop.example/alerts")
    panel.project.webhook_secrets.all().delete()
    client, page = panel.as_("owner"), reverse("admin:verification_project_webhook_secret", args=(panel.project.pk,))
    said = client.post(of_project(panel, "webhook", "test")).content.decode()
    assert "no webhook secret" in said and f'href="{page}"' in said
    asked = client.get(page).content.decode()
    assert 'value="reveal"' not in asked and "Rotate secret" not in asked
    sent_once(client, page, step="rotate")
    assert panel.project.webhook_secrets.live().count() == 1
    assert AuditEntry.objects.filter(action="Created the webhook secret").exists()
    assert "Rotate secret" in client.get(page).content.decode()


def test_an_address_that_may_not_be_called_is_refused_at_its_field(panel, settings):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    given = {"confirmed": "yes", "alert_by_webhook": "on", "alert_url": "https://10.0.0.1/x"}
    page = panel.as_("owner").post(of_project(panel, "webhook", "settings"), given)
    assert list(page.context["form"].errors) == ["alert_url"]
    assert Project.objects.get(pk=panel.project.pk).alert_url == ""


def test_a_test_mail_goes_to_the_addresses_of_alerts(panel):
    Project.objects.filter(pk=panel.project.pk).update(alert_emails=["ops@example.com"])
    assert b"The test was accepted" in panel.as_("owner").post(of_project(panel, "mail", "test")).content
    assert mail.outbox[0].to == ["ops@example.com"]


def test_without_a_mail_server_the_list_and_the_test_say_so(panel, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    Project.objects.filter(pk=panel.project.pk).update(alert_emails=["ops@example.com"])
    client = panel.as_("owner")
    page = client.get(reverse(LIST)).content
    assert b"No mail server is set up" in page
    assert re.search(rb'<span class="ww-label ww-warning">No mail server</span>.*?Turn off', page, re.DOTALL)
    assert {kind: line.state for kind, line in lines_of(panel).items()}["E-mail"] == "stopped"
    assert b"The test failed" in client.post(of_project(panel, "mail", "test")).content


def test_a_chat_is_turned_off_and_on_by_its_line(panel):
    service = panel.rows[AlertService]
    for is_on in (False, True):
        panel.as_("owner").post(of_project(panel, service.pk, "toggle"))
        service.refresh_from_db()
        assert service.is_enabled is is_on


@pytest.mark.parametrize("step", ["settings", "toggle", "test"])
def test_a_stranger_reaches_no_destination(panel, step):
    assert panel.as_("stranger").post(of_project(panel, "mail", step)).status_code == 404
    service = panel.rows[AlertService]
    theirs = of_project(panel, service.pk, step, panel.other)  # a row of another project, by the stranger's own
    assert panel.as_("stranger").post(theirs).status_code == 404
    assert Project.objects.get(pk=panel.project.pk).alert_by_mail
