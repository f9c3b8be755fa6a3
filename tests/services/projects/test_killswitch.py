"""The operator's decisions for all projects: kill switches, ceilings, a limit on SMS to one number, budget alerts."""

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests import factories
from tests.api.calls import problem
from tests.commands.running import run, run_json
from verification.core import caching
from verification.core.errors import UserError
from verification.models import (
    Alert,
    AuditEntry,
    Channel,
    DailySpend,
    Decision,
    ListEntry,
    Message,
    Platform,
    Provider,
    Recipient,
)
from verification.services.delivery import dispatch, sweep
from verification.services.projects import ceilings as platform
from verification.services.projects import kill_switch, lists, projects

pytestmark = pytest.mark.django_db
PHONE = "+4915112345678"


def stop(name, **fields):
    kill_switch.stop(name, **fields)
    caching.clear_all()


def resume(name):
    kill_switch.resume(name)
    caching.clear_all()


def deliver():
    for message in dispatch.claim_due(limit=10, idle_seconds=0):
        dispatch.deliver_claimed(message)


# --- kill switches -----------------------------------------------------------------------------------------------


@pytest.mark.requirement(57)
def test_all_sending_stops_and_checking_goes_on(api, project, outbox):
    session_id = api.create(PHONE).data["session_id"]
    code = outbox.last.code
    stop("all")
    for answer in (api.create("+4915112345679"), api.send(session_id, "voice"), api.manual_send("+4915112345679")):
        assert problem(answer) == (503, "service_unavailable")
        assert answer.headers["Retry-After"] == "60"
    assert Message.objects.count() == 1
    assert api.create("+4915112345679", send=False).status_code == 200
    assert api.check(session_id, code).status_code == 200
    assert Decision.objects.get().rule == "kill_switch"
    resume("all")
    assert api.manual_send("+4915112345670").status_code == 200


def test_a_stopped_channel_is_as_if_no_project_had_it(api, project):
    stop("sms")
    assert api.create(PHONE).data["sent_to"] == "voice"
    assert problem(api.create(PHONE, type="sms")) == (409, "channel_not_available")
    assert "sms" not in [channel["type"] for channel in api.channels().data]


@pytest.mark.parametrize("name", ["all", "sms", "country:DE"])
def test_what_was_queued_before_is_not_sent(api, project, outbox, name):
    message_id = api.manual_send(PHONE).data["message_id"]
    stop(name)
    deliver()
    message = Message.objects.get(pk=message_id)
    assert (message.status, message.is_counted) == ("failed", False)
    assert message.error in (
        "Sending is stopped for now.",
        "The channel is switched off.",
        "Nothing can be sent to this recipient.",
    )
    assert not outbox.messages


@pytest.mark.requirement(15)
def test_what_the_owner_switches_off_is_not_sent_either(api, project, outbox):
    api.manual_send(PHONE)
    project.channel("sms", is_active=False)
    deliver()
    assert Message.objects.get().error == "The channel is switched off."
    assert not outbox.messages


@pytest.mark.requirement(57)
def test_countries_projects_and_providers_have_switches_too(api, project):
    stop("country:de", reason="Pumping.")
    assert api.create(PHONE).status_code == 403
    assert ListEntry.objects.get().note == "Pumping."
    stop(f"project:{project.row.name}")
    assert api.create(PHONE).status_code == 401
    assert [each.name for each in kill_switch.stopped()] == ["country:DE", f"project:{project.id}"]
    resume(f"project:{project.id}")
    resume("country:DE")
    assert api.create(PHONE).status_code == 200


def test_a_projects_own_provider_can_be_stopped_and_is_listed_with_its_project(api, project):
    provider = Provider.objects.get(name="sms first")
    name = f"provider:{provider.pk}"
    shown = run("killswitch", "stop", name, "--reason", "It leaks.")
    assert name in shown and f"Provider sms first of {project.row.name}, sms" in shown
    assert not Provider.objects.get(pk=provider.pk).is_enabled
    [line] = AuditEntry.objects.filter(action="stopped: It leaks.")
    assert (line.project_id, line.object_id) == (project.id, str(provider.pk))
    assert name not in run("killswitch", "resume", name)


