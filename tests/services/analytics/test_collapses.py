"""A provider that accepts messages to a country and no longer delivers them: who is alerted, and until when."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from tests import factories
from tests.factories import a_message, a_session
from verification.models import Alert, HourlyFigures, Message, Provider, Recipient, Session
from verification.models.alerts import COLLAPSE, COLLAPSE_OVER
from verification.services.analytics import collapses, impact
from verification.services.analytics.impact import VERIFIED, read_break_key
from verification.services.analytics.trends import Counts, break_of, conversion_break_of
from verification.services.providers import rules
from verification.services.providers.rules import Proposal

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NOW = timezone.now().replace(minute=30, second=0, microsecond=0)
HERE = NOW.replace(minute=0)


def points(*shares, accepted=3, verified=0.86, chance=None):
    """One point an hour, the last one now; shares of arrivals as chance has it."""
    chance = chance or random.Random(1)
    made = []
    for place, share in enumerate(shares):
        arrived = sum(chance.random() < share for _ in range(accepted))
        counts = Counts(accepted, arrived, accepted, round(arrived * verified))
        made.append((HERE - HOUR * (len(shares) - 1 - place), counts))
    return made


def test_a_break_is_seen_on_the_same_day_in_a_country_with_57_messages_a_day():
    """57 a day, 98 of 100 before and 29 since: some 2.4 an hour."""
    chance, seen = random.Random(4), []
    for _ in range(50):
        history = points(*[0.98] * 168, accepted=2, chance=chance)
        for hour in range(1, 11):
            history = [(at - HOUR, each) for at, each in history] + points(0.29, accepted=2, chance=chance)
            if break_of(history):
                seen.append(hour)
                break
    assert len(seen) == 50
    assert sorted(seen)[25] <= 7


@pytest.mark.parametrize(
    "shares",
    [
        [0.95] * 336,
        [0.3] * 336,  # always bad: nothing broke
        [0.25] * 24 + [0.95] * 312,  # it got better
        [0.95] * 300 + [0.9] * 36,  # a little worse
        [0.95] * 5 + [0.2] * 5,  # hardly any past
        [],
    ],
)
def test_where_nothing_broke_nothing_is_found(shares):
    assert break_of(points(*shares)) is None


def test_where_as_many_users_are_verified_only_the_receipts_are_missing():
    broken = points(*[0.98] * 168, *[0.3] * 12)
    assert break_of(broken)
    entered = [(at, each._replace(verified=each.sent - 1)) for at, each in broken]
    assert break_of(entered) is None


def test_codes_that_arrive_and_are_not_entered_are_a_break_of_conversion():
    lying = points(*[0.98] * 168, *[0.98] * 10)
    lying = [(at, each._replace(verified=0) if at > HERE - 10 * HOUR else each) for at, each in lying]
    assert break_of(lying) is None
    assert conversion_break_of(lying, []) == HERE - 9 * HOUR


def test_where_all_traffic_is_entered_less_it_is_the_app():
    fallen = [(at, each._replace(verified=0) if at > HERE - 10 * HOUR else each) for at, each in points(*[0.98] * 178)]
    assert conversion_break_of(fallen, points(*[0.97] * 178))
    assert conversion_break_of(fallen, fallen) is None


def test_a_surge_of_sessions_that_nobody_verifies_is_an_attack_and_no_fault_of_the_provider():
    attack = points(*[0.98] * 168) + [
        (HERE + n * HOUR, Counts(40, 40, 40, 2)) for n in range(1, 6)
    ]  # thirteen times as many as usual
    assert conversion_break_of(attack, []) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_month_of_usual_traffic_raises_no_alarm(seed):
    """By the hour, as the workers judge it: 2.4 messages an hour of which 95 of 100 arrive and 86 are entered."""
    chance = random.Random(seed)
    history = points(*[0.95] * 336, accepted=2, chance=chance)
    for _ in range(30 * 24):
        history = [(at - HOUR, each) for at, each in history[1:]] + points(0.95, accepted=3, chance=chance)
        assert break_of(history) is None
        assert conversion_break_of(history, []) is None


# --- with rows ----------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(project):
    """Two providers; the first one carries Brazil and breaks six hours ago."""
    project.first = project.provider("sms", "Kestrel")
    project.second = project.provider("sms", "Northwind", priority=200)
    figures(project, project.first, hours=range(6, 168), accepted=3, lost=0, verified=3)
    figures(project, project.first, hours=range(6), accepted=4, lost=3, verified=1)
    lose(project, project.first, people=8)
    return project


def figures(project, provider, *, hours, accepted, lost, verified=0, country="BR"):
    for ago in hours:
        HourlyFigures.objects.update_or_create(
            project=project.row, hour=HERE - ago * HOUR, channel="sms", provider_id=provider.pk, country=country,
            language="pt", is_manual=False,
            defaults={
                "attempts": accepted, "attempts_accepted": accepted, "messages": accepted,
                "messages_accepted": accepted, "messages_failed": lost, "messages_delivered": accepted - lost,
                "sessions": accepted, "sessions_sent": accepted, "sessions_verified": verified,
            },
        )  # fmt: skip


def lose(project, provider, *, people):
    for number in range(people):
        recipient, _ = Recipient.objects.get_or_create(project=project.row, address=f"+55119876543{number:02}")
        moments = dict.fromkeys(("created_at", "sent_at", "finished_at"), NOW - HOUR)
        a_message(recipient, language="pt", provider=provider, error="", **moments)


def alert():
    return Alert.objects.get(kind=COLLAPSE)


@pytest.mark.django_db
def test_the_owner_is_told_once_with_the_hour_the_shares_and_the_cost(shop):
    collapses.watch(NOW)
    collapses.watch(NOW + timedelta(minutes=1))
    told = alert()
    assert told.title == "Kestrel in Brazil (BR): 25 % delivered, down from 100 %"
    assert (
        f"Since {HERE - 5 * HOUR:%d %b %H:%M} UTC, 25 % of the messages to Brazil (BR) that Kestrel accepted were"
        in told.detail
    )
    assert "About 18 fewer verified users than usual (6 vs 24)." in told.detail
    assert read_break_key(told.key) == (shop.first.pk, "BR", HERE - 5 * HOUR, "arrived")
    loss = impact.of_alert(project=shop.id, kind=COLLAPSE, key=told.key, since=told.created_at, until=None)
    assert loss.missed == 18


@pytest.mark.django_db
def test_the_alert_and_the_overview_tell_the_same_share_before_the_break(shop):
    """Of the 14 days before the break, and not of those before the alert, which is some hours later."""
    figures(shop, shop.first, hours=range(14 * 24 + 1, 14 * 24 + 6), accepted=10, lost=10)
    collapses.watch(NOW)
    assert alert().title == "Kestrel in Brazil (BR): 25 % delivered, down from 91 %"
    assert collapses.open_ones([shop.id])[0].before == 91


@pytest.mark.django_db
def test_a_country_that_fails_keeps_no_other_from_being_told(shop, monkeypatch):
    figures(shop, shop.first, hours=range(6, 168), accepted=3, lost=0, verified=3, country="AR")
    figures(shop, shop.first, hours=range(6), accepted=4, lost=3, verified=1, country="AR")
    judge = collapses._collapse_of

    def judge_or_fail(project, provider, country, *rest):
        if country == "AR":
            raise RuntimeError
        return judge(project, provider, country, *rest)

    monkeypatch.setattr(collapses, "_collapse_of", judge_or_fail)
    collapses.watch(NOW)
    assert read_break_key(alert().key).country == "BR"


@pytest.mark.django_db
def test_the_other_provider_that_does_well_there_is_named(shop):
    figures(shop, shop.second, hours=range(6), accepted=5, lost=0, verified=4)
    collapses.watch(NOW)
    assert "Northwind delivered 100 % there in the same time. Send Brazil (BR) through Northwind," in alert().detail


@pytest.mark.django_db
def test_without_another_that_is_known_there_the_alert_says_so(shop):
    collapses.watch(NOW)
    assert "Try Northwind or sms first for Brazil (BR)" in alert().detail


@pytest.mark.django_db
def test_a_few_people_who_try_dead_numbers_again_and_again_are_no_collapse(shop):
    Message.objects.update(recipient=Recipient.objects.first())
    collapses.watch(NOW)
    assert not Alert.objects.exists()


@pytest.mark.django_db
def test_a_test_project_is_not_judged(shop):
    shop.set(is_sandbox=True)
    collapses.watch(NOW)
    assert not Alert.objects.exists()


@pytest.mark.django_db
def test_another_projects_past_says_nothing_of_this_one(shop):
    other = factories.project()
    figures(other, shop.first, hours=range(6), accepted=50, lost=0, verified=50)
    collapses.watch(NOW)
    assert alert().project_id == shop.id


@pytest.mark.django_db
def test_the_end_is_told_once_the_latest_messages_arrive_as_before(shop):
    collapses.watch(NOW)
    figures(shop, shop.first, hours=range(-6, 0), accepted=3, lost=0, verified=3)
    collapses.watch(NOW + 6 * HOUR)
    collapses.watch(NOW + 6 * HOUR)
    assert alert().ended_at == NOW + 6 * HOUR
    assert Alert.objects.get(kind=COLLAPSE_OVER).title == "Kestrel delivers to Brazil (BR) again"
    assert Alert.objects.count() == 2


@pytest.mark.django_db
def test_a_provider_that_is_used_there_no_more_ends_it_without_a_word(shop):
    collapses.watch(NOW)
    collapses.watch(NOW + 2 * DAY)
    assert alert().ended_at and Alert.objects.count() == 1


@pytest.mark.django_db
def test_while_it_lasts_it_stays_open_and_is_read_with_its_present_figures(shop):
    collapses.watch(NOW)
    figures(shop, shop.first, hours=[-1], accepted=8, lost=8)
    collapses.watch(NOW + HOUR)
    assert alert().ended_at is None
    figures(shop, shop.first, hours=[0], accepted=4, lost=4)
    [found] = collapses.open_ones([shop.id])
    assert (found.provider, found.country, found.before) == (shop.first, "BR", 100)
    assert found.since < 25


@pytest.fixture
def lying(project):
    """A provider that reports all messages as delivered, of which hardly any code is entered since eight hours."""
    project.first = project.provider("sms", "Kestrel")
    project.second = project.provider("sms", "Northwind", priority=200)
    figures(project, project.first, hours=range(8, 168), accepted=3, lost=0, verified=3)
    figures(project, project.first, hours=range(8), accepted=3, lost=0, verified=0)
    figures(project, project.second, hours=range(168), accepted=3, lost=0, verified=3, country="DE")
    for number in range(8):
        recipient, _ = Recipient.objects.get_or_create(project=project.row, address=f"+55119876543{number:02}")
        session = a_session(recipient)
        Session.objects.filter(pk=session.pk).update(created_at=NOW - 2 * HOUR)
        made = a_message(recipient, session=session, status="success", error="", provider=project.first)
        Message.objects.filter(pk=made.pk).update(created_at=NOW - 2 * HOUR, sent_at=NOW - 2 * HOUR)
    return project


@pytest.mark.django_db
def test_the_owner_is_told_of_codes_that_are_reported_as_delivered_and_never_entered(lying):
    collapses.watch(NOW)
    collapses.watch(NOW + timedelta(minutes=1))
    told = alert()
    assert told.title == "Kestrel in Brazil (BR): 0 % of users enter their code, down from 100 %"
    assert "even if Kestrel reports them as delivered" in told.detail
    assert read_break_key(told.key) == (lying.first.pk, "BR", HERE - 7 * HOUR, VERIFIED)
    [found] = collapses.open_ones([lying.id])
    assert (found.before, found.since, found.fell) == (100, 0, VERIFIED)


@pytest.mark.django_db
def test_sessions_of_the_present_hour_are_not_judged_yet(lying):
    figures(lying, lying.first, hours=range(1, 8), accepted=3, lost=0, verified=3)
    figures(lying, lying.first, hours=range(1), accepted=30, lost=0, verified=0)
    collapses.watch(NOW)
    assert not Alert.objects.exists()


@pytest.mark.django_db
def test_its_end_is_told_once_users_are_verified_as_before(lying):
    collapses.watch(NOW)
    figures(lying, lying.first, hours=range(-8, -1), accepted=3, lost=0, verified=3)
    collapses.watch(NOW + 9 * HOUR)
    assert alert().ended_at
    assert "of its verified users there is back to what it was before" in Alert.objects.get(kind=COLLAPSE_OVER).detail


@pytest.mark.django_db
def test_once_another_provider_carries_the_country_the_overview_is_silent(shop):
    collapses.watch(NOW)
    assert collapses.open_ones([shop.id])
    rule = rules.set_rule(Proposal(shop.row, shop.second, "BR", 100))
    assert collapses.open_ones([shop.id]) == []
    Provider.objects.filter(pk=shop.second.pk).update(priority=1)
    rules.end_rule(rule)
    assert collapses.open_ones([shop.id]) == [], "the channel's own order asks the other first, too"
