"""Routing rules: which provider comes first in a country, a pause, and what a rule is refused for."""

from collections import Counter

import pytest

from tests import factories
from verification.core import caching
from verification.core.errors import UserError
from verification.models import AuditEntry, Choice, Message, Provider, RoutingRule
from verification.services.providers import rules
from verification.services.providers.routing import providers_for
from verification.services.providers.rules import Proposal

pytestmark = pytest.mark.django_db

BRAZIL, GERMANY = ("+5511987654321", "BR"), ("+4915112345678", "DE")


@pytest.fixture
def project(db):
    made = factories.project(channels=())
    made.provider("sms", name="first", priority=10)
    made.provider("sms", name="second", priority=20)
    return made


def propose(project, name, country="BR", percent=100):
    return Proposal(project.row, Provider.objects.get(name=name), country, percent)


def make(*arguments, **values):
    rule = rules.set_rule(propose(*arguments, **values))
    caching.clear_all()
    return rule


def order(project, to, seed=None):
    address, country = to
    return providers_for(
        project_id=project.id,
        channel="sms",
        address=address,
        country=country,
        pinned_id=None,
        left_out=(),
        accounts={},
        seed=seed,
    )


def names(project, to):
    return [provider.name for provider in order(project, to).providers]


def test_a_country_is_sent_by_another_provider_and_the_former_follows(project):
    make(project, "second")
    assert (names(project, BRAZIL), order(project, BRAZIL).choice) == (["second", "first"], Choice.RULE)
    assert names(project, GERMANY) == ["first", "second"]


def test_a_paused_provider_carries_nothing_of_the_country(project):
    make(project, "first", percent=0)
    assert names(project, BRAZIL) == ["second"]
    assert names(project, GERMANY) == ["first", "second"]


def test_a_part_of_the_messages_tries_a_provider(project):
    make(project, "second", percent=5)
    first = Counter(order(project, BRAZIL, seed).providers[0].name for seed in range(2_000))
    assert 60 < first["second"] < 140


def test_a_rule_of_a_country_comes_before_one_of_all_countries(project):
    make(project, "second", country="")
    make(project, "first", country="BR")
    assert names(project, BRAZIL)[0] == "first"
    assert names(project, GERMANY)[0] == "second"
    make(project, "first", country="", percent=0)
    assert (names(project, BRAZIL)[0], names(project, GERMANY)) == ("first", ["second"])


def test_another_project_is_not_touched(project):
    other = factories.project(channels=())
    system = factories.provider(project=None, channel="sms", type="collector", name="system", settings={"name": "s"})
    caching.clear_all()
    rules.set_rule(Proposal(project.row, system, "BR", 0))
    caching.clear_all()
    assert names(project, BRAZIL) == ["first", "second"]
    assert names(other, BRAZIL) == ["system"]


def test_a_message_goes_by_the_rule(project, outbox):
    from tests.services.providers.test_routing import api_message

    make(project, "second")
    message = Message.objects.get(pk=api_message(project, BRAZIL[0]))
    assert outbox.names == ["second"]
    assert message.attempts.get().choice == Choice.RULE


def test_one_for_all_messages_takes_the_place_of_the_others_parts(project):
    make(project, "first", percent=5)
    make(project, "first", country="DE", percent=5)
    make(project, "second")
    assert set(RoutingRule.objects.values_list("provider__name", "country", "percent")) == {
        ("second", "BR", 100),
        ("first", "DE", 5),
    }


def test_the_rules_that_one_ended_are_restored(project):
    make(project, "first", country="")
    make(project, "first", percent=20)
    rule = make(project, "second")
    assert [(each.provider.name, each.percent) for each in rules.restorable(rule)] == [("first", 20)]
    rules.restore(rule, "BR")
    assert set(RoutingRule.objects.values_list("provider__name", "country", "percent")) == {
        ("first", "", 100),
        ("first", "BR", 20),
    }


def test_a_rule_that_was_changed_is_restored_as_it_was(project):
    make(project, "first", percent=20)
    rules.restore(make(project, "first", percent=0), "BR")
    assert RoutingRule.objects.get().percent == 20


def test_nothing_is_restored_where_it_is_not_possible_any_more(project):
    make(project, "first")
    rule = make(project, "second")
    Provider.objects.filter(name="first").update(only_prefixes=["+49"])
    caching.clear_all()
    with pytest.raises(UserError, match="does not serve this country"):
        rules.restore(rule, "BR")
    kept = RoutingRule.objects.get()
    assert kept.provider.name == "second"
    Provider.objects.filter(name="first").update(is_enabled=False)
    assert rules.restorable(kept) == []


def test_undone_the_channel_chooses_as_before(project):
    rules.end_rule(make(project, "second"))
    assert names(project, BRAZIL) == ["first", "second"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"name": "gone"}, "gone is off"),
        ({"name": "elsewhere"}, "elsewhere does not serve this country's prefix"),
        ({"name": "first", "percent": 20}, "Other rules already route 90 %"),
        ({"name": "mail", "country": "BR"}, "E-mail addresses have no country"),
        ({"name": "first", "percent": 0, "country": "US"}, "No other SMS provider can send these messages"),
    ],
)
def test_what_would_do_nothing_or_stop_a_country_is_refused(project, values, why):
    project.provider("sms", name="gone", is_enabled=False)
    project.provider("sms", name="elsewhere", only_prefixes=["+49"])
    project.provider("email", name="mail")
    make(project, "second", percent=90)
    RoutingRule.objects.create(
        project=project.row, provider=Provider.objects.get(name="second"), country="US", percent=0
    )
    caching.clear_all()
    with pytest.raises(UserError, match=why):
        rules.require_possible(propose(project, **values), "DE")


def test_the_preview_draws_who_is_asked_first(project):
    shown = rules.preview(propose(project, "second", percent=30), "DE")
    assert [(each.provider.name, each.before) for each in shown] == [("first", 100), ("second", 0)]
    assert 20 < shown[1].after < 40
    assert shown[0].after + shown[1].after == 100
    assert not RoutingRule.objects.exists()


def test_the_preview_of_a_removal_draws_who_is_asked_first_then(project):
    shown = rules.preview_removal(make(project, "second"), "DE")
    assert [(each.provider.name, each.before, each.after) for each in shown] == [("first", 0, 100), ("second", 100, 0)]


def test_a_rule_is_in_the_audit_log(project):
    rules.end_rule(make(project, "second", percent=0))
    acts = AuditEntry.objects.filter(object_type="verification.routingrule").order_by("pk")
    assert [(each.action, each.object_label, each.project_id) for each in acts] == [
        ("Created", "second", project.id),
        ("Deleted", "second", project.id),
    ]


def test_which_rule_keeps_a_provider_from_being_asked_first(project):
    first = Provider.objects.get(name="first")
    assert rules.relieving(project.id, first, "BR") is None
    rule = make(project, "second")
    assert rules.relieving(project.id, first, "BR") == rule
    assert rules.relieving(project.id, first, "DE") is None
    pause = make(project, "first", country="DE", percent=0)
    assert rules.relieving(project.id, first, "DE") == pause


def test_without_a_rule_too_one_provider_is_asked_first_for_all(project):
    first, second = (Provider.objects.get(name=name) for name in ("first", "second"))
    assert [rules.first_share(project.id, each, "BR") for each in (first, second)] == [100, 0]
    assert rules.relieving(project.id, second, "BR") is None
