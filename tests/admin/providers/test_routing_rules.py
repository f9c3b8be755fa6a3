"""The page that previews and makes a routing rule, the list with "Remove", and who may use them."""

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.urls import reverse

from tests import factories
from verification.admin.base.display import format_country
from verification.admin.providers.routing_rules import remedies, remove_link
from verification.models import Membership, Provider, RoutingRule

pytestmark = pytest.mark.django_db

LIST = reverse("admin:verification_routingrule_changelist")


@pytest.fixture
def two(panel):
    """A second provider of the channel beside the panel's own, and no rule yet."""
    RoutingRule.objects.all().delete()
    second = factories.provider(
        project=panel.project,
        channel="sms",
        type="http",
        name="Northwind",
        priority=200,
        settings={"url": "https://n.example/"},
    )
    return panel, panel.rows[Provider], second


def page(panel, provider, country="BR", percent=100, **more):
    query = {"project": panel.project.pk, "provider": provider.pk, "country": country, "percent": percent}
    return reverse("admin:verification_routingrule_propose", query=query | more)


def test_a_rule_is_previewed_before_anything_changes(two):
    panel, _first, second = two
    shown = panel.as_("owner").get(page(panel, second))
    assert shown.context["sentence"] == f"All messages to {format_country('BR')} are sent to Northwind first."
    assert {row.name: (row.before, row.after) for row in shown.context["rows"]}["Northwind"] == ("0 %", "100 %")
    assert not RoutingRule.objects.exists()


def test_the_preview_names_the_rules_that_end(two):
    panel, first, second = two
    owner = panel.as_("owner")
    owner.post(page(panel, first))
    shown = owner.get(page(panel, second)).content.decode()
    assert f"Replaces the rule: All messages to {format_country('BR')} are sent to Our gateway first." in shown
    assert "Replaces the rule" not in owner.get(page(panel, second, percent=20)).content.decode()


def test_confirmed_it_is_made_and_leads_back(two):
    panel, _first, second = two
    answer = panel.as_("owner").post(page(panel, second, next="/admin/"))
    assert (answer.status_code, answer.url) == (302, "/admin/")
    rule = RoutingRule.objects.get()
    assert rule.percent == 100
    (said,) = get_messages(answer.wsgi_request)
    assert said.level_tag == "success"
    assert f'href="{remove_link(rule)}">Remove the rule</a>' in str(said)


def test_remove_stands_in_the_list_and_asks_first(two):
    panel, first, _second = two
    owner = panel.as_("owner")
    owner.post(page(panel, first, percent=0))
    remove = reverse("admin:verification_routingrule_delete", args=(RoutingRule.objects.get().pk,))
    shown = owner.get(LIST).content.decode()
    assert f"Our gateway is paused for {format_country('BR')}." in shown
    assert remove in shown
    asked = owner.get(remove).content.decode()
    assert f"Our gateway is paused for {format_country('BR')}. If you remove this rule, messages to" in asked
    assert RoutingRule.objects.exists()
    owner.post(remove, {"post": "yes"})
    assert not RoutingRule.objects.exists()


def test_a_removed_rule_gives_way_to_the_one_that_it_replaced(two):
    panel, first, second = two
    owner = panel.as_("owner")
    owner.post(page(panel, first))
    owner.post(page(panel, second))
    remove = remove_link(RoutingRule.objects.get())
    asked = owner.get(remove).content.decode()
    assert f"This rule replaced: All messages to {format_country('BR')} are sent to Our gateway first." in asked
    assert "Restore the previous rule" in asked
    owner.post(remove, {"restore": "yes"})
    assert list(RoutingRule.objects.values_list("provider", "percent")) == [(first.pk, 100)]


