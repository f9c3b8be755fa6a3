"""Providers' reports: receipts, suppression, and who may report."""

import json
from datetime import timedelta
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.utils import timezone

from providers.base import HookReply, Outcome, Receipt, ReceiptStatus, ReportsEnded, Result
from providers.errors import HookUnreadable
from tests import factories
from tests.core.test_bulkhead import waiting
from verification import sql
from verification.core import bulkhead
from verification.core.bulkhead import BulkheadFull
from verification.models import Alert, DeliveryAttempt, Message, NoAccount, Provider, Suppression, WebhookEvent
from verification.services.delivery import dispatch, receipts, round
from verification.services.delivery.record import Attempt, await_receipt
from verification.services.providers.accounts import hook_secret_of, hook_url, store_settings

pytestmark = pytest.mark.django_db

MIB_3 = 3 * 1024 * 1024  # bytes


@pytest.fixture
def provider(project):
    return Provider.objects.get(name="sms first")


def report(client, provider, *, secret=None, signature="right", **receipt):
    """A receipt as the collector's vendor would send it."""
    return client.post(
        f"/hooks/{provider.uuid}/{secret or hook_secret_of(provider)}",
        json.dumps(receipt),
        content_type="application/json",
        headers={"x-signature": signature},
    )


@pytest.fixture
def sent(api, outbox):
    """A manual send that awaits its receipt, known to the provider as id-1."""
    outbox.answer("sms first", Result.accepted("id-1"))
    message_id = api.manual_send(callback_url="https://shop.example/hook").data["message_id"]
    assert outbox.messages
    return Message.objects.get(pk=message_id)


def status(message):
    message.refresh_from_db()
    return message.status


def test_a_receipt_moves_the_message_forward(client, provider, sent):
    assert status(sent) == "sent"
    assert report(client, provider, id="id-1", status="success").status_code == 200
    assert status(sent) == "success"


def test_it_goes_by_our_own_id_where_the_provider_gave_none(api, client, outbox, provider):
    outbox.answer("sms first", Result.accepted())
    message = Message.objects.get(pk=api.manual_send().data["message_id"])
    assert outbox.messages
    report(client, provider, message_id=message.pk, status="failed", error="No such subscriber.")
    assert status(message) == "failed"
    assert message.error == "No such subscriber."


def test_our_own_id_beside_a_strange_one_of_the_provider_means_another_installation(client, provider, sent):
    report(client, provider, id="id-of-theirs", message_id=sent.pk, status="failed")
    assert status(sent) == "sent"


@pytest.mark.requirement(70)
def test_a_final_status_never_changes_again(client, provider, sent):
    report(client, provider, id="id-1", status="success")
    finished_at = Message.objects.get(pk=sent.pk).finished_at
    for later in ("sent", "failed", "expired", "success"):
        assert report(client, provider, id="id-1", status=later).status_code == 200
    assert status(sent) == "success"
    assert sent.finished_at == finished_at


@pytest.mark.requirement(70)
def test_the_same_receipt_twice_makes_one_callback(client, provider, sent):
    for _ in range(2):
        report(client, provider, id="id-1", status="success")
    assert WebhookEvent.objects.get().message_id == sent.pk


@pytest.fixture
def under_way(api, outbox):
    """A message that a worker has just given to a provider, and not yet noted: its row as the worker has it."""
    api.manual_send(to="+4915112345679")
    [claimed] = dispatch.claim_due(limit=1, idle_seconds=0)
    return claimed


@pytest.mark.requirement(69)
@pytest.mark.django_db(transaction=True)
def test_a_receipt_that_waits_for_our_own_note_is_in_a_bulkhead(provider, under_way, monkeypatch):
    monkeypatch.setattr(bulkhead, "_threads", 1)
    with waiting(provider.project_id), pytest.raises(BulkheadFull):
        receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "id-unknown")])