@pytest.mark.parametrize("name", ["pigeons", "country:XX", "project:nobody", "provider:0", "provider:x"])
def test_a_name_that_stands_for_nothing_is_refused(name):
    for act in (kill_switch.stop, kill_switch.resume):
        with pytest.raises(UserError):
            act(name)


def test_the_command_stops_shows_and_resumes(db):
    assert run_json("killswitch", "stop", "sms", "--reason", "A leak.")["stopped"] == [
        {"name": "sms", "title": "SMS", "reason": "A leak."}
    ]
    assert "A leak." in run("killswitch")
    assert run_json("killswitch", "resume", "sms") == {"stopped": []}
    with pytest.raises(CommandError, match="sms is not stopped"):
        run("killswitch", "resume", "sms")


@pytest.mark.requirement(57)
def test_every_stop_is_on_record_with_its_reason(project):
    names = ("all", "sms", "country:DE", f"project:{project.id}", f"provider:{Provider.objects.first().pk}")
    for name in names:
        kill_switch.stop(name, reason=f"Because of {name}.")
    told = " ".join(f"{entry.action} {entry.changes}" for entry in AuditEntry.objects.all())
    assert [name for name in names if f"Because of {name}." not in told] == []


# --- ceilings ----------------------------------------------------------------------------------------------------


def ceilings(**values):
    platform.set_platform({name: str(value) for name, value in values.items()})
    caching.clear_all()


@pytest.mark.parametrize("limit, ceiling, holds", [(5, 0, 5), (5, 3, 3), (3, 5, 3), (0, 5, 5), (0, 0, 0)])
def test_the_lower_of_limit_and_ceiling_holds(limit, ceiling, holds):
    assert platform.bounded(limit, ceiling) == holds


def test_ceilings_hold_whatever_was_set_before(api, project):
    ceilings(max_sends_per_day=1)
    assert [api.manual_send(PHONE).status_code for _ in range(2)] == [200, 429]


def test_an_owners_safe_list_lifts_no_ceiling(api, project):
    ceilings(max_sends_per_day=1)
    lists.add_entry(project=project.row, kind="safe", subject="prefix", value="+4")
    caching.clear_all()
    assert api.manual_send(PHONE).status_code == 200
    assert problem(api.manual_send(PHONE)) == (429, "too_many_sends")


def test_a_channel_without_a_budget_goes_by_the_ceiling(api, project):
    ceilings(max_daily_budget=1)
    numbers = ("+4915112345678", "+4915112345679")
    assert [api.manual_send(number).status_code for number in numbers] == [200, 429]
    decision = Decision.objects.get()
    assert (decision.rule, decision.subject, decision.figures) == ("daily_budget", "sms", {"budget": 1})


@pytest.mark.requirement(83)
@pytest.mark.parametrize("value", ["11", "0"])
def test_an_owner_cannot_set_more_than_the_ceiling(project, value):
    ceilings(max_requests_per_second=10)
    with pytest.raises(UserError, match="requests_per_second: The operator allows at most 10"):
        projects.set_project(project=project.row, values={"requests_per_second": value})
    projects.set_project(project=project.row, values={"requests_per_second": "10", "code_length": "4"})


def test_the_command_sets_and_shows_ceilings(db):
    assert run_json("setplatform", "max_daily_budget=500")["max_daily_budget"] == 500
    assert run_json("setplatform")["max_daily_budget"] == 500
    with pytest.raises(CommandError, match="^max_daily_budget: Ensure this value is less than or equal to"):
        run("setplatform", f"max_daily_budget={2**40}")
    assert Platform.objects.count() == 1
    with pytest.raises(UserError):
        platform.set_platform({"colour": "1"})


