"""The page of figures: what it tells, to whom, and as a file."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from verification.models import HourlyFigures, Provider

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:verification_figures")


@pytest.fixture
def counted(panel):
    """An hour of the first project, and one of the second."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    usual = {"hour": hour, "channel": "sms", "country": "DE", "language": "en", "is_manual": False}
    gateway = panel.rows[Provider]
    HourlyFigures.objects.create(
        project=panel.project, provider_id=gateway.pk, sessions=90, sessions_sent=80, sessions_delivered=70,
        sessions_checked=65, sessions_verified=60, messages=80, messages_accepted=80, **usual,
    )  # fmt: skip
    HourlyFigures.objects.create(project=panel.other, provider_id=0, sessions=5_000, sessions_sent=5_000, **usual)
    return panel


def test_the_funnel_tells_where_sessions_were_lost(counted):
    steps = counted.as_("owner").get(PAGE, {"range": "24h"}).context["funnel"]
    assert [(step.word, step.number, step.lost) for step in steps[:5]] == [
        ("Started", 90, 0), ("Sent", 80, 10), ("Delivered", 70, 10), ("Checked", 65, 5), ("Verified", 60, 5),
    ]  # fmt: skip


def test_the_page_and_its_files_leak_nothing_of_another_project(counted):
    client = counted.as_("owner")
    for query in ({}, {"csv": ""}, {"json": ""}):
        text = client.get(PAGE, query).content.decode()
        assert "5000" not in text and "5,000" not in text and "Theirs" not in text
    assert client.get(PAGE, {"project": counted.other.pk}).status_code == 404
    assert counted.as_("root").get(PAGE, {"json": ""}).json()["figures"]["started"] == 5_090


def test_the_chart_has_a_table_with_the_same_numbers(counted):
    response = counted.as_("owner").get(PAGE, {"range": "24h"})
    bars = response.context["bars"]
    assert [bar.counts for bar in bars if any(bar.counts)] == [(90, 80, 60)]
    assert "<td>90</td><td>80</td><td>60</td>" in response.content.decode()


def test_the_files_have_the_hours_and_the_breakdowns(counted):
    client = counted.as_("owner")
    lines = client.get(PAGE, {"range": "24h", "csv": ""}).content.decode().splitlines()
    assert len(lines) == 1 + 24
    assert lines[-2].split(",")[1:3] == ["90", "80"]
    told = client.get(PAGE, {"range": "24h", "json": ""}).json()
    assert (told["provider"][0]["provider"], told["provider"][0]["verified"]) == ("Our gateway", 60)


@pytest.mark.parametrize("query", [{"range": "forever"}, {"project": "x"}, {"project": "0"}])
def test_an_address_that_names_no_range_or_project_finds_nothing(counted, query):
    assert counted.as_("owner").get(PAGE, query).status_code == 404


@pytest.mark.parametrize("word", ["today", "7d", "30d", "90d", "12m"])
def test_a_range_with_nothing_in_it_says_so(panel, word):
    text = panel.as_("owner").get(PAGE, {"range": word}).content.decode()
    assert "No session was started in this range." in text
