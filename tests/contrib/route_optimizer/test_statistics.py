"""The worker's choice by what each provider has shown, from rows that were counted."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from tests import factories
from tests.services.providers.test_routing import PHONE, TEMPORARY, api_message, choices
from verification.contrib.route_optimizer.statistics import read_state
from verification.core import caching
from verification.models import Channel, ExchangeRate, HourlyFigures, Price, Provider, Upkeep
from verification.services.delivery import dispatch
from verification.services.projects.snapshot import load_project
from verification.services.providers.routing import providers_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db):
    return with_providers("shop", routing="best_time")


def with_providers(name, *, routing):
    made = factories.project(name=name, channels=())
    made.provider("sms", name=f"{name} first", priority=10)
    made.provider("sms", name=f"{name} second", priority=20)
    Channel.objects.filter(project=made.row).update(routing=routing, explore_percent=0)
    now = timezone.now()
    Upkeep.objects.update_or_create(name="figures", defaults={"started_at": now, "finished_at": now})
    caching.clear_all()
    return made


def counted(project, name, *, asked, verified, hours_ago=1, step=24, **fields):
    """A row as the workers count it; each of the verified took the time of one step of the histogram."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours_ago)
    times = [0] * 40
    times[step - 1] = verified
    HourlyFigures.objects.create(
        project=project.row, hour=hour, provider_id=Provider.objects.get(name=name).pk, attempts=asked,
        sessions_verified=verified, verify_times=times,
        **{"channel": "sms", "country": "DE", "language": "en", "is_manual": False, **fields},
    )  # fmt: skip
    caching.clear_all()


def names(project, address=PHONE, country="DE", **about):
    found = providers_for(
        project_id=project.id, channel="sms", address=address, country=country, pinned_id=None, left_out=(),
        accounts={}, routing=load_project(project.id).channels["sms"].routing, **about,
    )  # fmt: skip
    return [provider.name for provider in found.providers]


def test_the_state_is_that_of_the_counted_rows(project):
    counted(project, "shop first", asked=60, verified=30, language="en")
    counted(project, "shop first", asked=40, verified=20, language="de")
    counted(project, "shop first", asked=10, verified=5, hours_ago=80)
    counted(project, "shop first", asked=10, verified=0, is_manual=True)
    counted(project, "shop first", asked=10, verified=0, channel="voice")
    first = Provider.objects.get(name="shop first").pk
    evidence = read_state(project.id, "sms").evidence(first, "DE")
    assert 90 < evidence.known <= 100
    assert evidence.rate == pytest.approx(0.5, abs=0.03)
    assert evidence.seconds == pytest.approx(18, rel=0.25)


def test_a_worker_asks_the_one_that_has_shown_most_and_the_attempt_says_so(project, outbox):
    counted(project, "shop first", asked=100, verified=10)
    counted(project, "shop second", asked=100, verified=90)
    dispatch.deliver(api_message(project))
    assert choices() == [("shop second", "best")]


def price(name, amount, currency="USD", place=""):
    provider = Provider.objects.get(name=name)
    Price.objects.create(provider=provider, place=place, amount=amount, currency=currency, per="message")
    Provider.objects.filter(pk=provider.pk).update(price_list=F("price_list") + 1)
    caching.clear_all()


def test_for_the_money_the_cheaper_of_two_that_verify_alike_is_asked_in_any_currency(project):
    Channel.objects.update(routing="best_price")
    counted(project, "shop first", asked=200, verified=160)
    counted(project, "shop second", asked=200, verified=160)
    price("shop first", "0.05")
    price("shop second", "3", "INR")
    assert names(project)[0] == "shop first"  # nobody has told what a rupee is worth
    today = timezone.now().date()
    ExchangeRate.objects.create(currency="INR", account="USD", rate="0.012", valid_from=today)
    caching.clear_all()
    assert names(project)[0] == "shop second"
    price("shop first", "0.01", place="+4915")
    assert names(project)[0] == "shop first"


def test_where_it_refuses_the_next_best_follows(project, outbox):
    counted(project, "shop second", asked=100, verified=90)
    counted(project, "shop first", asked=100, verified=10)
    outbox.answer("shop second", TEMPORARY)
    dispatch.deliver(api_message(project))
    assert choices() == [("shop second", "best"), ("shop first", "next")]


def test_each_country_has_its_own_best(project):
    counted(project, "shop first", asked=100, verified=10)
    counted(project, "shop second", asked=100, verified=90)
    counted(project, "shop first", asked=100, verified=90, country="FR")
    counted(project, "shop second", asked=100, verified=10, country="FR")
    assert names(project)[0] == "shop second"
    assert names(project, "+33612345678", "FR")[0] == "shop first"


def test_the_figures_of_one_project_do_not_steer_another(project):
    from verification.services.providers import accounts

    other = with_providers("other", routing="best_time")
    for name in ("system a", "system b"):
        accounts.add_provider(project=None, channel="sms", provider_type="collector", name=name, values={})
    Provider.objects.filter(project__isnull=False).delete()
    caching.clear_all()
    before = names(project, seed=1)
    worse, better = before
    for _ in range(2):
        counted(other, better, asked=500, verified=490, country="DE", language=f"l{_}")
        counted(other, worse, asked=500, verified=1, country="DE", language=f"l{_}")
    assert names(other, seed=1) == [better, worse]
    assert names(project, seed=1) == before
    assert read_state(project.id, "sms").by_both == {}


def test_a_projects_own_come_before_the_systems_whatever_these_have_shown(project):
    from verification.services.providers import accounts

    accounts.add_provider(project=None, channel="sms", provider_type="collector", name="system", values={})
    counted(project, "system", asked=500, verified=500)
    assert names(project)[-1] == "system"


def test_with_shares_all_take_their_turns_by_weight_whatever_their_priority(project):
    Channel.objects.update(routing="shares")
    Provider.objects.filter(name="shop second").update(weight=9)
    caching.clear_all()
    firsts = [names(project, seed=seed)[0] for seed in range(300)]
    assert 200 < firsts.count("shop second") < 300


def test_the_worker_that_takes_a_message_over_draws_as_the_one_before(project):
    Channel.objects.update(routing="shares")
    caching.clear_all()
    assert [names(project, seed=seed) for seed in range(50)] == [names(project, seed=seed) for seed in range(50)]


def test_the_fixed_order_is_not_moved_by_any_figures(project):
    Channel.objects.update(routing="fixed")
    counted(project, "shop first", asked=100, verified=0)
    counted(project, "shop second", asked=100, verified=99)
    assert names(project) == ["shop first", "shop second"]


def test_hundreds_of_messages_read_the_figures_once(project, django_assert_max_num_queries):
    counted(project, "shop first", asked=100, verified=50)
    names(project)
    with django_assert_max_num_queries(40) as asked:
        for number in range(300):
            names(project, seed=number)
    assert not [query for query in asked.captured_queries if "routing_hours" in query["sql"]]
