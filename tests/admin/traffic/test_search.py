"""The search box and the story's page, through the client."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import ADDRESS
from tests.factories import a_message, a_session
from tests.fakes.limits import set_limit
from verification.core import crypto
from verification.models import (
    AuditEntry,
    DeliveryAttempt,
    Membership,
    Message,
    Provider,
    Recipient,
    Session,
    WebhookEvent,
)

pytestmark = pytest.mark.django_db
FIND = "admin:verification_find"


def find(client, term):
    return client.get(reverse(FIND), {"q": term})


def page_of(row):
    return reverse(f"admin:verification_{row._meta.model_name}_change", args=(row.pk,))


def test_the_one_hit_opens_at_once(panel):
    session = panel.rows[Session]
    for term in (ADDRESS, "0151 12345678", session.pk, panel.rows[Message].pk):
        for who in ("owner", "root"):
            assert find(panel.as_(who), term)["Location"] == page_of(session), term


@pytest.mark.requirement(91)
def test_several_hits_are_listed_with_their_sentences_and_masked(panel):
    recipient = panel.rows[Recipient]
    second = a_session(recipient, is_open=False, refusal="suppressed")
    manual = a_message(recipient)
    page = find(panel.as_("owner"), ADDRESS).content.decode()
    assert all(page_of(row) in page for row in (panel.rows[Session], second, manual))
    assert "No message was sent by SMS" in page and "+4915******78" in page
    assert page.count(ADDRESS) == 1  # in the box, where the user wrote it


SEARCHES = ("find", "recipient_changelist", "message_changelist", "session_changelist", "listentry_changelist")


def look_up(client, page, term):
    return client.get(reverse(f"admin:verification_{page}"), {"q": term})


def guesses(number):
    """What somebody tries who sees +4915******78 and wants the digits between."""
    return [f"+4915112{345 + guess}678" for guess in range(number)]


@pytest.mark.requirement(91)
@pytest.mark.parametrize("page", SEARCHES)
def test_who_sees_masks_looks_up_few_numbers_and_each_is_on_record(panel, monkeypatch, page):
    set_limit(monkeypatch, "LOOK_UPS", 3)
    client = panel.as_("owner")
    answers = [look_up(client, page, term) for term in guesses(3)]
    assert answers[0].status_code == (302 if page == "find" else 200)
    refused = look_up(client, page, ADDRESS)
    assert "can look up 3 recipients in 10 minutes. You can look up the next one at" in refused.content.decode()
    assert refused.status_code == (429 if page == "find" else 200)
    assert "+4915******78" not in refused.content.decode() and ADDRESS not in refused.get("Location", "")
    lines = AuditEntry.objects.filter(action="Looked up a recipient")
    assert {(line.who, line.project_id) for line in lines} == {("owner", panel.project.pk)}
    tried = [crypto.hashed_address(panel.project.pk, term) for term in guesses(3)]
    assert sorted(line.object_label for line in lines) == sorted(tried)


def test_all_searches_by_number_share_one_count(panel, monkeypatch):
    set_limit(monkeypatch, "LOOK_UPS", len(SEARCHES))
    client = panel.as_("owner")
    for page, term in zip(SEARCHES, guesses(len(SEARCHES)), strict=True):
        look_up(client, page, term)
    assert find(client, ADDRESS).status_code == 429


@pytest.mark.parametrize("who", ["owner", "root"])
def test_who_sees_addresses_looks_up_as_many_as_they_like(panel, monkeypatch, who):
    set_limit(monkeypatch, "LOOK_UPS", 2)
    Membership.objects.filter(project=panel.project).update(sees_addresses=True)
    assert [find(panel.as_(who), ADDRESS).status_code for _ in range(4)] == [302] * 4
    assert not AuditEntry.objects.filter(action="Looked up a recipient").exists()


def test_who_sees_addresses_of_one_project_is_counted_for_the_other(panel, monkeypatch):
    set_limit(monkeypatch, "LOOK_UPS", 1)
    owner = User.objects.get(username="owner")
    Membership.objects.filter(user=owner).update(sees_addresses=True)
    Membership.objects.create(project=panel.other, user=owner)
    assert [find(panel.as_("owner"), ADDRESS).status_code for _ in range(2)] == [302, 429]
    assert AuditEntry.objects.get(action="Looked up a recipient").project_id == panel.other.pk


def test_ids_are_no_look_up_of_a_number(panel, monkeypatch):
    set_limit(monkeypatch, "LOOK_UPS", 1)
    client = panel.as_("owner")
    for term in (panel.rows[Session].pk, panel.rows[Message].pk, "+4915******78", "no-such-id"):
        assert find(client, term).status_code in (200, 302)
    assert not AuditEntry.objects.filter(action="Looked up a recipient").exists()
    assert find(client, ADDRESS).status_code == 302


def test_a_hit_of_an_earlier_day_tells_its_time_once(panel):
    a_session(panel.rows[Recipient], is_open=False)
    began = timezone.now() - timedelta(days=2)
    Session.objects.filter(project=panel.project).update(created_at=began)
    page = find(panel.as_("owner"), ADDRESS).content.decode()
    assert page.count(f"{began:%-d %b %Y, %H:%M:%S} UTC") == 2 and f"({began.day} " not in page


@pytest.mark.requirement(81)
@pytest.mark.parametrize("who", ["stranger", "anonymous"])
def test_what_is_not_theirs_is_not_found(panel, who):
    DeliveryAttempt.objects.update(provider_message_id="vendors-id")
    session = panel.rows[Session]
    for term in (ADDRESS, session.pk, panel.rows[Message].pk, "vendors-id", "+4915******78"):
        response = find(panel.as_(who), term)
        assert page_of(session) not in response.get("Location", "")
        if who == "stranger":
            page = response.content.decode()
            assert "No results" in page and page_of(session) not in page and "Refused in the last" not in page
        else:
            assert response["Location"].startswith(reverse("admin:login"))


def test_of_two_projects_each_ones_story_is_found(panel):
    Membership.objects.create(project=panel.other, user=User.objects.get(username="owner"))
    theirs = a_session(Recipient.objects.create(project=panel.other, address=ADDRESS))
    page = find(panel.as_("owner"), ADDRESS).content.decode()
    assert page_of(theirs) in page and page_of(panel.rows[Session]) in page and "Theirs" in page
    assert find(panel.as_("stranger"), ADDRESS)["Location"] == page_of(theirs)


def test_the_box_is_on_every_page(panel):
    for name in ("index", "verification_message_changelist", "verification_provider_add", "verification_figures"):
        page = panel.as_("owner").get(reverse(f"admin:{name}")).content.decode()
        assert f'action="{reverse(FIND)}"' in page and "find.js" in page


@pytest.mark.requirement(81)
def test_the_story_links_to_what_its_reader_may_open(panel):
    ours, systems = panel.rows[Provider], Provider.objects.filter(project=panel.other).first()
    Provider.objects.filter(pk=systems.pk).update(project=None)
    for provider in (ours, systems):
        DeliveryAttempt.objects.create(
            message=panel.rows[Message],
            provider=provider,
            provider_name=provider.name,
            outcome="temporary",
            latency_ms=3,
        )
    page = panel.as_("owner").get(page_of(panel.rows[Session])).content.decode()
    assert page_of(ours) in page and page_of(systems) not in page and systems.name in page
    assert page_of(panel.rows[WebhookEvent]) in page
    assert page_of(systems) in panel.as_("root").get(page_of(panel.rows[Session])).content.decode()


def test_a_messages_page_leads_to_the_sessions_and_tells_the_same(panel):
    session, message = panel.rows[Session], panel.rows[Message]
    told = [panel.as_("owner").get(page_of(row)).context["story"] for row in (session, message)]
    assert told[0]["sentence"] == told[1]["sentence"]
    assert (told[0]["session"], told[1]["session"]) == ("", page_of(session))
