"""The scorecard of a provider: what it tells, beside whom, and to whom."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories import a_message
from verification import sql
from verification.admin.base.display import format_country
from verification.core.formats import DAY_AND_TIME, written_moment
from verification.models import (
    Alert,
    BreakerOpening,
    DeliveryAttempt,
    HourlyCosts,
    HourlyFaults,
    HourlyFigures,
    Membership,
    Provider,
    Recipient,
    Role,
    VendorBalance,
)
from verification.models.alerts import COLLAPSE, OUTAGE
from verification.services.analytics import impact
from verification.services.analytics.impact import CountryBreak, break_key

pytestmark = pytest.mark.django_db

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
JUDGED = {"faults": ["temporary"], "in_vain": ["temporary"], "favours": ["accepted"]}


def this_hour():
    return timezone.now().replace(minute=0, second=0, microsecond=0)


def page_of(provider):
    return reverse("admin:verification_provider_scorecard", args=(provider.pk,))


def counted(project, provider_id, **fields):
    usual = {"channel": "sms", "country": "IN", "language": "en", "is_manual": False, "hour": this_hour()}
    return HourlyFigures.objects.create(project=project, provider_id=provider_id, **{**usual, **fields})


@pytest.fixture
def two(panel):
    """A provider that does well and another of its channel that does not, both with traffic to India."""
    good = panel.rows[Provider]
    poor = Provider.objects.create(
        project=panel.project, channel="sms", type="http", name="Poor gateway", hook_secret=b"x"
    )
    counted(panel.project, good.pk, attempts=100, attempts_accepted=99, messages_accepted=99, messages_delivered=90)
    counted(panel.project, poor.pk, attempts=50, attempts_accepted=20, messages_accepted=20, messages_delivered=5)
    counted(panel.other, poor.pk, attempts=9_000, attempts_accepted=9_000)
    HourlyFaults.objects.create(
        project=panel.project, provider_id=poor.pk, hour=this_hour(), country="IN", outcome="temporary", calls=30
    )
    HourlyFaults.objects.create(
        project=panel.other, provider_id=poor.pk, hour=this_hour(), country="IN", outcome="unknown", calls=9_000
    )
    return panel, good, poor


def test_a_provider_stands_beside_the_others_of_its_channel(two):
    panel, _, poor = two
    rows = panel.as_("owner").get(page_of(poor)).context["rows"]
    assert [(row["name"], row["asked"], row["accepted"], row["delivered"]) for row in rows if row["asked"]] == [
        ("Poor gateway", 50, "40 %", "25 %"), ("Our gateway", 100, "99 %", "90.9 %"),
    ]  # fmt: skip


def test_faults_are_told_by_kind_and_country_with_what_helps(two):
    panel, _, poor = two
    client = panel.as_("owner")
    page = client.get(page_of(poor), {"country": "IN"})
    assert [(kind, calls) for kind, _, _, calls in page.context["faults"]] == [("Temporary", 30)]
    assert "It failed; nothing was sent." in page.content.decode()
    assert client.get(page_of(poor), {"country": "BR"}).context["faults"] == []


def test_a_scorecard_tells_nothing_of_another_project_and_is_for_its_members_alone(two):
    panel, _, poor = two
    text = panel.as_("owner").get(page_of(poor)).content.decode()
    assert "9000" not in text and "9,000" not in text
    assert panel.as_("stranger").get(page_of(poor)).status_code == 403


def test_a_time_aside_is_a_row_from_its_opening_to_its_end(panel):
    gateway = panel.rows[Provider]
    for number in range(5):
        recipient = Recipient.objects.create(project=panel.project, address=f"+4915112300{number:03d}")
        DeliveryAttempt.objects.create(
            message=a_message(recipient), provider=gateway, outcome="temporary", latency_ms=1
        )
    told = {"provider": gateway.pk, "recipient": recipient.pk, "outcome": "temporary", "reason": "HTTP 503"}
    told |= {"wait_seconds": None, "is_probe": False} | JUDGED
    assert sql.value("note_provider_failure", **told)
    assert not sql.value("note_provider_failure", **told)
    row = BreakerOpening.objects.get()
    assert (row.reason, row.closed_at) == ("HTTP 503", None)
    assert sql.value("note_provider_success", provider=gateway.pk)
    assert not sql.value("note_provider_success", provider=gateway.pk)
    row.refresh_from_db()
    assert row.closed_at >= row.opened_at
    assert "HTTP 503" in panel.as_("owner").get(page_of(gateway)).content.decode()


def test_an_outage_costs_what_the_same_hours_of_most_days_before_verified_more(panel):
    start = this_hour() - 2 * HOUR
    for days in range(1, 8):
        counted(panel.project, 0, hour=start - days * DAY, sessions=120, sessions_verified=100 if days != 3 else 0)
    counted(panel.project, 0, hour=start, sessions=120, sessions_verified=30)
    counted(panel.other, 0, hour=start - DAY, sessions=9_000, sessions_verified=9_000)
    loss = impact.loss([panel.project.pk], start + timedelta(minutes=5), start + timedelta(minutes=40))
    assert (loss.verified, loss.usual, loss.missed) == (30, 100, 70)
    assert loss.sentence == "About 70 fewer verified users than usual (30 vs 100)."


def test_an_outage_without_days_to_compare_with_has_no_estimate(panel):
    start = this_hour() - 2 * HOUR
    for days in (1, 2):
        counted(panel.project, 0, hour=start - days * DAY, sessions=120, sessions_verified=100)
    assert impact.loss([panel.project.pk], start, start + HOUR) is None
    assert impact.loss([panel.project.pk], start - 4 * DAY, start) is None


def test_an_outage_in_which_as_many_were_verified_cost_nobody(panel):
    start = this_hour() - 2 * HOUR
    for days in range(8):
        counted(panel.project, 0, hour=start - days * DAY, sessions=10, sessions_verified=9)
    assert impact.loss([panel.project.pk], start, start + HOUR).missed == 0


def test_the_figures_tell_what_an_outage_cost_and_lead_to_the_scorecard(panel):
    start = this_hour() - 2 * HOUR
    for days in range(1, 8):
        counted(panel.project, panel.rows[Provider].pk, hour=start - days * DAY, sessions=120, sessions_verified=100)
    Alert.objects.create(
        project=panel.project, kind=OUTAGE, key="sms until then", title="SMS: nothing gets out", created_at=start,
        ended_at=start + HOUR,
    )  # fmt: skip
    text = panel.as_("owner").get(reverse("admin:verification_figures")).content.decode()
    assert "About 100 fewer verified users than usual (0 vs 100)." in text
    assert page_of(panel.rows[Provider]) in text


def test_a_scorecard_tells_the_cost_of_each_provider_and_of_a_verified_user(two):
    panel, good, poor = two
    HourlyFigures.objects.filter(provider_id=good.pk).update(sessions_verified=80)
    key = {"channel": "sms", "country": "IN", "language": "en", "hour": this_hour(), "sends": 99, "segments": 99}
    for project, provider, currency, amount in (
        (panel.project, good, "USD", "4"), (panel.project, poor, "", "0"), (panel.other, poor, "USD", "9000"),
    ):  # fmt: skip
        HourlyCosts.objects.create(project=project, provider_id=provider.pk, currency=currency, amount=amount, **key)
    page = panel.as_("owner").get(page_of(good))
    told = {row["name"]: (row["cost"], row["per_verified"]) for row in page.context["rows"]}
    assert told["Our gateway"] == ("4.00", "0.0500") and told["Poor gateway"] == ("–", "–")
    assert "≥" not in page.content.decode()
    HourlyCosts.objects.create(project=panel.project, provider_id=good.pk, currency="", amount="0", **key)
    page = panel.as_("owner").get(page_of(good))
    assert "≥ 4.00" in page.content.decode() and "≥ means some prices are missing." in page.content.decode()


def test_a_scorecard_tells_the_balance_and_the_day_it_runs_out(panel):
    provider, today = panel.rows[Provider], timezone.now().date()
    for ago, amount in ((3, "40"), (2, "30.5"), (0, "10")):
        VendorBalance.objects.create(provider=provider, day=today - ago * DAY, amount=amount, unit="EUR")
    page = panel.as_("owner").get(page_of(provider))
    assert page.context["balance"]["outlook"] == (
        f"At this week's rate of 10.00 EUR per day, the balance lasts until {today + DAY:%-d %b %Y}."
    )
    text = page.content.decode()
    assert "10.00 EUR remained" in text and 'aria-label="Balance, EUR' in text and "<td>30.50</td>" in text
    assert panel.as_("stranger").get(page_of(provider)).status_code == 403


def test_an_alerts_page_tells_what_it_cost_that_its_provider_was_set_aside(panel):
    start, provider = this_hour() - 2 * HOUR, panel.rows[Provider]
    for days in range(1, 8):
        counted(panel.project, provider.pk, hour=start - days * DAY, sessions=120, sessions_verified=100)
    opening = provider.openings.create(opened_at=start + timedelta(minutes=4), closed_at=start + timedelta(minutes=40))
    alert = Alert.objects.create(
        project=panel.project, kind="provider", key=f"{provider.pk} out_of_funds 2026-11-14", title="Out of funds",
        created_at=start + timedelta(minutes=2),
    )  # fmt: skip
    page = reverse("admin:verification_alert_change", args=(alert.pk,))
    shown = panel.as_("owner").get(page).content.decode()
    since, until = (written_moment(at, DAY_AND_TIME) for at in (alert.created_at, opening.closed_at))
    assert "About 100 fewer verified users" in shown and f"· {since} to {until}" in shown
    assert f"Ended at {until}" in shown and "ww-act" not in shown
    provider.openings.update(closed_at=None)
    shown = panel.as_("owner").get(page).content.decode()
    assert "Ongoing" in shown and f"· since {since}" in shown and "Check credentials" in shown
    opening.delete()
    assert "Impact" not in panel.as_("owner").get(page).content.decode()


@pytest.fixture
def broken(two):
    """The good provider delivers nothing more to India since three hours ago; its owner was told two hours later."""
    panel, good, poor = two
    start = this_hour() - 3 * HOUR
    HourlyFigures.objects.filter(project=panel.project).delete()
    full = {"attempts": 40, "messages_accepted": 40, "sessions": 40}
    for ago in range(1, 30):
        delivered = {"messages_delivered": 39, "messages_failed": 1, "sessions_verified": 30}
        counted(panel.project, good.pk, hour=start - ago * HOUR, **full, **delivered)
    for ago in range(3):
        counted(panel.project, good.pk, hour=start + ago * HOUR, **full, messages_failed=40)
    Alert.objects.create(
        project=panel.project, kind=COLLAPSE, key=break_key(CountryBreak(good.pk, "IN", start)),
        title="Our gateway fails in IN",
        created_at=start + 2 * HOUR,
    )  # fmt: skip
    counted(panel.project, poor.pk, country="DE", attempts=1, sessions=1)
    Alert.objects.create(
        project=panel.project, kind="provider", key=f"{poor.pk} out_of_funds 2026-11-24", title="Poor gateway is broke"
    )
    return panel, good, poor, start


def test_a_scorecard_tells_what_a_break_in_a_country_cost(broken):
    panel, good, _, _ = broken
    text = panel.as_("owner").get(page_of(good)).content.decode()
    assert "About 90 fewer verified users than usual (0 vs 90)." in text


def test_a_scorecard_marks_the_break_and_shows_no_alert_of_another_provider(broken):
    panel, good, poor, start = broken
    page = panel.as_("owner").get(page_of(good))
    assert [(shown.event.title, shown.event.at) for shown in page.context["events"]] == [
        ("Our gateway fails in IN", start)
    ]
    assert "Poor gateway is broke" not in page.content.decode()
    elsewhere = panel.as_("owner").get(page_of(good), {"country": "BR"})
    assert elsewhere.context["events"] == []
    assert "Poor gateway is broke" in panel.as_("owner").get(page_of(poor)).content.decode()


def test_an_alert_on_a_provider_offers_the_check_of_its_credentials(broken):
    panel, _, poor, _ = broken
    page = reverse("admin:verification_alert_change", args=(Alert.objects.get(kind="provider").pk,))
    check = reverse("admin:verification_provider_check_credentials", args=(poor.pk,))
    assert f'<a class="ww-act" href="{check}">Check credentials</a>' in panel.as_("owner").get(page).content.decode()
    Membership.objects.filter(project=panel.project).update(role=Role.ANALYST)
    assert "ww-act" not in panel.as_("owner").get(page).content.decode()


def test_the_overview_begins_with_a_provider_that_fails_in_a_country(broken):
    panel, good, _, start = broken
    page = panel.as_("owner").get(reverse("admin:index"))
    [line] = [line for line in page.context["state"].lines if "delivered since" in line.text]
    assert page.context["state"].level == "bad"
    assert f"in {format_country('IN')}: 0 % delivered since" in line.text
    assert line.detail == "About 90 fewer verified users than usual (0 vs 90)."
    assert f"{format_country('IN')}: 0\u00a0% delivered since" in page.content.decode(), "no line begins with the sign"
    assert line.link == f"{page_of(good)}?country=IN"
    stranger = panel.as_("stranger").get(reverse("admin:index")).context["state"]
    assert stranger is None or "fails in" not in str(stranger.lines)
