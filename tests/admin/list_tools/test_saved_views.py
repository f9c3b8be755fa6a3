"""The views of a list that a user saved: what is kept, whose they are, and the tabs above the list."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.admin.rows import ADDRESS
from verification.admin.auth.session import CONFIRMED
from verification.admin.list_tools import saved_views
from verification.models import SavedView

pytestmark = pytest.mark.django_db
LIST = reverse("admin:verification_message_changelist")
TOOLS = reverse("admin:list_tools", args=("verification", "message"))


def save(client, name, **query):
    """Save what the list at this address offers to save, as its form does."""
    tools = client.get(LIST, query).context["cl"].tools
    return client.post(TOOLS, {"step": "save", "name": name, "query": tools.query, "here": tools.here}, follow=True)


def tabs_of(page):
    return {tab.view.name: tab.is_current for tab in page.context["cl"].tools.tabs}


def test_a_view_keeps_filters_and_columns_and_opens_them_again(panel):
    client = panel.as_("owner")
    page = save(client, "Failed SMS", status="failed", channel__exact="sms", columns="short_id,status_label")
    assert tabs_of(page) == {"Failed SMS": True}
    (tab,) = client.get(LIST).context["cl"].tools.tabs
    opened = client.get(LIST + tab.link)
    assert opened.context["cl"].list_display == ("short_id", "status_label")
    assert {each.name: each.value for each in opened.context["cl"].filter_form.used} == {
        "status": "failed",
        "channel__exact": "sms",
    }
    assert tabs_of(client.get(LIST)) == {"Failed SMS": False}


def test_whom_somebody_looked_for_is_not_kept(panel):
    client = panel.as_("owner")
    save(client, "Failed", status="failed", q=ADDRESS)
    client.post(TOOLS, {"step": "save", "name": "By hand", "query": f"status=failed&q={ADDRESS}", "here": ""})
    assert set(SavedView.objects.values_list("query", flat=True)) == {"status=failed"}


def test_a_search_by_name_is_kept(panel):
    client, tools = panel.as_("owner"), reverse("admin:list_tools", args=("verification", "project"))
    client.post(tools, {"step": "save", "name": "Ours", "query": "q=Ours", "here": ""})
    assert SavedView.objects.get().query == "q=Ours"


def test_the_same_name_replaces_and_nothing_has_no_name(panel):
    client = panel.as_("owner")
    save(client, "Mine", status="failed")
    save(client, "mine", status="expired")
    save(client, " ", status="sent")
    save(client, "Empty")
    assert list(SavedView.objects.values_list("name", "query")) == [("mine", "status=expired")]


def test_a_view_is_renamed_and_deleted_by_its_user_alone(panel):
    client = panel.as_("owner")
    save(client, "First", status="failed")
    save(client, "Second", status="expired")
    first = SavedView.objects.get(name="First")
    for who in ("stranger", "root"):
        panel.as_(who).post(TOOLS, {"step": "delete", "view": first.pk})
        panel.as_(who).post(TOOLS, {"step": "rename", "view": first.pk, "name": "Theirs"})
        assert tabs_of(panel.as_(who).get(LIST, follow=True)) == {}
    assert (
        b"Another view has this name"
        in client.post(TOOLS, {"step": "rename", "view": first.pk, "name": "SECOND"}, follow=True).content
    )
    client.post(TOOLS, {"step": "rename", "view": first.pk, "name": "Renamed"})
    assert set(SavedView.objects.values_list("name", flat=True)) == {"Renamed", "Second"}
    client.post(TOOLS, {"step": "delete", "view": first.pk})
    assert SavedView.objects.get().name == "Second"


def test_a_user_saves_so_many_views_of_a_list_and_no_more(panel):
    user = User.objects.get(username="owner")
    for number in range(saved_views.MAX_VIEWS):
        SavedView.objects.create(user=user, page="verification.message", name=str(number), query="status=sent")
    page = save(panel.as_("owner"), "One more", status="failed")
    assert SavedView.objects.count() == saved_views.MAX_VIEWS
    assert not page.context["cl"].tools.may_save


def test_views_are_of_one_list(panel):
    client = panel.as_("owner")
    save(client, "Failed", status="failed")
    assert tabs_of(client.get(reverse("admin:verification_session_changelist"))) == {}


def test_a_user_saves_nothing_of_a_list_that_they_do_not_see(panel):
    users = reverse("admin:list_tools", args=("auth", "user"))
    assert panel.as_("owner").post(users, {"step": "save", "name": "X", "query": "q=a"}).status_code == 403
    assert panel.as_("owner").post(TOOLS, {"step": "explode"}).status_code == 404
    assert panel.as_("owner").get(TOOLS).status_code == 404
    assert panel.as_("owner").post(reverse("admin:list_tools", args=("no", "such")), {}).status_code == 404
    assert SavedView.objects.count() == 0


def test_the_way_back_stays_in_the_list(panel):
    answer = panel.as_("owner").post(TOOLS, {"step": "delete", "view": 1, "here": "status=failed"})
    assert answer.url == f"{LIST}?status=failed"


def test_saving_a_view_asks_for_no_password(panel):
    client = panel.as_("owner")
    session = client.session
    session[CONFIRMED] = 0
    session.save()
    assert tabs_of(save(client, "Failed", status="failed")) == {"Failed": True}
