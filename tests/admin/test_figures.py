"""The page of figures: what it tells, to whom, and as a file."""

from datetime import UTC, datetime, time, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories import a_message, a_session
from verification.models import Alert, DailyFigures, HourlyFigures, HourlyRefusals, Provider, Recipient
from verification.services.analytics import rollups

pytestmark = pytest.mark.django_db

PAGE = reverse("admin:verification_figures")
USUAL = {"channel": "sms", "country": "DE", "language": "en", "is_manual": False, "provider_id": 0}


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
    HourlyFigures.objects.create(
        project=panel.other, provider_id=0, sessions=7_654_321, sessions_sent=7_654_321, **usual
    )
    return panel


def test_the_funnel_tells_where_sessions_were_lost(counted):
    steps = counted.as_("owner").get(PAGE, {"range": "24h"}).context["funnel"]
    assert [(step.word, step.number, step.lost) for step in steps[:5]] == [
        ("Started", 90, 0), ("Sent", 80, 10), ("Delivered", 70, 10), ("Code entered", 65, 5), ("Verified", 60, 5),
    ]  # fmt: skip


@pytest.mark.requirement(12)
def test_the_page_and_its_files_leak_nothing_of_another_project(counted):
    client = counted.as_("owner")
    for query in ({}, {"csv": ""}, {"csv": "project"}, {"json": ""}, {"provider": "none"}, {"country": "DE"}):
        text = client.get(PAGE, query).content.decode()
        assert "7654321" not in text and "7,654,321" not in text and "Theirs" not in text
    assert client.get(PAGE, {"project": counted.other.pk}).status_code == 404
    assert counted.as_("root").get(PAGE, {"json": ""}).json()["figures"]["started"] == 7_654_411


def test_the_chart_has_a_table_with_the_same_numbers(counted):
    response = counted.as_("owner").get(PAGE, {"range": "24h"})
    (bars,) = (chart.bars for chart in response.context["charts"] if chart.id == "counts")
    assert [(bar.look, bar.height) for bar in bars] == [("ww-started", 144.0), ("ww-verified", 96.0)]  # of 160 for 100
    assert "<td>90</td><td>80</td><td>60</td>" in response.content.decode()


def test_the_files_have_the_hours_and_the_breakdowns(counted):
    client = counted.as_("owner")
    lines = client.get(PAGE, {"range": "24h", "csv": ""}).content.decode().splitlines()
    assert len(lines) == 1 + 24
    assert lines[-2].split(",")[1:3] == ["90", "80"]
    told = client.get(PAGE, {"range": "24h", "json": ""}).json()
    assert [(row["provider"], row["verified"]) for row in told["by"]["provider"]] == [("Our gateway", 60)]
    assert client.get(PAGE, {"range": "24h", "csv": "country"}).content.decode().splitlines()[1].startswith("DE,90,80,")


@pytest.mark.requirement(89)
@pytest.mark.parametrize("name", ["=1+1", "＝1+1"])
def test_no_spreadsheet_takes_a_name_for_a_formula(counted, name):
    Provider.objects.filter(pk=counted.rows[Provider].pk).update(name=name)
    lines = counted.as_("owner").get(PAGE, {"range": "24h", "csv": "provider"}).content.decode().splitlines()
    assert lines[1].startswith(f"'{name},90,")


@pytest.mark.parametrize(
    "query", [{"range": "forever"}, {"project": "x"}, {"project": "0"}, {"provider": "x"}, {"csv": "recipient"}]
)
def test_an_address_that_names_no_range_or_project_finds_nothing(counted, query):
    assert counted.as_("owner").get(PAGE, query).status_code == 404


def test_a_range_of_two_days_is_told_against_as_many_days_before(panel):
    today = timezone.now().date()
    for ago, verified in ((10, 6), (12, 2), (13, 100)):
        day = today - timedelta(days=ago)
        DailyFigures.objects.create(
            project=panel.project, day=day, sessions=10, sessions_sent=10, sessions_verified=verified, **USUAL
        )
        HourlyFigures.objects.create(
            project=panel.project, hour=datetime.combine(day, time(9), UTC), sessions=10, sessions_sent=10,
            sessions_verified=verified, **USUAL,
        )  # fmt: skip
    query = {"from": str(today - timedelta(days=11)), "to": str(today - timedelta(days=10)), "json": ""}
    told = panel.as_("owner").get(PAGE, query).json()
    assert (told["figures"]["verified"], told["before"]["verified"]) == (6, 102)


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [
        ("2026-13-01", "2026-01-02", "2026-13-01 is not a valid date"),
        ("", "2026-01-02", "An empty text is not a valid date"),
        ("2026-11-02", "2026-11-01", "Swap them."),
        ("2999-01-01", "2999-01-02", "is in the future"),
        ("2001-01-01", "2001-01-02", "kept for 25 months"),
        ("2020-01-01", "2026-01-01", "at most 366 days"),
    ],
)
def test_a_range_that_cannot_be_is_refused_with_its_reason(panel, first, last, reason):
    client = panel.as_("owner")
    page = client.get(PAGE, {"from": first, "to": last})
    assert (page.status_code, reason in page.content.decode()) == (400, True)
    file = client.get(PAGE, {"from": first, "to": last, "csv": ""})
    assert (file.status_code, reason in file.content.decode()) == (400, True)


