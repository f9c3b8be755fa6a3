"""The page of alert services: what is taken, what never leaves, and the test alert."""

import pytest
from django.urls import reverse

from tests.admin.rows import SERVICE_SECRET, an_alert_service
from tests.fakes.http_server import FakeHttpServer, answer
from verification.models import AlertService, AuditEntry
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
    assert b"It was taken" in client.post(page_of(service, "send_test")).content
    refused = client.post(page_of(service, "send_test")).content.decode()
    assert "It was not taken" in refused and "/chat" not in refused
    assert len(receiver.requests) == 2


def test_nobody_else_tests_or_sees_it(panel):
    service = panel.rows[AlertService]
    assert panel.as_("stranger").post(page_of(service, "send_test")).status_code in (302, 403, 404)
    assert SERVICE_SECRET.encode() not in panel.as_("stranger").get(reverse(LIST)).content
    assert b"Ops chat" not in panel.as_("stranger").get(reverse(LIST)).content
