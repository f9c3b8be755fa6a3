"""A recipient's page: all that is known of them as a file, and gone."""

import pytest
from django.urls import reverse

from tests.admin.rows import ADDRESS
from verification.models import Membership, Recipient

pytestmark = pytest.mark.django_db


def page(panel, action):
    return reverse(f"admin:verification_recipient_{action}", args=(panel.rows[Recipient].pk,))


def test_an_export_needs_the_permission_to_see_addresses(panel):
    assert panel.as_("owner").post(page(panel, "export")).status_code == 403


def test_an_owner_exports_and_forgets_after_being_asked(panel):
    Membership.objects.filter(user__username="owner").update(sees_addresses=True)
    client = panel.as_("owner")
    assert "cannot be undone" in client.get(page(panel, "forget")).content.decode()
    exported = client.post(page(panel, "export"))
    assert "attachment" in exported["Content-Disposition"] and "no-store" in exported["Cache-Control"]
    assert exported.json()["recipient"] == ADDRESS
    client.post(page(panel, "forget"))
    assert not Recipient.objects.filter(address=ADDRESS).exists()


@pytest.mark.parametrize("action", ["export", "forget"])
def test_a_stranger_neither_exports_nor_forgets(panel, action):
    response = panel.as_("stranger").post(page(panel, action))
    assert ADDRESS not in response.content.decode()
    assert Recipient.objects.filter(address=ADDRESS).exists()
