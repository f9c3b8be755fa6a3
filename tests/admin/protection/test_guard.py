"""The traffic guard's page: one click lifts a block."""

import pytest
from django.urls import reverse

from verification.models import GuardBlock

pytestmark = pytest.mark.django_db


@pytest.fixture
def block(panel):
    return panel.rows[GuardBlock]


def lift(panel, who, block):
    return panel.as_(who).post(reverse("admin:verification_guardblock_lift", args=(block.pk,)))


def test_an_owner_lifts_it_with_one_click(panel, block):
    lift(panel, "owner", block)
    block.refresh_from_db()
    assert block.lifted_at is not None
    assert block.lifted_by.username == "owner"


def test_a_stranger_does_not(panel, block):
    assert lift(panel, "stranger", block).status_code == 403
    block.refresh_from_db()
    assert block.lifted_at is None


def test_looking_does_not_lift(panel, block):
    panel.as_("owner").get(reverse("admin:verification_guardblock_lift", args=(block.pk,)))
    block.refresh_from_db()
    assert block.lifted_at is None


def test_the_selected_are_lifted(panel, block):
    values = {"action": "lift_selected", "_selected_action": [block.pk]}
    panel.as_("owner").post(reverse("admin:verification_guardblock_changelist"), values)
    block.refresh_from_db()
    assert block.lifted_at is not None


def test_a_lifted_block_refuses_no_more_and_names_who_lifted_it_without_a_link(panel):
    block, client = panel.rows[GuardBlock], panel.as_("owner")
    page = reverse("admin:verification_guardblock_change", args=(block.pk,))
    assert "are refused until" in client.get(page).content.decode()
    client.post(reverse("admin:verification_guardblock_lift", args=(block.pk,)))
    shown = client.get(page).content.decode()
    assert "The block was lifted." in shown and "are refused until" not in shown
    assert "owner" in shown and "/auth/user/" not in shown
