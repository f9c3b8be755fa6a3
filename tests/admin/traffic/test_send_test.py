"""A test message from the pages of providers and channels, and the page that follows it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import sent_once
from verification.admin.traffic.messages import FOLLOWED_FOR
from verification.core import caching
from verification.models import AuditEntry, Channel, Membership, Message, Provider, Role

pytestmark = pytest.mark.django_db

NUMBER = "+4915112345688"


@pytest.fixture(autouse=True)
def fresh(panel):
    caching.clear_all()


def page_of(panel, model):
    return reverse(f"admin:verification_{model._meta.model_name}_send_test", args=(panel.rows[model].pk,))


def sent():
    return Message.objects.filter(recipient__address=NUMBER)


def test_a_test_goes_over_its_provider_and_no_other_and_leads_to_its_way(panel):
    response = sent_once(panel.as_("owner"), page_of(panel, Provider), to=NUMBER)
    message = sent().get()
    assert (message.pinned_provider, message.session_id) == (panel.rows[Provider], None)
    assert response.url == reverse("admin:verification_message_change", args=(message.pk,)) + "?live"
    line = AuditEntry.objects.get(action__startswith="Sent themselves a test")
    assert line.project_id == panel.project.pk and NUMBER not in line.action + line.object_label


@pytest.mark.parametrize(("channel", "words"), [("sms", "phone number"), ("email", "Your e-mail address.")])
def test_the_form_asks_for_what_the_channel_reaches(panel, channel, words):
    Channel.objects.filter(pk=panel.rows[Channel].pk).update(type=channel)
    assert words in panel.as_("owner").get(page_of(panel, Channel)).content.decode()


def test_a_test_over_a_channel_names_no_provider(panel):
    assert sent_once(panel.as_("owner"), page_of(panel, Channel), to=NUMBER).status_code == 302
    assert (sent().get().pinned_provider, sent().get().channel) == (None, "sms")


@pytest.mark.parametrize("model", [Provider, Channel])
def test_a_form_that_is_sent_twice_sends_one_test(panel, model):
    client, page = panel.as_("owner"), page_of(panel, model)
    values = {"_once": client.get(page).context["once"], "to": NUMBER}
    for _ in range(2):
        client.post(page, values)
    assert sent().count() == 1


@pytest.mark.parametrize("model", [Provider, Channel])
def test_a_stranger_sends_no_test(panel, model):
    assert panel.as_("stranger").post(page_of(panel, model), {"to": NUMBER}).status_code in (403, 404)
    assert not sent().exists()


@pytest.mark.parametrize("model", [Provider, Channel])
def test_who_may_send_tests_in_another_project_sends_none_in_this(panel, model):
    user = User.objects.get(username="stranger")
    here = Membership.objects.create(project=panel.project, user=user, role=Role.DEVELOPER)
    client, page = panel.as_("stranger"), page_of(panel, model)
    values = {"_once": client.get(page).context["once"], "to": NUMBER}
    Membership.objects.filter(pk=here.pk).update(role=Role.ANALYST)
    assert [client.get(page).status_code, client.post(page, values).status_code] == [403, 403]
    assert not sent().exists()


def test_the_limits_hold_for_tests(panel):
    client = panel.as_("owner")
    answers = [sent_once(client, page_of(panel, Provider), to=NUMBER) for _ in range(12)]
    refused = [answer for answer in answers if answer.status_code == 200]
    assert refused and all("Try again in" in answer.context["form"].errors["to"][1] for answer in refused)


def test_a_provider_that_is_off_is_named_as_the_reason(panel):
    Provider.objects.filter(pk=panel.rows[Provider].pk).update(is_enabled=False)
    response = sent_once(panel.as_("owner"), page_of(panel, Provider), to=NUMBER)
    assert "The provider is off" in response.context["form"].errors["to"][0]


def test_a_system_providers_test_counts_for_the_project_that_the_operator_names(panel):
    Provider.objects.filter(pk=panel.rows[Provider].pk).update(project=None)
    client, page = panel.as_("root"), page_of(panel, Provider)
    assert "project" in sent_once(client, page, to=NUMBER).context["form"].errors
    assert sent_once(client, page, to=NUMBER, project=panel.project.pk).status_code == 302
    assert sent().get().project == panel.project
    assert panel.as_("owner").get(page).status_code in (403, 404)


def test_the_scorecard_leads_to_a_test(panel):
    scorecard = reverse("admin:verification_provider_scorecard", args=(panel.rows[Provider].pk,))
    assert page_of(panel, Provider) in panel.as_("owner").get(scorecard).content.decode()


@pytest.mark.requirement(87)
def test_a_messages_page_reloads_itself_until_the_message_is_final_and_renews_nothing(panel):
    client = panel.as_("owner")
    page = sent_once(client, page_of(panel, Provider), to=NUMBER).url
    shown = client.get(page)
    assert shown["Refresh"] == "2; url=?live&by_itself" and "Refreshes every" in shown.content.decode()
    sent().update(status="failed", finished_at=timezone.now())
    assert "Refresh" not in client.get(page)


def test_a_messages_page_reloads_itself_only_where_asked_to_and_not_for_ever(panel):
    client = panel.as_("owner")
    page = sent_once(client, page_of(panel, Provider), to=NUMBER).url
    assert "Refresh" not in client.get(page.removesuffix("?live"))
    sent().update(created_at=timezone.now() - FOLLOWED_FOR - timedelta(seconds=1))
    assert "Refresh" not in client.get(page)