# --- all projects together ---------------------------------------------------------------------------------------


@pytest.mark.requirement(50)
def test_a_number_gets_so_many_sms_a_day_from_all_projects_together(api, project):
    other = factories.project(channels=("sms", "voice"))
    ceilings(sms_per_recipient_a_day=2)
    keys = api.secret_key, other.secret_key
    answers = []
    for key in (keys[0], keys[1], keys[0]):
        api.secret_key = key
        answers.append(api.manual_send(PHONE))
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[2]) == (429, "too_many_sends")
    assert answers[2].data["detail"] == "Too many codes were sent to this recipient."
    assert Decision.objects.get().rule == "platform_recipient_limit"
    assert api.manual_send(PHONE, "voice").status_code == 200
    assert api.manual_send("+4915112345679").status_code == 200


def test_a_project_that_is_alone_goes_by_its_own_limits(api, project):
    ceilings(sms_per_recipient_a_day=2)
    assert [api.manual_send(PHONE).status_code for _ in range(4)] == [200] * 4


# --- the budget of the day ---------------------------------------------------------------------------------------


def alerted():
    return list(Alert.objects.order_by("pk").values_list("title", flat=True))


@pytest.mark.requirement(54)
def test_the_owner_is_alerted_once_at_each_part_of_a_budget(api, project):
    project.set(sends_per_10_minutes=0, sends_per_hour=0, sends_per_day=0, traffic_guard="off")
    project.channel("sms", daily_budget=10)
    seen = {}
    for number in range(1, 11):
        assert api.manual_send(PHONE).status_code == 200
        sweep.raise_budget_alerts()
        sweep.raise_budget_alerts()
        seen[number] = len(alerted())
    assert seen == {1: 0, 2: 0, 3: 0, 4: 0, 5: 1, 6: 1, 7: 1, 8: 2, 9: 2, 10: 3}
    assert alerted()[2] == "SMS: 100 % of today's message limit used"


def test_the_budget_that_nobody_set_alerts_at_80_percent_and_none_without_a_limit(api, project):
    today = timezone.now().date()
    DailySpend.objects.create(project=project.row, channel="sms", day=today, messages=800)
    DailySpend.objects.create(project=project.row, channel="email", day=today, messages=800)
    assert sweep.raise_budget_alerts() == 2
    assert alerted()[1] == "SMS: 80 % of today's message limit used"
    project.channel("voice", daily_budget=0)
    DailySpend.objects.create(project=project.row, channel="voice", day=today, messages=9_000)
    assert sweep.raise_budget_alerts() == 0


def test_under_a_ceiling_nobody_switches_their_budget_off(db):
    ceilings(max_daily_budget=500)
    with pytest.raises(UserError, match="at most 500"):
        platform.require_budget_below_ceiling(0)


def test_a_lowered_budget_alerts_too(api, project):
    project.channel("sms", daily_budget=100)
    api.manual_send(PHONE)
    Channel.objects.filter(type="sms").update(daily_budget=1)
    assert sweep.raise_budget_alerts() == 3


def use_up(project):
    project.channel("sms", daily_budget=1)
    DailySpend.objects.create(project=project.row, channel="sms", day=timezone.now().date(), messages=1)


@pytest.mark.parametrize("call", ["create", "manual_send"])
def test_a_refused_send_leaves_no_recipient_behind(api, project, call):
    use_up(project)
    answer = getattr(api, call)(PHONE) if call == "manual_send" else api.create(PHONE, type="sms")
    assert problem(answer) == (429, "rate_limited")
    assert not Recipient.objects.exists()


def test_a_refused_send_leaves_a_recipient_that_was_known(api, project):
    api.create(PHONE, type="voice")
    use_up(project)
    assert api.manual_send(PHONE).status_code == 429
    assert Recipient.objects.count() == 1