def test_a_page_that_is_narrowed_tells_of_the_chosen_alone(counted):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    HourlyFigures.objects.create(project=counted.project, hour=hour, sessions=7, **{**USUAL, "country": "AT"})
    client = counted.as_("owner")
    told = client.get(PAGE, {"range": "24h", "country": "AT", "json": ""}).json()
    assert (told["figures"]["started"], [row["country"] for row in told["by"]["country"]]) == (7, ["AT"])
    text = client.get(PAGE, {"range": "24h", "country": "AT"}).content.decode()
    assert "Country: " in text and "By country" not in text


def test_alerts_are_marked_in_the_charts_and_told_in_words_in_the_table(counted):
    at = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    Alert.objects.create(project=counted.project, kind="k", key="1", title="SMS: nothing gets out", created_at=at)
    Alert.objects.create(project=counted.other, kind="k", key="1", title="Of another", created_at=at)
    page = counted.as_("owner").get(PAGE, {"range": "24h"})
    assert "SMS: nothing gets out" in [mark.title for mark in page.context["charts"][0].marks]
    assert [row["events"] for row in page.context["table"]][-2] == ["SMS: nothing gets out"]
    assert "Of another" not in page.content.decode()


def test_the_events_of_a_country_are_those_of_what_carried_its_messages(counted):
    """An outage of a provider that the country does not use says nothing about its figures."""
    own = counted.rows[Provider]
    other = Provider.objects.create(
        project=counted.project, channel="sms", type="http", name="Poor gateway", hook_secret=b"x"
    )
    Alert.objects.all().delete()
    now = timezone.now()
    for kind, key, title in (
        ("provider", f"{own.pk} out_of_funds 2026-11-24", "Its own"),
        ("provider", f"{other.pk} out_of_funds 2026-11-24", "Of a provider that it does not use"),
        ("channel_down", "sms", "Its channel"),
        ("channel_down", "email", "A channel that it does not use"),
        ("guard", f"conversion DE {now:%Y-%m-%dT%H:%M:%S}", "A block of the country"),
        ("guard", f"conversion BR {now:%Y-%m-%dT%H:%M:%S}", "A block of another country"),
        ("cost_budget", "sms:2026-11-24:80", "Of no country"),
    ):
        Alert.objects.create(project=counted.project, kind=kind, key=key, title=title)
    page = counted.as_("owner").get(PAGE, {"range": "24h", "country": "DE"})
    titles = {shown.event.title for shown in page.context["events"]}
    assert titles == {"Its own", "Its channel", "A block of the country", "Of no country"}
    assert len(counted.as_("owner").get(PAGE, {"range": "24h"}).context["events"]) == 7


def test_each_number_of_a_row_leads_to_the_rows_that_it_counts(panel):
    """A session to Austria over the provider, beside the panel's own to Germany without one."""
    gateway = panel.rows[Provider]
    recipient = Recipient.objects.create(project=panel.project, address="+436641234567")
    session = a_session(recipient)
    now = timezone.now()
    sent = {"status": "success", "error": None, "sent_at": now, "finished_at": now}
    a_message(recipient, session=session, provider=gateway, **sent)
    rollups.count_due()
    client = panel.as_("owner")
    page = client.get(PAGE, {"range": "24h"})
    seen = 0
    for breakdown in page.context["breakdowns"]:
        for row in breakdown["rows"]:
            if breakdown["title"] == "Channel" and row.line.key == "":
                continue
            for number, link in (("started", row.sessions), ("messages", row.messages), ("lost", row.lost)):
                found = client.get(link)
                assert found.status_code == 200
                if breakdown["title"] != "Provider" or row.line.key:
                    assert found.context["cl"].result_count == row.figures[number], (breakdown["title"], link)
                    seen += 1
    assert seen >= 9


