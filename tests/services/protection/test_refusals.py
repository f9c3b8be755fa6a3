"""A refused request counts as one refusal wherever an owner reads of it."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now, TruncHour
from django.test import override_settings
from django.utils import timezone

from tests import clock
from verification.admin.dashboard.day import figures_of_day
from verification.core import caching
from verification.models import Decision, GuardBlock, GuardRule, Project
from verification.services.analytics import rollups
from verification.services.protection.guard import conversion, findings

pytestmark = pytest.mark.django_db

TUNISIA = "+2162012"


def pump(api, count, *, start=0, prefix=TUNISIA, **body):
    return [api.create(f"{prefix}{start + n:04d}", **body).status_code for n in range(count)]


def overview(project):
    """The refusals of the day as the overview tells them, in all and by rule."""
    rollups.count_due()
    figures = figures_of_day(Project.objects.filter(pk=project.id), [project.id])
    [refused] = (int(tile.value) for tile in figures.tiles if tile.title == "Refused requests")
    return refused, {line.rule: line.times for line in figures.refusals}


def refused_by_country(project):
    return {line.subject: line.refused for line in conversion.by_country([project.id], hours=24)}


def test_each_request_that_the_prefix_rule_refuses_is_one(api, project):
    assert pump(api, 25, type="sms") == [200] * 10 + [403] * 15
    findings.sweep()
    assert overview(project) == (15, {"prefix": 15})
    assert refused_by_country(project) == {"TN": 15}
    noted = Decision.objects.get()
    assert (noted.subject, noted.count, noted.refused) == (f"{TUNISIA}…", 15, 15)
    assert noted.figures == {"numbers": 11, "limit": 10, "minutes": 10}


def test_blocks_of_several_prefixes_add_up(api, project):
    pump(api, 13, type="sms")
    pump(api, 12, type="sms", prefix="+2162013")
    assert overview(project) == (5, {"prefix": 5})
    assert refused_by_country(project) == {"TN": 5}


def test_a_second_block_of_a_prefix_keeps_what_the_first_refused(api, project):
    pump(api, 12, type="sms")
    clock.forward(31 * clock.MINUTE)
    pump(api, 13, start=20, type="sms")
    assert refused_by_country(project) == {"TN": 5}


def test_past_so_many_prefixes_an_hour_countries_are_still_told_apart(project, api):
    Decision.objects.bulk_create(
        Decision(project=project.row, rule="prefix", subject=f"+{n}…", country="TN", hour=TruncHour(Now()))
        for n in range(200)
    )
    pump(api, 12, type="sms")
    pump(api, 11, type="sms", prefix="+491511234")
    assert refused_by_country(project) == {"TN": 2, "DE": 1}


def test_what_a_country_is_refused_is_counted_too(api, project):
    project.set(guard_country_observe_days=0)
    GuardBlock.objects.create(
        project=project.row,
        rule=GuardRule.CONVERSION,
        subject="TN",
        level=1,
        since=timezone.now(),
        until=timezone.now() + timedelta(minutes=30),
        figures={},
    )
    pump(api, 3, type="sms")
    assert overview(project) == (3, {"conversion": 3})
    assert refused_by_country(project) == {"TN": 3}


def test_what_is_only_observed_is_no_refusal(api, project):
    project.set(traffic_guard="observe")
    pump(api, 13, type="sms")
    findings.sweep()
    assert overview(project) == (0, {})
    assert (Decision.objects.get().count, Decision.objects.get().refused) == (3, 0)


def test_what_goes_over_another_channel_is_no_refusal(api, project):
    project.provider("messenger_b", name="whatsapp")
    pump(api, 10, type="sms")
    assert pump(api, 2, start=10) == [200, 200]
    assert overview(project) == (0, {})


def test_a_check_from_a_network_that_guesses_is_one(api, project):
    project.set(guess_network_recipients=1)
    with override_settings(TRUSTED_PROXIES=1):
        headers = {"x-forwarded-for": "81.2.69.9", "x-api-key": api.api_key}
        for n in range(5):
            body = {"session_id": api.create(f"user{n}@example.com").data["session_id"], "code": f"wrong{n}"}
            api.call("POST", "/session/check", body, headers=headers)
            findings.sweep()
            caching.clear_all()
    assert overview(project) == (2, {"network_refused": 2})


def test_an_alarm_that_refuses_nothing_is_none(api, project):
    project.set(guess_wrong_checks=1)
    session_id = api.create("ada@example.com").data["session_id"]
    api.check(session_id, "wrong1")
    api.check(session_id, "wrong2")
    findings.sweep()
    assert Decision.objects.get().rule == "wrong_codes"
    assert overview(project) == (0, {})
