"""A project's connections in the panel."""

import pytest
from django.urls import reverse

from tests.admin.rows import sent_once
from verification.contrib.connections import connections, registry
from verification.models import IdentityConnection
from verification.services.records import decisions

pytestmark = pytest.mark.django_db


def address(panel, name, **query):
    return reverse(f"admin:verification_project_{name}", args=(panel.project.pk,), query=query)


@pytest.mark.parametrize("system", list(registry.all_systems()))
def test_each_system_is_connected_and_its_lines_are_shown_once(panel, system):
    client = panel.as_("owner")
    page = address(panel, "add_connection", system=system)
    assert f'href="{page}"' in client.get(address(panel, "show_connections")).content.decode()
    shown = client.get(page)
    values = {name: field.initial or "" for name, field in shown.context["form"].fields.items()}
    answered = sent_once(client, page, **values)
    row = IdentityConnection.objects.get()
    texts = [text for _, text, _ in answered.context["secrets"]]
    assert connections.address_of(row) in texts
    assert "no-store" in answered["Cache-Control"]
    assert row.project == panel.project
    listed = client.get(address(panel, "show_connections")).content.decode()
    assert connections.address_of(row) in listed
    assert not any(text in listed for text in texts if text.startswith(("Bearer", "v1,whsec")))


def test_a_secret_and_the_names_of_fields_are_taken(panel):
    client = panel.as_("owner")
    values = {
        "name": "Mine",
        "channel": "voice",
        "secret": "0123456789abcdef",
        "option_to": "who",
        "option_code": "otp",
        "option_country": "Morocco",
    }
    sent_once(client, address(panel, "add_connection", system="generic"), **values)
    row = IdentityConnection.objects.get()
    assert (row.name, row.channel, row.options) == ("Mine", "voice", {"to": "who", "code": "otp", "country": "MA"})


def test_what_is_wrong_is_said_on_the_form(panel):
    client = panel.as_("owner")
    answered = sent_once(client, address(panel, "add_connection", system="generic"), name="Mine", secret="short")
    assert "16 to 200 visible ASCII characters" in answered.content.decode()
    assert not IdentityConnection.objects.exists()


def test_a_form_that_is_sent_twice_connects_once(panel):
    client, page = panel.as_("owner"), address(panel, "add_connection", system="logto")
    values = {"_once": client.get(page).context["once"], "name": "Logto", "channel": ""}
    client.post(page, values)
    client.post(page, values)
    assert IdentityConnection.objects.count() == 1


def test_one_is_removed_after_a_question(panel):
    row, _ = connections.add_connection(project=panel.project, system="logto")
    client, page = panel.as_("owner"), address(panel, "remove_connection", connection=row.pk)
    assert "its users get no codes" in client.get(page).content.decode()
    assert IdentityConnection.objects.exists()
    assert client.post(page).status_code == 302
    assert not IdentityConnection.objects.exists()


def test_anothers_connection_is_not_there(panel):
    row, _ = connections.add_connection(project=panel.other, system="logto")
    client = panel.as_("owner")
    client.post(address(panel, "remove_connection", connection=row.pk))
    assert IdentityConnection.objects.exists()
    assert str(row.public_id) not in client.get(address(panel, "show_connections")).content.decode()


@pytest.mark.parametrize("name", ["show_connections", "add_connection", "remove_connection"])
@pytest.mark.parametrize("who", ["stranger", "anonymous"])
def test_strangers_see_none_of_it(panel, name, who):
    response = panel.as_(who).get(address(panel, name, system="logto"), follow=True)
    assert "Connect a system" not in response.content.decode()
    assert response.status_code == 403 if who == "stranger" else response.redirect_chain


def test_the_decision_log_says_what_was_wrong_in_words_that_wrap(panel):
    said = "Okta, telephony inline hook: the secret is wrong"
    decisions.record(project_id=panel.project.pk, rule="connection_proof", subject=said, figures={})
    decisions.record(project_id=panel.project.pk, rule="recipient", subject="+4915******78", figures={})
    shown = panel.as_("owner").get(reverse("admin:verification_decision_changelist")).content.decode()
    assert said in shown and f'<span class="ww-code">{said}' not in shown
    assert '<span class="ww-code">+4915******78' in shown
