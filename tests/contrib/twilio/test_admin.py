"""What the panel shows of a secret key for Twilio's libraries."""

import pytest
from django.urls import reverse

from tests.admin.rows import sent_once
from verification.core import sids
from verification.models import ApiKey, Membership, Project
from verification.services.projects.keys import authenticate

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def owner_sees_addresses(panel):
    Membership.objects.filter(project=panel.project).update(sees_addresses=True)


def page_of(name, row):
    return reverse(f"admin:verification_{name}", args=(row.pk,))


def test_beside_a_new_secret_key_stand_the_sids_that_twilios_libraries_ask_for(panel):
    Project.objects.filter(pk=panel.project.pk).update(twilio_endpoints=True)
    client = panel.as_("owner")
    response = sent_once(client, page_of("project_issue_key", panel.project), kind="secret")
    (_, text, _), *shown = response.context["secrets"]
    number = panel.project.public_id.hex
    key = ApiKey.objects.get(pk=authenticate(text).key_id)
    assert [sid for _, sid, _ in shown] == [f"AC{number}", sids.of_key(key.digest), f"VA{number}"]
    page = client.get(page_of("apikey_change", key)).content.decode()
    assert all(sid in page for _, sid, _ in shown)


def test_without_the_setting_a_keys_page_shows_no_sid(panel):
    client = panel.as_("owner")
    response = sent_once(client, page_of("project_issue_key", panel.project), kind="secret")
    [(_, text, _)] = response.context["secrets"]
    page = client.get(page_of("apikey_change", ApiKey.objects.get(pk=authenticate(text).key_id))).content.decode()
    assert "Account SID" not in page
