"""What the box in the menu offers beside codes, to each user what they may open."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests import factories
from verification.models import Membership, Provider, Role

pytestmark = pytest.mark.django_db
PALETTE = reverse("admin:palette")


def offered(client, **query):
    return {entry["title"]: entry for entry in client.get(PALETTE, query).json()["entries"]}


def test_pages_providers_and_settings_lead_to_pages_that_open(panel):
    client = panel.as_("owner")
    entries = offered(client)
    assert {"Overview", "Messages", "Alert destinations", "Quiet hours", "Our gateway"} <= set(entries)
    for link in {entry["link"] for entry in entries.values()}:
        answer = client.get(link, follow=True)
        assert answer.status_code == 200, link


def test_nobody_is_offered_what_they_may_not_open(panel):
    Membership.objects.filter(user__username="stranger").update(role=Role.ANALYST)
    theirs = set(offered(panel.as_("stranger")))
    assert not {"Messages", "Quiet hours", "Users", "Our gateway"} & theirs and "Figures" in theirs
    assert "Users" not in offered(panel.as_("owner")) and "Users" in offered(panel.as_("root"))
    assert panel.as_("anonymous").get(PALETTE).status_code == 302


def test_of_several_projects_they_are_offered_and_the_settings_of_the_chosen_one(panel):
    second = factories.project("Second", channels=("sms",)).row
    Membership.objects.create(project=second, user=User.objects.get(username="owner"))
    client = panel.as_("owner")
    entries = offered(client)
    assert {"Ours", "Second"} <= set(entries) and "Theirs" not in entries and "Quiet hours" not in entries
    client.get(reverse("admin:index", query={"project": second.pk}))
    entries = offered(client)
    assert f"project={second.pk}" in entries["Quiet hours"]["link"] and "Our gateway" not in entries


def test_it_holds_no_secret_and_is_kept_in_no_cache(panel):
    answer = panel.as_("owner").get(PALETTE)
    assert "no-store" in answer["Cache-Control"] and b"provider-secret" not in answer.content
    assert Provider.objects.filter(name="Our gateway").exists()
    assert panel.as_("owner").post(PALETTE).status_code == 405


@pytest.mark.parametrize(
    ("term", "title"),
    [
        ("block country", "Block & safe lists"),
        ("color", "Hosted page"),
        ("invoice", "Costs"),
        ("currency", "Costs"),
        ("rotate", "API keys"),
        ("price", "Providers"),
        ("budget", "Channels"),
    ],
)
def test_the_page_of_results_leads_to_pages_by_the_words_that_people_search_for(panel, term, title):
    client = panel.as_("owner")
    link = offered(client)[title]["link"]
    page = client.get(reverse("admin:verification_find"), {"q": term}).content.decode()
    assert f'<a href="{link}">' in page and "No results" not in page
