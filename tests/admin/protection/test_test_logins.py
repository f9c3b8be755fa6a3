"""Test logins: a fixed code for a recipient, added through the service."""

import re

import pytest
from django.urls import reverse

from tests.admin.rows import values_on
from verification.core.crypto import encrypt
from verification.models import TestLogin
from verification.services.projects.test_logins import MAX_TEST_LOGINS, code_of

pytestmark = pytest.mark.django_db


def add(panel, **values):
    given = {"project": panel.project.pk, "to": "+1 555 555 0100", "code": "a1b2", **values}
    return panel.as_("owner").post(reverse("admin:verification_testlogin_add"), given)


def test_address_and_code_are_cleaned(panel):
    assert add(panel).status_code == 302
    login = TestLogin.objects.get(project=panel.project, to="+15555550100")
    assert code_of(login) == "A1B2"


@pytest.mark.parametrize(("field", "value"), [("to", "nobody"), ("code", "12345"), ("code", "12-4"), ("to", "")])
def test_what_is_wrong_is_said_at_its_field(panel, field, value):
    assert field in add(panel, **{field: value}).context["adminform"].form.errors


def test_the_list_hides_the_code(panel):
    page = panel.as_("owner").get(reverse("admin:verification_testlogin_changelist")).content.decode()
    assert "reviewer@example.com" in page
    assert "123456" not in page


def test_the_code_can_be_changed_and_the_recipient_not(panel):
    login, client = panel.rows[TestLogin], panel.as_("owner")
    page = reverse("admin:verification_testlogin_change", args=(login.pk,))
    client.post(page, values_on(client, page) | {"code": "9999", "to": "other@example.com"})
    login.refresh_from_db()
    assert (login.to, code_of(login)) == ("reviewer@example.com", "9999")


def test_the_form_does_not_show_the_code_and_keeps_it_where_none_is_entered(panel):
    login, client = panel.rows[TestLogin], panel.as_("owner")
    page = reverse("admin:verification_testlogin_change", args=(login.pk,))
    assert re.search(r"\b123456\b", client.get(page).content.decode()) is None
    client.post(page, values_on(client, page) | {"expires_at_0": "2031-05-04", "expires_at_1": "09:30"})
    login.refresh_from_db()
    assert (code_of(login), login.expires_at.year) == ("123456", 2031)


def test_a_code_that_no_key_opens_is_entered_anew(panel):
    """Such as one that was copied from another row."""
    login, client = panel.rows[TestLogin], panel.as_("owner")
    TestLogin.objects.update(
        code_encrypted=encrypt("654321", binding="project:another:test_login:reviewer@example.com")
    )
    page = reverse("admin:verification_testlogin_change", args=(login.pk,))
    shown = values_on(client, page)
    assert client.post(page, shown).status_code == 200  # there is none to keep
    client.post(page, shown | {"code": "9999"})
    login.refresh_from_db()
    assert code_of(login) == "9999"


@pytest.mark.requirement(41)
def test_there_are_at_most_fifty(panel):
    TestLogin.objects.bulk_create(
        TestLogin(project=panel.project, to=f"t{number}@example.com", code_encrypted=b"")
        for number in range(MAX_TEST_LOGINS - 1)
    )
    response = add(panel)
    assert response.status_code == 302
    assert TestLogin.objects.filter(project=panel.project).count() == MAX_TEST_LOGINS
    followed = panel.as_("owner").get(response.url)
    assert followed.status_code == 200


def test_a_second_row_for_a_recipient_is_refused(panel):
    response = add(panel, to="Reviewer@Example.com")
    assert response.status_code == 200
    assert code_of(TestLogin.objects.get(project=panel.project)) == "123456"


def test_a_login_that_no_channel_of_the_project_serves_is_not_active(panel):
    """The API refuses it: channel_not_available. The panel's project sends no e-mail."""
    client, page = panel.as_("owner"), reverse("admin:verification_testlogin_add")
    given = {"project": panel.project.pk, "to": "second@example.com", "code": "a1b2"}
    said = client.post(page, given, follow=True).content.decode()
    assert "no active channel for e-mail addresses" in said and "provider/add/" in said
    login = TestLogin.objects.get(to="second@example.com")
    change = client.get(reverse("admin:verification_testlogin_change", args=(login.pk,))).content.decode()
    assert said.count("No channel") == 2 and "No channel" in change

    said = client.post(page, given | {"to": "+15555550100"}, follow=True).content.decode()
    assert "no active channel" not in said and "Active" in said