def test_the_tiles_of_a_narrowed_page_lead_to_what_they_count(panel):
    """A verified session to Austria, beside the panel's own to Germany; decisions cannot be listed by country."""
    gateway = panel.rows[Provider]
    recipient = Recipient.objects.create(project=panel.project, address="+436641234567")
    now = timezone.now()
    session = a_session(recipient, verified_at=now)
    sent = {"status": "success", "error": None, "sent_at": now, "finished_at": now}
    a_message(recipient, session=session, provider=gateway, **sent)
    rollups.count_due()
    HourlyRefusals.objects.create(
        project=panel.project,
        hour=now.replace(minute=0, second=0, microsecond=0),
        rule="limit",
        country="AT",
        refused=3,
    )
    client = panel.as_("owner")
    narrowed = {"range": "24h", "country": "AT", "channel": "sms", "provider": str(gateway.pk)}
    page = client.get(PAGE, narrowed)
    links = {tile.title: tile.link for tile in page.context["tiles"]}
    assert client.get(links["Verified sessions"]).context["cl"].result_count == 1
    assert "country=AT" in links["Verified sessions"] and "channel__exact=sms" in links["Verified sessions"]
    assert links["Refused requests"] == "" and [link for _, _, link in page.context["refusals"]] == [""]
    tiles = client.get(PAGE, {"range": "24h"}).context["tiles"]
    links = {tile.title: tile.link for tile in tiles}
    assert client.get(links["Refused requests"]).status_code == 200
    assert "country" not in tiles[0].link  # verified sessions; in the day's last hour, when the range is a day, users


@pytest.mark.parametrize(
    "value", ["x", "2026-11-01T00", "2026-11-01T00..now", "0001-01-01T00..9999-01-01T00", "a..b..c"]
)
@pytest.mark.parametrize("name", ["session", "message", "decision"])
def test_a_list_takes_a_range_that_is_none_for_an_empty_one(panel, name, value):
    address = reverse(f"admin:verification_{name}_changelist")
    for who in ("owner", "root"):
        found = panel.as_(who).get(address, {"between": value})
        assert (found.status_code, found.context["cl"].result_count) == (200, 0)


@pytest.mark.parametrize("name", ["country", "language", "channel", "provider", "from", "to"])
@pytest.mark.parametrize("value", ["\0", "D\0", "²", "9" * 400, "-1", "0001-01-01T00:00+05:00"])
def test_an_address_with_anything_in_it_is_no_fault_of_ours(panel, name, value):
    client = panel.as_("owner")
    scorecard = reverse("admin:verification_provider_scorecard", args=(panel.rows[Provider].pk,))
    lists = [reverse(f"admin:verification_{each}_changelist") for each in ("session", "message", "decision")]
    for page in (PAGE, scorecard, *lists):
        assert client.get(page, {name: value}).status_code < 500


@pytest.mark.parametrize(("an_hour", "points"), [(4, 56), (2, 28), (1, 7)])
def test_a_point_of_a_line_has_enough_sessions_to_mean_something(panel, an_hour, points):
    """A week by the hour is drawn by three or six hours or by the day, so that ten sessions make a point."""
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    HourlyFigures.objects.all().delete()
    for hour in range(-6 * 24, 0):
        HourlyFigures.objects.create(
            project=panel.project, hour=today + timedelta(hours=hour), sessions=an_hour, sessions_sent=an_hour,
            sessions_verified=1, **USUAL,
        )  # fmt: skip
    charts = {chart.id: chart for chart in panel.as_("owner").get(PAGE, {"range": "7d"}).context["charts"]}
    assert len(charts["conversion"].places) == points and len(charts["counts"].places) == 7 * 24


@pytest.mark.parametrize(("now", "change", "mood"), [(24, "was 22", ""), (66, "▲ 200 % vs 22", "bad")])
def test_a_tile_shows_a_change_that_is_more_than_chance(panel, now, change, mood):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    HourlyRefusals.objects.all().delete()
    for ago, refused in ((0, now), (24, 22)):
        at = hour - timedelta(hours=ago)
        HourlyRefusals.objects.create(project=panel.project, hour=at, rule="limit", country="DE", refused=refused)
    HourlyFigures.objects.create(project=panel.project, hour=hour - timedelta(days=3), sessions=1, **USUAL)
    shown = panel.as_("owner").get(PAGE, {"range": "24h"}).context["tiles"]
    [tile] = [each for each in shown if each.title == "Refused requests"]
    assert (tile.value, tile.change, tile.mood) == (str(now), change, mood)