def test_a_receipt_for_a_stranger_waits_for_nothing_that_is_not_under_way(client, provider, sent, monkeypatch):
    monkeypatch.setattr(receipts.time, "sleep", lambda _: pytest.fail("it waited"))
    assert report(client, provider, id="id-unknown", status="success").status_code == 200


def test_a_receipt_that_overtakes_our_own_note_is_not_lost(client, provider, under_way, monkeypatch):
    def note(_):
        given = {"provider": provider.pk, "provider_name": provider.name, "provider_message_id": "id-2"}
        told = {"outcome": "accepted", "provider_status": "", "attempt_error": "", "latency_ms": 100}
        await_receipt(under_way, for_seconds=600, attempt=Attempt(**given, **told))

    monkeypatch.setattr(receipts.time, "sleep", note)
    report(client, provider, id="id-2", status="success")
    assert Message.objects.get(pk=under_way.id).status == "success"


@pytest.fixture
def unanswered(api, outbox, project, provider):
    """A manual send that this provider may have taken, and of which the next one was asked."""
    project.provider("sms", "sms second", priority=200)
    outbox.answer("sms first", Result(Outcome.UNKNOWN))

    def send(answer):
        outbox.answer("sms second", answer)
        message = Message.objects.get(pk=api.manual_send().data["message_id"])
        assert dispatch.deliver(message.pk)
        return message

    return send


@pytest.mark.parametrize("answer", [Result.accepted("id-2"), Result(Outcome.UNKNOWN), Result(Outcome.TEMPORARY)])
def test_what_one_provider_could_not_deliver_may_still_come_from_another(client, provider, unanswered, answer):
    message = unanswered(answer)
    before = status(message)
    report(client, provider, message_id=message.pk, status="failed", error="No such subscriber.")
    assert (status(message), message.error) == (before, None)
    report(client, provider, message_id=message.pk, status="success")
    assert status(message) == "success"


def failed(client, provider, message, **identity):
    report(client, provider, **(identity or {"message_id": message.pk}), status="failed", error="No such subscriber.")


def test_what_the_last_of_all_who_have_it_could_not_deliver_has_failed(client, provider, project, unanswered):
    message = unanswered(Result.accepted("id-2"))
    second = project.row.providers.get(name="sms second")
    failed(client, provider, message)
    assert status(message) == "sent"
    failed(client, second, message, id="id-2")
    assert (status(message), message.error) == ("failed", "No such subscriber.")


def test_two_that_have_it_may_report_their_failures_in_any_order(client, provider, project, unanswered):
    message = unanswered(Result.accepted("id-2"))
    second = project.row.providers.get(name="sms second")
    failed(client, second, message, id="id-2")
    failed(client, second, message, id="id-2")
    assert status(message) == "sent"
    failed(client, provider, message)
    assert status(message) == "failed"


def test_a_failure_while_the_next_one_is_asked_counts_once_nobody_took_it(client, outbox, provider, unanswered):
    """The message would else wait ten minutes for a receipt that nobody is left to send."""
    message = unanswered(Result(Outcome.TEMPORARY))
    failed(client, provider, message)
    assert status(message) == "sending"
    outbox.answer("sms second", Result(Outcome.TEMPORARY))
    Message.objects.update(expires_at=timezone.now() + timedelta(seconds=1), due_at=timezone.now())
    assert dispatch.deliver(message.pk)
    assert (status(message), message.error) == ("failed", "The provider could not deliver it.")
    assert WebhookEvent.objects.count() == 0


def test_a_failure_while_the_next_one_is_asked_ends_nothing_that_the_next_one_takes(
    api, client, outbox, project, provider, monkeypatch
):
    project.provider("sms", "sms second", priority=200)
    outbox.answer("sms first", Result(Outcome.UNKNOWN))
    ask = round.call_provider

    def report_while_the_second_is_asked(asked, *rest, **named):
        if asked.name == "sms second":
            failed(client, provider, Message.objects.get())
        return ask(asked, *rest, **named)

    monkeypatch.setattr(round, "call_provider", report_while_the_second_is_asked)
    message = Message.objects.get(pk=api.manual_send().data["message_id"])
    assert dispatch.deliver(message.pk)
    assert status(message) == "success"