def test_a_rule_that_cannot_be_restored_stays_replaced(two):
    panel, first, second = two
    owner = panel.as_("owner")
    owner.post(page(panel, first))
    owner.post(page(panel, second))
    Provider.objects.filter(pk=first.pk).update(only_prefixes=["+49"])
    rule = RoutingRule.objects.get()
    answer = owner.post(remove_link(rule), {"restore": "yes"})
    assert "does not serve this country" in str([*get_messages(answer.wsgi_request)][-1])
    assert RoutingRule.objects.get() == rule


def test_a_step_that_was_taken_is_offered_to_be_taken_back(two, rf):
    panel, first, second = two
    request = rf.get("/admin/")
    request.user = User.objects.get(username="owner")

    def steps(country="BR"):
        return [title for title, _link in remedies(request, panel.project.pk, first, country, best=second)]

    place = format_country("BR")
    assert steps() == [f"Route {place} to Northwind", f"Pause Our gateway for {place}"]
    RoutingRule.objects.create(project=panel.project, provider=second, country="BR", percent=100)
    assert steps() == [
        f"Remove the rule: All messages to {place} are sent to Northwind first.",
        f"Pause Our gateway for {place}",
    ]
    assert steps("IN")[0].startswith("Route")


def test_a_step_that_changes_nothing_is_left_out(two, rf):
    panel, first, second = two
    Provider.objects.filter(pk=second.pk).update(priority=1)
    request = rf.get("/admin/")
    request.user = User.objects.get(username="owner")
    [(title, _link)] = remedies(request, panel.project.pk, first, "BR", best=second)
    assert title == f"Pause Our gateway for {format_country('BR')}"


def test_a_refusal_says_why_and_changes_nothing(two):
    panel, first, second = two
    Provider.objects.filter(pk=second.pk).update(is_enabled=False)
    Provider.objects.filter(project=panel.project, channel="sms").exclude(pk=first.pk).update(is_enabled=False)
    answer = panel.as_("owner").post(page(panel, first, percent=0))
    assert answer.status_code == 400
    assert "No other SMS provider can send these messages" in answer.content.decode()
    assert not RoutingRule.objects.exists()


@pytest.mark.parametrize("percent", ["-1", "101", "x"])
def test_a_part_is_of_a_hundred(two, percent):
    panel, _first, second = two
    assert panel.as_("owner").post(page(panel, second, percent=percent)).status_code == 400
    assert not RoutingRule.objects.exists()


def test_strangers_find_neither_page_nor_rule(two):
    panel, _first, second = two
    rule = RoutingRule.objects.create(project=panel.project, provider=second, country="BR", percent=0)
    stranger = panel.as_("stranger")
    assert stranger.post(page(panel, second)).status_code == 404
    assert "Northwind" not in stranger.get(LIST).content.decode()
    stranger.post(reverse("admin:verification_routingrule_delete", args=(rule.pk,)), {"post": "yes"})
    assert RoutingRule.objects.get() == rule


@pytest.mark.parametrize("role", ["analyst", "support"])
def test_who_may_only_look_changes_nothing(two, role):
    panel, _first, second = two
    rule = RoutingRule.objects.create(project=panel.project, provider=second, country="BR", percent=0)
    Membership.objects.filter(project=panel.project).update(role=role)
    member = panel.as_("owner")
    assert member.get(page(panel, second)).status_code == 403
    assert member.post(page(panel, second, percent=100)).status_code == 403
    member.post(reverse("admin:verification_routingrule_delete", args=(rule.pk,)), {"post": "yes"})
    assert RoutingRule.objects.get().percent == 0


def test_the_scorecard_names_the_rules_in_force(two):
    panel, first, _second = two
    RoutingRule.objects.create(project=panel.project, provider=first, country="BR", percent=0)
    scorecard = reverse("admin:verification_provider_scorecard", args=(first.pk,))
    assert (
        f"Our gateway is paused for {format_country('BR')}."
        in panel.as_("owner").get(f"{scorecard}?country=BR").content.decode()
    )
    assert "is paused" not in panel.as_("owner").get(f"{scorecard}?country=IN").content.decode()
