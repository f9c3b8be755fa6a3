"""The page of a month's costs, its file, and the comparison with an invoice: of one's own projects alone."""

import csv
import io
from datetime import timedelta
from decimal import Decimal
from urllib.parse import unquote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from verification.models import Channel, HourlyCosts, HourlyFigures, Provider
from verification.services.analytics import cost_budgets

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:verification_costs")
INVOICE = reverse("admin:verification_invoice")


@pytest.fixture
def spent(panel):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    gateway = panel.rows[Provider].pk
    usual = {"hour": hour, "channel": "sms", "country": "DE", "language": "en"}
    HourlyFigures.objects.create(
        project=panel.project, is_manual=False, sessions=8, sessions_verified=4, provider_id=gateway, **usual
    )
    for project, provider, amount in ((panel.project, gateway, "6.00"), (panel.other, 0, "777")):
        HourlyCosts.objects.create(
            project=project, provider_id=provider, sends=8, segments=8, amount=Decimal(amount), currency="USD", **usual
        )
    return panel


def test_the_month_is_told_for_ones_own_projects(spent):
    shown = spent.as_("owner").get(PAGE)
    values = {tile.title: tile.value for tile in shown.context["tiles"]}
    assert values["Spent so far, USD"] == "6.00"
    assert values["Per verified user, USD"] == "1.5000"
    assert values["Month forecast, USD"] == "–"
    names = {
        str(table["title"]): [(row.name, row.cost, row.share) for row in table["rows"]]
        for table in shown.context["tables"]
    }
    assert names == {
        "Country": [("DE", "6.00", 100.0)],
        "Provider": [("Our gateway", "6.00", 100.0)],
        "Channel": [("SMS", "6.00", 100.0)],
    }
    assert "777" not in shown.content.decode()


def test_each_row_leads_to_its_figures_in_the_month(spent):
    client = spent.as_("owner")
    for table in client.get(PAGE).context["tables"]:
        for row in table["rows"]:
            shown = client.get(row.figures)
            assert shown.status_code == 200 and "6.00" in shown.content.decode()


def test_a_user_of_two_projects_sees_each(spent):
    shown = spent.as_("root").get(PAGE)
    table = next(each for each in shown.context["tables"] if each["title"] == "Project")
    assert [(row.name, row.cost) for row in table["rows"]] == [("Theirs", "777.00"), ("Ours", "6.00")]


def test_budgets_in_money_stand_on_the_page_with_what_is_spent(spent):
    Channel.objects.filter(project=spent.project).update(monthly_cost_budget=12, daily_cost_budget=20)
    cost_budgets.watch()
    budgets = spent.as_("owner").get(PAGE).context["budgets"]
    assert [(each.period, each.words, each.percent) for each in budgets] == [
        ("this month", "6.00 of 12", 50),
        ("today", "6.00 of 20", 30),
    ]


@pytest.mark.parametrize("month", ["2026-13", "1999-01", "9999-12", "x"])
def test_a_month_that_is_none_is_said_to_be(spent, month):
    shown = spent.as_("owner").get(PAGE, {"month": month})
    assert shown.status_code == 400
    assert "Showing the current month." in shown.content.decode()


def test_the_file_has_each_day_by_country_and_provider(spent):
    answer = spent.as_("owner").get(PAGE, {"csv": ""})
    head, row = csv.reader(io.StringIO(answer.content.decode()))
    found = dict(zip(head, row, strict=True))
    assert found == {
        "day": f"{timezone.now():%Y-%m-%d}",
        "project": "Ours",
        "channel": "sms",
        "provider": "Our gateway",
        "country": "DE",
        "currency": "USD",
        "cost": "6.000000",
        "messages": "8",
        "messages_without_price": "0",
        "segments": "8",
    }


def compare(client, provider, text, **values):
    file = SimpleUploadedFile("invoice.csv", text.encode() if isinstance(text, str) else text)
    return client.post(INVOICE, {"provider": provider.pk, "file": file, **values})


def test_an_invoice_is_compared_and_nothing_of_it_is_kept(spent):
    day = timezone.now().date()
    text = f"date,to,price\n{day},+4915112345678,7.25\n"
    shown = compare(spent.as_("owner"), spent.rows[Provider], text)
    assert shown.context["sentence"] == "The invoice is 1.25 USD higher than your price list."
    assert shown.context["rows"][0]["difference"] == "+1.2500"
    assert "4915112345678" not in shown.content.decode()


def test_the_differences_are_a_file(spent):
    day = timezone.now().date()
    HourlyCosts.objects.create(
        **HourlyCosts.objects.filter(project=spent.project).values().get() | {"id": None, "country": "BR"}
    )
    text = f"date,country,count,price,provider\n{day},DE,9,7.25,Our gateway\n{day},BR,8,6,Our gateway\n{day},BR,1,6,x\n"
    shown = compare(spent.as_("owner"), spent.rows[Provider], text)
    assert "1 line of another provider was left out." in shown.content.decode()
    assert shown.context["file_name"] == f"invoice-differences-our-gateway-{day:%Y-%m}.csv"
    kind, _comma, content = shown.context["file"].partition(",")
    assert (kind, f'href="{shown.context["file"]}"' in shown.content.decode()) == ("data:text/csv;charset=utf-8", True)
    head, row = csv.reader(io.StringIO(unquote(content)))
    assert row[:3] == [f"{day}", "DE", "USD"]
    assert [Decimal(cell) for cell in row[3:]] == [Decimal("7.25"), 6, Decimal("1.25"), 9, 8]
    assert head[5] == "difference"


def test_a_fault_of_the_file_stands_in_the_form(spent):
    shown = compare(spent.as_("owner"), spent.rows[Provider], "a,b\n1,2\n")
    assert shown.status_code == 400
    assert "Its columns are: a, b. Enter the names below." in shown.content.decode()


def test_another_projects_provider_cannot_be_chosen(spent):
    shown = compare(spent.as_("stranger"), spent.rows[Provider], f"date,country,price\n{timezone.now().date()},DE,1\n")
    assert shown.status_code == 400
    assert "found" not in (shown.context or {})


def test_a_file_may_be_larger_than_a_form_but_not_endless(spent, settings):
    day = timezone.now().date()
    lines = f"{day},DE,0.01\n" * 20_000
    assert len(lines) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    shown = compare(spent.as_("owner"), spent.rows[Provider], f"date,country,price\n{lines}")
    assert shown.context["found"].invoice.lines == 20_000
    endless = b"x" * (settings.INVOICE_MAX_BYTES + 200_000)
    assert compare(spent.as_("owner"), spent.rows[Provider], endless).status_code == 413


def test_who_is_not_logged_in_sends_no_long_body(spent, settings):
    body = b"x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    answer = spent.as_("anonymous").post(INVOICE, body, content_type="application/octet-stream")
    assert answer.status_code == 413


def test_a_month_before_has_no_budgets_and_no_forecast(spent):
    last = (timezone.now().replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    shown = spent.as_("owner").get(PAGE, {"month": last})
    assert (shown.context["budgets"], shown.context["is_present"]) == ([], False)