def test_what_is_reported_as_sent_while_another_is_tried_has_the_whole_wait_for_its_receipt(
    client, provider, unanswered
):
    message = unanswered(Result(Outcome.TEMPORARY))
    report(client, provider, message_id=message.pk, status="sent")
    assert status(message) == "sent"
    assert (message.due_at - timezone.now()).total_seconds() > 590


def test_what_the_database_cannot_hold_as_it_is_is_taken_in_all_the_same(client, provider, sent):
    assert report(client, provider, id="id-1", status="failed", error="a\0b\ud800").status_code == 200
    assert (status(sent), sent.error) == ("failed", "a\ufffdb\ufffd")
    assert report(client, provider, id="\0", status="failed").status_code == 200


@pytest.mark.requirement(68)
def test_an_unknown_id_is_answered_and_nothing_grows(client, provider, sent):
    before = Message.objects.count()
    assert report(client, provider, id="id-unknown", status="success").status_code == 200
    assert status(sent) == "sent"
    assert Message.objects.count() == before


def strangers(number):
    return [Receipt(ReceiptStatus.SUCCESS, f"strange-{place}", message_id=place) for place in range(number)]


@pytest.mark.requirement(68)
def test_a_call_full_of_unknown_ids_takes_three_statements_whatever_was_sent(provider, sent, django_assert_num_queries):
    """Two looks for all of them, and one at what is under way. None is Django's own."""
    with django_assert_num_queries(0):
        assert asked(provider, strangers(receipts.LOOKED_UP_TOGETHER)) == [
            "find_reported",
            "messages_under_way",
            "find_reported",
        ]
    assert status(sent) == "sent"


@pytest.mark.requirement(68)
def test_the_reports_of_a_longer_call_are_looked_up_500_at_a_time(provider, sent):
    ours = Receipt(ReceiptStatus.SUCCESS, "id-1")
    assert asked(provider, [*strangers(receipts.MAX_RECEIPTS - 1), ours]).count("find_reported") == 4 + 4
    assert status(sent) == "success"


def asked(provider, reports):
    """Return the functions of the database that the reports led to, in their order."""
    with mock.patch.object(sql, "_execute", side_effect=sql._execute, autospec=True) as executed:
        receipts.apply_receipts(provider, reports)
    return [call.args[0] for call in executed.call_args_list]


@pytest.mark.requirement(68)
def test_more_reports_than_a_call_holds_are_refused(provider, sent):
    with pytest.raises(HookUnreadable, match="at most 2000"):
        receipts.apply_receipts(provider, [*strangers(receipts.MAX_RECEIPTS), Receipt(ReceiptStatus.SUCCESS, "id-1")])
    assert status(sent) == "sent"


def test_of_a_call_with_known_and_unknown_ids_the_known_are_acted_on(provider, sent):
    known = Receipt(ReceiptStatus.SUCCESS, "id-1")
    receipts.apply_receipts(provider, [*strangers(3), known, *strangers(3)])
    assert status(sent) == "success"


def test_a_message_that_was_sent_twice_goes_by_either_id(provider, sent):
    """A worker lost its lease to another, and both were accepted."""
    given = {"provider": provider, "provider_name": provider.name, "outcome": "accepted", "latency_ms": 1}
    DeliveryAttempt.objects.create(message=sent, provider_message_id="id-0", **given)
    receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "id-0")])
    assert status(sent) == "success"


@pytest.mark.parametrize("word", ["failed", "expired"])
def test_what_did_not_arrive_always_has_an_error(client, provider, sent, word):
    report(client, provider, id="id-1", status=word)
    assert status(sent) == word
    assert sent.error


@pytest.mark.requirement(71)
def test_another_providers_message_is_out_of_reach(client, project, sent):
    stranger = factories.project(channels=("sms",))
    theirs = Provider.objects.get(project=stranger.row)
    report(client, theirs, id="id-1", message_id=sent.pk, status="failed")
    assert status(sent) == "sent"


