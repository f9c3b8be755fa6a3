"""The inbox: whoever may see a provider's or a project's messages sees them, and nobody else."""

import json

import pytest
from django.urls import reverse
from redis.exceptions import ConnectionError as StoreAway

from tests.factories import a_message
from verification.models import Message, Project, Provider, Recipient
from verification.services.providers.store import ProviderStore

pytestmark = pytest.mark.django_db


def keep(provider, **values):
    message = {
        "to": "+4915112345678",
        "channel": "sms",
        "code": "000000",
        "text": "Your code.",
        "subject": "",
        "language": "en",
        "project": "Ours",
        "at": "2026-01-01T00:00:00.000Z",
    }
    ProviderStore(provider.pk).push("messages", json.dumps(message | values), keep=200, seconds=60)


def inbox_of(panel, who):
    return panel.as_(who).get(reverse("admin:verification_inbox"))


def codes(panel, who):
    return [item.message.code for item in inbox_of(panel, who).context["entries"]]


def test_a_projects_inbox_is_its_members(panel):
    keep(Provider.objects.create(project=panel.project, channel="sms", type="inbox", name="Box"), code="111111")
    assert codes(panel, "owner") == codes(panel, "root") == ["111111"]
    assert codes(panel, "stranger") == []


def test_a_system_inbox_shows_each_member_their_own_projects(panel):
    box = Provider.objects.create(channel="sms", type="inbox", name="Box of all")
    foreign = a_message(Recipient.objects.create(project=panel.other, address="+4915112345679"))
    keep(box, code="111111", id=panel.rows[Message].pk, at="2026-01-01T00:00:01.000Z")
    keep(box, code="222222", id=foreign.pk, at="2026-01-01T00:00:02.000Z")
    keep(box, code="333333", project="", at="2026-01-01T00:00:03.000Z")
    assert codes(panel, "owner") == ["111111"]
    assert codes(panel, "stranger") == ["222222"]
    assert codes(panel, "root") == ["333333", "222222", "111111"]


@pytest.mark.requirement(81)
def test_a_name_that_somebody_gave_up_shows_nothing_of_theirs(panel):
    box = Provider.objects.create(channel="sms", type="inbox", name="Box of all")
    keep(box, code="111111", project="Ours", id=panel.rows[Message].pk)
    Project.objects.filter(pk=panel.project.pk).update(name="Renamed")
    Project.objects.filter(pk=panel.other.pk).update(name="Ours")
    assert codes(panel, "stranger") == []
    assert codes(panel, "owner") == ["111111"]


def test_the_newest_of_all_inboxes_comes_first(panel):
    first, second = (
        Provider.objects.create(project=panel.project, channel="sms", type="inbox", name=name) for name in ("a", "b")
    )
    keep(first, code="111111", at="2026-01-01T00:00:01.000Z")
    keep(second, code="222222", at="2026-01-01T00:00:02.000Z")
    keep(first, code="333333", at="2026-01-01T00:00:03.000Z")
    assert codes(panel, "owner") == ["333333", "222222", "111111"]


@pytest.mark.requirement(25)
def test_a_text_is_escaped_and_the_page_not_stored(panel):
    keep(Provider.objects.create(project=panel.project, channel="sms", type="inbox", name="Box"), text="<b>bold</b>")
    response = inbox_of(panel, "owner")
    assert "&lt;b&gt;bold" in response.content.decode()
    assert "no-store" in response["Cache-Control"]


def test_it_says_so_where_there_is_no_inbox(panel):
    assert "There is no inbox provider" in inbox_of(panel, "owner").content.decode()


def test_it_says_so_where_the_store_is_away(panel, monkeypatch):
    Provider.objects.create(project=panel.project, channel="sms", type="inbox", name="Box")

    def refuse(self):
        raise StoreAway

    monkeypatch.setattr(ProviderStore, "_redis", refuse)
    response = inbox_of(panel, "owner")
    assert response.status_code == 200
    assert "does not respond" in response.content.decode()


def test_it_refreshes_by_itself_when_asked(panel):
    page = reverse("admin:verification_inbox")
    assert 'http-equiv="refresh"' in panel.as_("owner").get(page, {"live": ""}).content.decode()
    assert 'http-equiv="refresh"' not in panel.as_("owner").get(page).content.decode()


def test_it_is_closed_to_visitors(panel):
    assert inbox_of(panel, "anonymous").status_code == 302


def test_in_production_there_is_neither_an_inbox_nor_a_way_to_add_one(panel, settings):
    provider = Provider.objects.create(project=panel.project, channel="sms", type="inbox", name="Box")
    keep(provider, code="111111")
    settings.SHOW_CODES_TO_OPERATORS = False
    page = inbox_of(panel, "root").content.decode()
    assert "The inbox is off" in page and "111111" not in page
    assert f'href="{reverse("admin:verification_inbox")}"' not in page
    adding = panel.as_("root").get(reverse("admin:verification_provider_add")).content.decode()
    assert "sms/http" in adding and "sms/inbox" not in adding and "sms/console" not in adding
    listed = panel.as_("root").get(reverse("admin:verification_provider_changelist")).content.decode()
    assert "shows codes, not available here" in listed
