"""The money on the page of figures, in its files and in ``stats``: of one's own projects alone, and never a guess."""

import csv
import io
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.commands.running import run, run_json
from verification.models import HourlyCosts, HourlyFigures, Provider
from verification.services.providers import price_lists

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:verification_figures")
DAY = {"range": "24h"}


@pytest.fixture
def counted(panel):
    """An hour of the first project with two priced currencies and none, and an hour of the second."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    gateway = panel.rows[Provider].pk
    usual = {"hour": hour, "channel": "sms", "country": "DE", "language": "en", "provider_id": gateway}
    HourlyFigures.objects.create(
        project=panel.project,
        is_manual=False,
        sessions=80,
        sessions_sent=80,
        sessions_verified=40,
        messages=83,
        **usual,
    )
    for currency, sends, amount in (("USD", 80, "6.00"), ("EUR", 2, "0.20"), ("", 1, "0")):
        HourlyCosts.objects.create(
            project=panel.project, sends=sends, segments=sends, amount=Decimal(amount), currency=currency, **usual
        )
    theirs = usual | {"provider_id": 0}
    HourlyFigures.objects.create(project=panel.other, is_manual=False, sessions=1, messages=1, **theirs)
    HourlyCosts.objects.create(project=panel.other, sends=1, segments=1, amount=Decimal(777), currency="USD", **theirs)
    return panel


def test_the_page_tells_the_cost_and_that_of_a_verified_user_and_what_has_no_price(counted):
    response = counted.as_("owner").get(PAGE, DAY)
    values = {tile.title: tile.value for tile in response.context["tiles"]}
    assert (values["Cost, USD"], values["Per verified user, USD"]) == ("6.00", "0.1500")
    text = " ".join(response.content.decode().split())
    assert "3 of 83 messages have no price. The actual cost may be higher." in text
    assert "2 have prices in EUR, which needs an exchange rate into USD. Ask the operator to enter it." in text


def test_a_row_of_a_breakdown_has_its_cost(counted):
    breakdowns = counted.as_("owner").get(PAGE, DAY).context["breakdowns"]
    rows = {
        each["title"]: [(row.line.name, row.shown_cost, row.per_verified) for row in each["rows"]]
        for each in breakdowns
    }
    assert rows["Country"] == [("DE", "≥ 6.00", "≥ 0.1500")]
    assert rows["Provider"] == [("Our gateway", "≥ 6.00", "≥ 0.1500")]


def test_the_files_hold_the_same(counted):
    client = counted.as_("owner")
    told = client.get(PAGE, DAY | {"json": ""}).json()
    assert told["cost"] == {
        "currency": "USD", "cost": "6.00", "cost_per_verified": "0.1500", "messages_charged": 83,
        "messages_without_price": 3,
    }  # fmt: skip
    assert told["by"]["country"][0]["cost"] == "6.00"
    for kind in ("", "provider"):
        rows = csv.DictReader(io.StringIO(client.get(PAGE, DAY | {"csv": kind}).content.decode()))
        assert [row["cost"] for row in rows if row["messages_charged"] == "83"] == ["6.00"]


def test_figures_narrowed_to_a_country_cost_what_that_country_does(counted):
    HourlyCosts.objects.filter(project=counted.project, currency="EUR").update(country="FR")
    values = counted.as_("owner").get(PAGE, DAY | {"country": "FR"}).context["money"]
    assert (values.cost.sends, values.cost.known) == (2, None)


def test_no_file_and_no_page_leaks_the_money_of_another_project(counted):
    client = counted.as_("owner")
    for query in ({}, {"csv": ""}, {"csv": "provider"}, {"json": ""}):
        assert "777" not in client.get(PAGE, DAY | query).content.decode()
    assert "783.00" in counted.as_("root").get(PAGE, DAY | {"json": ""}).content.decode()


def test_another_provider_is_compared_and_without_a_list_the_page_says_what_to_do(counted):
    client = counted.as_("owner")
    assert "Nothing to compare" in client.get(PAGE, DAY).content.decode()
    HourlyCosts.objects.filter(project=counted.project).exclude(currency="USD").delete()
    gateway = counted.rows[Provider]
    price_lists.replace(gateway, price_lists.read("to,price,currency,per\n+49,0.05,USD,message"), number=0)
    [row] = client.get(PAGE, DAY).context["offers"]
    assert (row.offer.provider, row.would_cost, row.did_cost, row.saved) == ("Our gateway", "4.00", "6.00", "−2.00")


def test_without_any_price_the_cost_is_unknown_and_not_0(counted):
    HourlyCosts.objects.exclude(currency="").delete()
    response = counted.as_("owner").get(PAGE, DAY)
    assert {tile.title: tile.value for tile in response.context["tiles"]}["Cost, USD"] == "Unknown"
    assert "1 of 1 message has no price." in response.content.decode()


def test_stats_tells_the_cost(counted):
    row = next(row for row in run_json("stats")["projects"] if row["project"] == counted.project.pk)
    assert (row["cost"]["cost"], row["cost"]["messages_without_price"]) == ("6.00", 3)
    assert "6.00 USD" in run("stats")