@pytest.mark.requirement(68)
def test_a_forged_call_is_refused_without_effect(client, provider, sent):
    response = report(client, provider, signature="wrong", id="id-1", status="failed")
    assert response.status_code == 401
    assert status(sent) == "sent"


@pytest.mark.parametrize("path", ["/hooks/{uuid}/wrong", "/hooks/not-a-uuid/{secret}", "/hooks/{uuid}/é"])
def test_a_wrong_path_is_not_found(client, provider, path):
    path = path.format(uuid=provider.uuid, secret=hook_secret_of(provider))
    assert client.post(path, "{}", content_type="application/json").status_code == 404


@pytest.mark.requirement(94)
def test_a_secret_that_was_copied_from_another_row_opens_nothing(client, provider, caplog):
    """An attacker with write access to the database, but no key, could else call hooks at a path that they know."""
    known = Provider.objects.get(name="email first")
    Provider.objects.filter(pk=provider.pk).update(hook_secret=known.hook_secret)
    assert report(client, provider, secret=hook_secret_of(known), id="id-1", status="failed").status_code == 404
    [line] = [line for line in caplog.records if line.msg == "the secret of a webhook address cannot be read"]
    assert line.provider == provider.pk


def test_whether_the_address_answers_can_be_asked_without_effect(client, provider, sent):
    """HEAD is no report, even to a gateway that reports by GET and with all that makes a report."""
    provider.type = "http"
    values = {"url": "http://127.0.0.1:9/send", "message_id_path": "id", "has_receipts": True, "receipt_secret": "hush"}
    store_settings(
        provider, values | {"receipt_id_field": "id", "receipt_status_field": "is", "receipt_success": "there"}
    )
    provider.save()
    path, asked = urlsplit(hook_url(provider)).path, {"id": "id-1", "is": "there"}
    assert client.head(path, asked, headers={"x-receipt-secret": "hush"}).status_code == 200
    assert status(sent) == "sent"
    assert client.head(f"{path}-wrong").status_code == 404
    assert client.get(path, asked, headers={"x-receipt-secret": "hush"}).status_code == 200
    assert status(sent) == "success"


def test_garbage_is_a_400(client, provider):
    path = f"/hooks/{provider.uuid}/{hook_secret_of(provider)}"
    response = client.post(path, "not json", content_type="application/json", headers={"x-signature": "right"})
    assert response.status_code == 400


@pytest.mark.requirement(68)
def test_a_body_over_3_mib_is_refused(client, provider):
    path = f"/hooks/{provider.uuid}/{hook_secret_of(provider)}"
    response = client.post(path, "x" * (MIB_3 + 1), content_type="text/plain", headers={"x-signature": "right"})
    assert response.status_code == 413


def test_a_report_as_long_as_vendors_send_is_taken(client, provider, sent):
    assert report(client, provider, id="id-1", status="success", padding="x" * (MIB_3 - 1_000)).status_code == 200
    assert status(sent) == "success"


def test_an_opt_out_suppresses_the_recipient_on_that_channel(client, api, provider, sent):
    report(client, provider, id="id-1", status="failed", error="Opted out.", suppressed=True)
    assert Suppression.objects.get().channel == "sms"
    refused = api.create(type="sms")
    assert (refused.status_code, refused.data["code"]) == (403, "recipient_not_allowed")
    assert api.create(type="voice").status_code == 200
    assert api.manual_send().status_code == 403


def test_without_a_wish_the_suppressed_channel_is_passed_over(client, api, provider, sent):
    report(client, provider, id="id-1", status="failed", suppressed=True)
    assert api.create().data["sent_to"] == "voice"


def test_a_suppression_that_is_lifted_ends(client, api, provider, sent):
    report(client, provider, id="id-1", status="failed", suppressed=True)
    Suppression.objects.update(lifted_at=timezone.now())
    assert api.create(type="sms").status_code == 200


