"""One recipient's data: handed out, erased, and no way around a limit."""

import json

import pytest
from django.core.management import CommandError
from django.db import models

from providers.base import ContactShared, HookReply
from tests import clock, factories
from tests.api.calls import WRONG, Api, problem
from tests.commands.running import run, run_json
from verification.core import caching
from verification.models import (
    AuditEntry,
    BotUpdate,
    DeliveryAttempt,
    GuardedSend,
    IdempotentRequest,
    Message,
    Recipient,
    Session,
    Subscription,
    Suppression,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.delivery.receipts import apply_report
from verification.services.maintenance.forgetting import EXPORTED, forget
from verification.services.maintenance.retention import purge, strip
from verification.services.projects.ceilings import set_platform

pytestmark = pytest.mark.django_db

TO, OTHER = "+4915112345678", "+4915112345679"

# The texts of a session that cannot name a person, as we choose them: ids, a tag, a rule of ours.
CHOSEN_BY_US = {"id", "language", "refusal", "link_payload"}
# Whence and by which request it was asked for, which may have been somebody else: erased, but not handed out.
OF_THE_REQUEST = {"subnet", "caller_request"}


@pytest.fixture
def known(api, outbox, project):
    """A verified session, a manual send and a bot of one person, and the same of another."""
    bot = project.provider("messenger_a", name="bot", type="collector_bot")
    for to in (TO, OTHER):
        session_id = api.create(to, type="sms").data["session_id"]
        api.check(session_id, WRONG)
        assert api.check(session_id, outbox.code).status_code == 200
        api.manual_send(to, callback_url="https://shop.example/done", headers={"idempotency-key": to})
        assert outbox.messages
        factories.subscribe(to, bot)


def traces(to=TO):
    """Rows of ours in which the address or an id of theirs stands, as a dump would show them."""
    return Recipient.objects.filter(address=to).count() + Subscription.objects.filter(recipient__address=to).count()


# --- handing out -----------------------------------------------------------------------------------------------------


def test_the_export_holds_everything_of_theirs_but_no_code(known, project, outbox):
    data = json.loads(run("forget", str(project.id), TO, "--export", "-", "--keep"))
    assert (data["project"], data["recipient"]) == (project.row.name, TO)
    sizes = {name: len(rows) for name, rows in data.items() if isinstance(rows, list)}
    assert sizes == {
        "known_as": 1,
        "sessions": 1,
        "messages": 2,
        "attempts": 2,
        "callbacks": 1,
        "events": 0,
        "idempotent_requests": 1,
        "wrong_codes": 1,
        "right_codes": 1,
        "bots": 1,
        "suppressions": 0,
    }
    text = json.dumps(data)
    assert OTHER not in text and "digest" not in text
    assert all(message.code not in text for message in outbox.messages)
    assert traces() == 2


def test_the_export_goes_to_a_file_of_its_owners_alone_and_over_nothing(known, project, tmp_path):
    file = tmp_path / "ada.json"
    run("forget", str(project.id), TO, "--export", str(file), "--keep")
    assert json.loads(file.read_text())["recipient"] == TO
    assert file.stat().st_mode & 0o077 == 0
    with pytest.raises(CommandError, match="Cannot write"):
        run("forget", str(project.id), TO, "--export", str(file))
    assert traces() == 2


# --- erasing ---------------------------------------------------------------------------------------------------------


def test_the_forgotten_leave_no_trace_and_others_stay(known, project):
    counts = run_json("forget", str(project.id), "+49 (151) 1234-5678")
    assert counts["bots"] == 1
    assert (traces(), traces(OTHER)) == (0, 2)
    theirs = Message.objects.filter(recipient__forgotten_at__isnull=False)
    assert not theirs.exclude(provider_message_id=None, callback_url="").exists()
    assert not DeliveryAttempt.objects.filter(message__in=theirs).exclude(provider_message_id=None).exists()
    assert not WebhookEvent.objects.filter(message__in=theirs).exists()
    assert VerifyToken.objects.count() == 1
    assert [request.key for request in IdempotentRequest.objects.all()] == [OTHER]
    clock.forward(clock.DAY + 60)
    purge()
    assert list(Recipient.objects.values_list("address", flat=True)) == [OTHER]
    assert (Session.objects.count(), Message.objects.count()) == (1, 2)


def test_what_the_guard_and_the_alarms_counted_goes_too(known, project):
    forget(project=project.row, to=TO)
    assert set(
        WrongCode.objects.filter(recipient__address__startswith="forgotten:").values_list("network", "guess")
    ) == {("", None)}
    assert set(GuardedSend.objects.values_list("recipient__address", flat=True)) == {OTHER}


def test_what_they_did_in_a_bot_and_no_worker_has_seen_yet_goes_too(known, project):
    for bound in Subscription.objects.select_related("provider"):
        apply_report(bound.provider, HookReply((ContactShared(bound.account_id, TO, is_own=True),)))
    run_json("forget", str(project.id), TO)
    [kept] = BotUpdate.objects.all()
    assert kept.account_id == Subscription.objects.get(recipient__address=OTHER).account_id


def test_who_is_forgotten_after_the_day_leaves_nothing_at_all(known, project):
    clock.forward(2 * clock.DAY)
    assert forget(project=project.row, to=TO)["kept"] == 0
    assert Recipient.objects.count() == 1


@pytest.mark.requirement(38)
def test_a_live_session_and_its_token_end(api, outbox, project):
    live = api.create().data["session_id"]
    verified = api.create("ann@example.com").data["session_id"]
    token = api.check(verified, outbox.code).data["verify_token"]
    forget(project=project.row, to=TO)
    forget(project=project.row, to="ann@example.com")
    assert problem(api.check(live, WRONG)) == (410, "session_expired")
    assert problem(api.verify(token)) == (404, "verify_token_not_found")


def test_what_is_under_way_to_them_is_not_sent(api, outbox, project):
    api.create()
    api.manual_send(callback_url="https://shop.example/done")
    forget(project=project.row, to=TO)
    assert outbox.messages == []
    assert not WebhookEvent.objects.exists()


def test_erasing_is_no_way_around_the_limit_of_sends(api, outbox, project):
    project.set(sends_per_day=2, sends_per_hour=0, sends_per_10_minutes=0)
    for _ in range(2):
        assert api.manual_send().status_code == 200
        assert outbox.messages
    forget(project=project.row, to=TO)
    assert problem(api.manual_send()) == (429, "too_many_sends")
    assert traces() == 1  # they came back by themselves


def test_erasing_is_no_way_around_the_limit_of_wrong_codes(api, outbox, project):
    project.set(wrong_codes_per_day=5, wrong_codes_per_15_minutes=0)
    session_id = api.create().data["session_id"]
    for _ in range(5):
        api.check(session_id, WRONG)
    forget(project=project.row, to=TO)
    assert WrongCode.objects.count() == 5
    assert problem(api.create()) == (429, "too_many_attempts")


@pytest.mark.requirement(50)
def test_erasing_in_one_project_lifts_no_limit_of_all_projects(api, outbox, project):
    """Whoever helps users of one project could otherwise open a third person's number to all others."""
    other = factories.project(channels=("sms",))
    for each in (project, other):
        each.set(sends_per_10_minutes=0, sends_per_hour=0, sends_per_day=0, traffic_guard="off")
    set_platform({"sms_per_recipient_a_day": "5"})
    caching.clear_all()
    theirs = Api(api.client, other.api_key, other.secret_key)
    sent = [each.manual_send(TO).status_code for each in (api, api, api, theirs, theirs, theirs)]
    assert (sent, len(outbox.messages)) == ([200] * 5 + [429], 5)
    forget(project=project.row, to=TO)
    assert problem(theirs.manual_send(TO)) == (429, "too_many_sends")
    assert problem(theirs.create(TO)) == (429, "too_many_sends")
    forget(project=other.row, to=TO)
    assert problem(api.manual_send(TO)) == (429, "too_many_sends")
    third = factories.project(channels=("sms",))
    assert problem(Api(api.client, third.api_key, third.secret_key).manual_send(TO)) == (429, "too_many_sends")
    assert theirs.manual_send(OTHER).status_code == 200
    clock.forward(clock.DAY + 60)
    assert theirs.manual_send(TO).status_code == 200


def test_the_hash_of_all_projects_goes_with_the_day_and_with_their_return(api, outbox, project):
    for to in (TO, OTHER):
        api.manual_send(to)
        assert outbox.messages
        forget(project=project.row, to=to)
    hashes = set(Recipient.objects.values_list("erased_hash", flat=True))
    assert len(hashes) == 2 and None not in hashes
    Suppression.objects.create(project=project.row, recipient=Recipient.objects.first(), channel="sms", reason="STOP")
    api.manual_send(OTHER)
    assert Recipient.objects.get(address=OTHER).erased_hash is None
    clock.forward(clock.DAY + 60)
    purge()
    assert Suppression.objects.exists()
    assert set(Recipient.objects.values_list("erased_hash", flat=True)) == {None}


def test_after_the_day_they_are_strangers(api, outbox, project):
    project.set(sends_per_day=1)
    api.manual_send()
    assert outbox.messages
    forget(project=project.row, to=TO)
    clock.forward(clock.DAY + 60)
    purge()
    assert Recipient.objects.count() == 0
    assert api.manual_send().status_code == 200


def test_an_opt_out_outlives_them_as_a_hash(api, outbox, project, known):
    recipient = Recipient.objects.get(address=TO)
    Suppression.objects.create(project=project.row, recipient=recipient, channel="sms", reason="STOP")
    forget(project=project.row, to=TO)
    clock.forward(2 * clock.DAY)
    purge()
    assert (traces(), Suppression.objects.count()) == (0, 1)
    assert api.manual_send().status_code == 403


def test_rows_under_the_persons_hash_go_too(api, outbox, project):
    project.set(retention_mode="hash")
    api.manual_send()
    assert outbox.messages
    clock.forward(31 * clock.DAY)
    purge()
    assert Message.objects.count() == 1
    assert forget(project=project.row, to=TO)["messages"] == 1
    assert not Message.objects.exists() and not Recipient.objects.exists()


def test_the_same_person_in_another_project_is_left_alone(api, outbox, project):
    other = factories.project()
    Api(api.client, other.api_key, other.secret_key).create(TO)
    api.create(TO)
    forget(project=project.row, to=TO)
    assert list(Recipient.objects.filter(address=TO).values_list("project", flat=True)) == [other.id]


@pytest.mark.parametrize(("to", "words"), [(OTHER, "stores nothing about"), ("nobody", "number|address")])
def test_who_is_unknown_cannot_be_forgotten(api, project, to, words):
    with pytest.raises(CommandError, match=words):
        run("forget", str(project.id), to)


def test_it_is_on_record_without_the_address(known, project):
    forget(project=project.row, to=TO)
    entry = AuditEntry.objects.filter(project=project.row).latest("pk")
    assert entry.action == "Forgot a recipient"
    assert TO not in str(vars(entry))


# --- columns that come later -----------------------------------------------------------------------------------------


def test_each_text_of_a_session_that_a_caller_chooses_is_erased_and_handed_out(api, outbox):
    columns = (
        field for field in Session._meta.concrete_fields if isinstance(field, (models.CharField, models.TextField))
    )
    texts = {field.name for field in columns if not field.choices} - CHOSEN_BY_US
    session = Session.objects.get(pk=api.create(TO).data["session_id"])
    Session.objects.filter(pk=session.pk).update(**dict.fromkeys(texts, "Ann Canary"))
    strip([], [session.pk])
    assert Session.objects.filter(pk=session.pk).values(*texts).get() == dict.fromkeys(texts, "")
    assert texts - OF_THE_REQUEST <= set(EXPORTED["sessions"][2])
