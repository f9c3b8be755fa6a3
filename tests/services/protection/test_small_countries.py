"""The guard where there are few sends: a country's day, a new project's first week, and networks of many countries."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import clock
from tests.api.calls import problem
from tests.services.protection.test_guard import running, send_to_country, verify
from verification.core import caching
from verification.models import Alert, Decision, GuardBlock, GuardedSend, Project, Recipient
from verification.services.projects.snapshot import load_project
from verification.services.protection.guard import findings

pytestmark = pytest.mark.django_db

REFUSED = (403, "recipient_not_allowed")
GERMAN = "+4915112345678"
FOUR_COUNTRIES = (GERMAN, "+33612345678", "+436641234567", "+46701234567")
A_FIFTH = "+48501234567"
STRANGE, OTHER = "198.51.100.7", "203.0.113.9"  # client addresses of the internet


@pytest.fixture
def old(project):
    """A project that is over its first week."""
    Project.objects.filter(pk=project.id).update(created_at=timezone.now() - timedelta(days=8))
    project.row.refresh_from_db()
    caching.clear_all()
    return project


@pytest.fixture
def ask(api):
    """A function that asks for an SMS from a client address."""

    def asked(to, address=STRANGE):
        body = {"to": to, "type": "sms"}
        return api.call("POST", "/session/create", body, key=api.api_key, REMOTE_ADDR=address)

    return asked


# --- the day of a country --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unverified", "verified", "found"),
    [(21, 0, True), (20, 0, False), (24, 6, False), (25, 6, True)],
)
def test_a_country_is_refused_by_its_day_where_no_hour_has_enough(old, unverified, verified, found):
    for hours in range(unverified):
        send_to_country(old, 1, 0, age=600 + 3600 * hours * 20 // unverified)
    send_to_country(old, verified, verified, age=7200)
    findings.sweep()
    assert running() == ({("conversion", "DE")} if found else set())


def test_the_finding_of_a_day_tells_its_figures(old):
    send_to_country(old, 25, 1, age=7200)
    findings.sweep()
    figures = GuardBlock.objects.get().figures
    assert figures == {"sends": 25, "verified": 1, "percent": 4, "limit": 20, "minutes": 1440}
    assert "1 of 25 SMS and calls in 24 hours were verified" in Alert.objects.get().detail


def test_what_is_older_than_a_day_or_was_counted_before_does_not_count(old):
    send_to_country(old, 40, 0, age=86_500)
    findings.sweep()
    assert running() == set()
    clock.forward(61)
    send_to_country(old, 21, 0, age=7200)
    findings.sweep()
    findings.lift(GuardBlock.objects.get())
    clock.forward(61)
    findings.sweep()
    assert running() == set()


def test_the_day_is_judged_once_a_minute_and_0_switches_it_off(old):
    findings.sweep()
    send_to_country(old, 21, 0, age=7200)
    findings.sweep()
    assert running() == set()
    clock.forward(61)
    old.set(guard_country_day=0)
    findings.sweep()
    assert running() == set()
    old.set(guard_country_day=20)
    clock.forward(61)
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_a_send_is_judged_once_its_session_is_over_and_not_before(old):
    """With the usual life of a session these are 180 seconds; a project whose sessions live longer is judged later."""
    send_to_country(old, 30, 0, age=200, life=600)
    findings.sweep()
    assert running() == set()
    clock.forward(401)
    findings.sweep()
    assert running() == {("conversion", "DE")}


# --- the first week --------------------------------------------------------------------------------------------------


def test_a_new_projects_countries_are_only_observed(api, project):
    send_to_country(project, 40, 0)
    findings.sweep()
    assert api.create(GERMAN).status_code == 200
    finding, noted = GuardBlock.objects.get(), Decision.objects.get()
    assert finding.refused == 1 and (noted.rule, noted.refused) == ("conversion", 0)
    assert not findings.refuses(finding)
    assert Alert.objects.get().title.startswith("The project is new, so the traffic guard does not block")


def test_after_its_first_week_they_are_refused(api, old):
    send_to_country(old, 40, 0)
    findings.sweep()
    assert problem(api.create(GERMAN)) == REFUSED
    assert findings.refuses(GuardBlock.objects.get())


def test_prefixes_are_refused_from_the_first_day_also_in_a_country_that_is_observed(api, project):
    send_to_country(project, 40, 0)
    findings.sweep()
    answers = [api.create(f"+49151555{n:05}").status_code for n in range(12)]
    assert answers == [200] * 10 + [403] * 2


def test_an_owner_sets_the_days_and_a_project_knows_their_end(project):
    assert load_project(project.id).guard.observes_countries
    end = project.row.created_at + timedelta(days=7)
    assert Project.objects.get(pk=project.id).countries_observed_until == end
    project.set(guard_country_observe_days=0)
    assert not load_project(project.id).guard.observes_countries
    assert project.row.countries_observed_until is None


# --- a network of many countries -------------------------------------------------------------------------------------


def test_a_network_that_asks_for_a_fourth_country_and_verifies_nothing_is_refused(ask, project):
    assert [ask(to).status_code for to in FOUR_COUNTRIES] == [200, 200, 200, 403]
    finding = GuardBlock.objects.get()
    assert (finding.rule, finding.subject, finding.refused) == ("network_countries", STRANGE, 1)
    assert finding.figures == {"sends": 4, "countries": 4, "verified": 0, "limit": 3}
    assert problem(ask("+4915112340000")) == REFUSED  # its countries of before are refused to it, too
    assert ask(A_FIFTH, OTHER).status_code == 200


def test_the_owner_reads_which_network_and_why(ask, project):
    for to in FOUR_COUNTRIES:
        ask(to)
    findings.sweep()
    noted, alert = Decision.objects.get(), Alert.objects.get()
    assert (noted.rule, noted.subject, noted.refused) == ("network_countries", STRANGE, 1)
    assert alert.title == f"SMS and calls requested by {STRANGE} are refused"
    assert (
        "One client network caused 4 SMS and calls to 4 countries within a day, of which 0 were verified"
        in alert.detail
    )


def test_a_network_whose_people_get_in_may_ask_for_any_number_of_countries(ask, api, outbox):
    session = ask(GERMAN).data["session_id"]
    api.verify(api.check(session, outbox.code).data["verify_token"])
    assert [ask(to).status_code for to in FOUR_COUNTRIES[1:]] == [200] * 3
    assert GuardedSend.objects.filter(network=STRANGE).count() == 4
    assert ask(A_FIFTH).status_code == 200  # of 5 sends, one verified is just enough
    assert problem(ask("+351912345678")) == REFUSED


def test_several_numbers_of_three_countries_are_no_reason(ask):
    for n in range(3):
        assert [ask(f"{to[:-1]}{n}").status_code for to in FOUR_COUNTRIES[:3]] == [200] * 3
    assert not GuardBlock.objects.exists()


def test_countries_of_yesterday_are_forgotten(ask):
    assert [ask(to).status_code for to in FOUR_COUNTRIES[:3]] == [200] * 3
    clock.forward(clock.DAY + 1)
    assert ask(A_FIFTH).status_code == 200


def test_after_the_end_of_the_finding_counting_starts_anew(ask):
    for to in FOUR_COUNTRIES:
        ask(to)
    findings.lift(GuardBlock.objects.get())
    assert [ask(to).status_code for to in (A_FIFTH, "+351912345678", "+31612345678", "+32470123456")] == [200] * 3 + [
        403
    ]


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", OTHER])
def test_a_back_end_of_many_users_is_no_network(ask, project, address):
    project.set(server_addresses=[OTHER])
    assert [ask(to, address).status_code for to in FOUR_COUNTRIES] == [200] * 4
    assert not GuardedSend.objects.exclude(network="").exists()


def test_a_refused_network_learns_of_no_number_whether_it_is_known(ask, project):
    for to in FOUR_COUNTRIES:
        ask(to)
    now = timezone.now()
    Recipient.objects.create(project=project.row, address=A_FIFTH, known_at=now, known_since=now)
    assert problem(ask(A_FIFTH)) == REFUSED


def test_observing_notes_the_network_and_refuses_nothing(ask, project):
    project.set(traffic_guard="observe")
    assert [ask(to).status_code for to in (*FOUR_COUNTRIES, A_FIFTH)] == [200] * 5
    assert GuardBlock.objects.get().refused == 2


def test_0_lets_a_network_ask_for_any_number_of_countries(ask, project):
    project.set(guard_network_countries=0)
    assert [ask(to).status_code for to in (*FOUR_COUNTRIES, A_FIFTH)] == [200] * 5


def test_an_owner_of_many_countries_is_verified_as_before(api, outbox):
    assert [verify(api, outbox, to).status_code for to in FOUR_COUNTRIES] == [200] * 4