def test_no_receipt_within_the_window_expires_the_message(sent):
    from verification.services.delivery import sweep

    Message.objects.update(due_at=timezone.now())
    sweep.expire_messages()
    assert status(sent) == "expired"
    assert sent.error == "No delivery receipt came in time."
    assert WebhookEvent.objects.get().message_id == sent.pk


@pytest.mark.parametrize("size", [MIB_3 + 1, 10 * MIB_3])
def test_a_report_that_is_announced_as_too_long_is_refused_though_nothing_of_it_was_read(client, provider, size):
    path = f"/hooks/{provider.uuid}/{hook_secret_of(provider)}"
    response = client.generic("POST", path, b"", content_type="application/json", CONTENT_LENGTH=str(size))
    assert (response.status_code, json.loads(response.content)["code"]) == (413, "body_too_large")


def test_a_stranger_learns_nothing_by_options(client, provider):
    response = client.options(f"/hooks/{provider.uuid}/wrong")
    assert response.status_code == 405
    assert response.json()["code"] == "method_not_allowed"
    assert response["Allow"] == "GET, POST, HEAD"


# --- what a report says of the recipient's account at the provider ---------------------------------------------------


def is_noted():
    return NoAccount.objects.exists()


def test_that_there_is_no_account_is_taken_back_by_a_delivery_and_not_noted_again(client, provider, sent):
    failed = {"id": "id-1", "status": "failed", "no_account": True, "word": "131026"}
    report(client, provider, **failed)
    assert is_noted()
    report(client, provider, id="id-1", status="success", word="delivered")
    assert (status(sent), is_noted()) == ("failed", False)
    report(client, provider, **failed)
    assert not is_noted()


@pytest.mark.parametrize("word", ["no_account", "opted_out"])
def test_a_failure_after_the_delivery_says_nothing_of_the_account(client, provider, sent, word):
    report(client, provider, id="id-1", status="success", word="delivered")
    report(client, provider, id="id-1", status="failed", word="131026", **{word: True})
    assert not is_noted()


def test_a_repeated_report_does_not_begin_the_day_anew(client, provider, sent):
    for moment in ("2026-01-01T00:00Z", None):
        report(client, provider, id="id-1", status="failed", no_account=True, word="131026")
        if moment:
            NoAccount.objects.update(noted_at=moment)
    assert NoAccount.objects.get().noted_at.year == 2026 and NoAccount.objects.get().noted_at.month == 1


def test_a_lifted_suppression_is_not_renewed_by_the_same_report(client, provider, sent):
    bounced = {"id": "id-1", "status": "failed", "suppressed": True, "word": "bounced"}
    report(client, provider, **bounced)
    Suppression.objects.update(lifted_at=timezone.now())
    report(client, provider, **bounced)
    assert not Suppression.objects.filter(lifted_at=None).exists()


@pytest.mark.parametrize("has_fallen_back", [False, True])
def test_a_right_code_takes_the_note_back_where_it_can_have_come_over_that_provider_alone(
    api, client, outbox, project, has_fallen_back
):
    project.provider("messenger_b", name="wa")
    wa = Provider.objects.get(name="wa")
    outbox.answer("wa", Result.accepted("id-wa"))
    session = api.create(type="messenger_b").data["session_id"]
    assert outbox.messages
    report(client, wa, id="id-wa", status="failed", no_account=True, word="131026")
    assert is_noted()
    if has_fallen_back:
        api.send(session, "sms")
    assert outbox.messages
    assert api.check(session, outbox.code).status_code == 200
    assert is_noted() is has_fallen_back


def test_feedback_that_the_user_got_in_takes_the_note_back(api, client, provider, sent):
    report(client, provider, id="id-1", status="failed", no_account=True, word="131026")
    assert api.report_verified(message_id=sent.pk).status_code == 200
    assert not is_noted()


# --- opt-outs at one provider ----------------------------------------------------------------------------------------

OPTED_OUT = Result(Outcome.OPTED_OUT, error="Vendor: the recipient has opted out (406).", provider_status="406")


def test_an_opt_out_at_one_provider_leaves_the_turn_to_the_next_and_bars_nobody(api, outbox, project):
    project.provider("sms", "sms second", priority=200)
    outbox.answer("sms first", OPTED_OUT)
    api.manual_send()
    assert outbox.names[-1] == "sms second"
    api.manual_send()
    assert outbox.names == ["sms second"] * 2
    assert not Suppression.objects.exists()


def test_an_only_provider_that_called_it_an_opt_out_is_asked_again(api, outbox):
    outbox.answer("sms first", OPTED_OUT)
    first = api.manual_send().data["message_id"]
    assert outbox.messages == []
    assert status(Message.objects.get(pk=first)) == "failed"
    assert api.manual_send().status_code == 200
    assert len(outbox.messages) == 1


def test_a_reported_opt_out_is_that_providers(client, provider, sent):
    report(client, provider, id="id-1", status="failed", opted_out=True, word="UserInBlackList")
    assert (is_noted(), Suppression.objects.exists()) == (True, False)


@pytest.mark.parametrize(("opted_out", "others", "is_told"), [(3, 0, True), (3, 3, False), (2, 0, False)])
def test_the_owner_is_told_where_most_refusals_of_a_provider_are_opt_outs(api, outbox, opted_out, others, is_told):
    results = [OPTED_OUT] * opted_out + [Result(Outcome.REFUSED, error="No such number.")] * others
    for number, result in enumerate(reversed(results)):
        outbox.answer("sms first", result)
        api.manual_send(to=f"+49151123456{number:02}")
        assert outbox.messages == []
    assert Alert.objects.filter(title__contains="opted out").count() == is_told


def test_a_get_that_says_nothing_is_answered_and_changes_nothing(client, provider, sent):
    path = urlsplit(hook_url(provider)).path
    assert client.get(path).status_code == 200
    assert (client.get(f"{path}?x=1").status_code, client.get(f"{path}-wrong").status_code) == (401, 404)
    assert status(sent) == "sent"


def test_the_owner_is_told_once_that_no_more_reports_will_come(provider):
    for _ in range(2):
        receipts.apply_report(provider, HookReply((ReportsEnded(),)))
    assert Alert.objects.get().title == "sms first sends no more delivery reports"


# --- several readings of an id ---------------------------------------------------------------------------------------


@pytest.fixture
def two_sent(api, outbox):
    """Two messages that await their receipts, known to the provider as 4097 and 1001."""
    outbox.answer("sms first", Result.accepted("4097"), Result.accepted("1001"))
    ids = []
    for to in ("+4915112345601", "+4915112345602"):
        ids.append(api.manual_send(to=to).data["message_id"])
        assert outbox.messages
    return [Message.objects.get(pk=pk) for pk in ids]


def test_of_the_readings_of_an_id_the_first_of_ours_counts(provider, sent):
    receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "4711", other_ids=("0815", "id-1"))])
    assert status(sent) == "success"
    assert not DeliveryAttempt.objects.exclude(provider_message_id="id-1").exists()


@pytest.mark.parametrize(("phone", "place"), [("", 0), ("015112345601", 0), ("4915112345602", 1), ("4930123456", 0)])
def test_of_two_messages_that_an_id_may_mean_the_one_to_the_number_counts(provider, two_sent, phone, place):
    receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "4097", other_ids=("1001",), phone=phone)])
    assert status(two_sent[place]) == "success"
    assert status(two_sent[1 - place]) == "sent"


@pytest.mark.parametrize(("phone", "ends_as"), [("4915112345678", "success"), ("4915199999999", "sent")])
def test_what_a_user_may_have_written_counts_for_messages_to_them_alone(provider, sent, phone, ends_as):
    receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "id-1", phone=phone, is_for_phone=True)])
    assert status(sent) == ends_as
