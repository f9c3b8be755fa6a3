"""What holds for the calls of every system: proof, bounds, repetition, and the rules that bind a session's sends."""

import json
import threading
import time
from uuid import uuid4

import pytest
from django.db import connection as database
from django.test import Client
from django.utils import timezone

from tests import factories
from tests.contrib.connections.payloads import CODE, FAR, PHONE, USER_ADDRESS, Sent, webhook_headers, zitadel_signature
from tests.contrib.connections.payloads import logto as logto_body
from verification.core import caching
from verification.models import (
    Channel,
    Decision,
    GuardBlock,
    GuardedSend,
    IdempotentRequest,
    ListEntry,
    Message,
    Recipient,
)
from verification.services.delivery import fallback, sweep
from verification.services.protection.limits import WRONG_PROOFS

pytestmark = pytest.mark.django_db
SERVER = "81.2.69.10"  # one of the project's own
LOGTO, SUPABASE, ZITADEL = FAR["logto sms"], FAR["supabase_sms"], FAR["zitadel sms"]


def reasons(rule="connection"):
    return [decision.subject.partition(": ")[2] for decision in Decision.objects.filter(rule=rule)]


# --- Proof and bounds


def test_an_unknown_connection_is_not_found(client):
    response = client.post(f"/connect/{uuid4()}", b"{}", content_type="application/json")
    assert (response.status_code, response.json()) == (404, {"message": "The code could not be sent."})


def test_an_address_that_is_no_id_is_not_found(client):
    assert client.post("/connect/1", b"{}", content_type="application/json").status_code == 404


def test_a_slash_at_the_end_makes_no_difference(connect):
    connected = connect(LOGTO)
    connected.path += "/"
    assert connected.call().status_code == 200


@pytest.mark.parametrize("method", ["get", "put", "delete", "head", "options"])
def test_only_post_is_served(connect, client, method):
    response = getattr(client, method)(connect(LOGTO).path)
    assert (response.status_code, response["Allow"]) == (405, "POST")


@pytest.mark.parametrize("size", [65_537, 5_000_000])
def test_a_large_body_is_refused_before_anything_is_read(connect, size):
    connected = connect(SUPABASE)
    response = connected.post(Sent(b" " * size, {}))
    assert (response.status_code, response.data["error"]["http_code"]) == (413, 413)


def test_a_body_of_the_largest_size_is_read(connect):
    connected = connect(LOGTO)
    body = json.dumps(logto_body(PHONE, CODE)).encode().ljust(65_536)
    assert connected.post(LOGTO.signed(body, connected.secret)).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"authorization": ""}, {"authorization": "Basic !!!"}, {"authorization": "é"}])
def test_a_call_without_a_readable_proof_is_refused(connect, headers):
    connected = connect(LOGTO)
    assert connected.post(Sent(LOGTO.call(connected.secret).body, headers)).status_code == 401


def test_nothing_is_read_before_the_proof(connect):
    connected = connect(LOGTO)
    assert connected.post(Sent(b"no json", {})).status_code == 401
    assert reasons() == []


# The future one by half a minute more than is taken, as the clock goes on until it is compared.
@pytest.mark.parametrize("seconds", [-301, 330])
def test_a_signature_of_another_time_is_refused(connect, seconds):
    for far, sign in ((SUPABASE, webhook_headers), (ZITADEL, zitadel_signature)):
        connected = connect(far)
        body = far.call(connected.secret).body
        headers = sign(body, connected.secret, at=time.time() + seconds)
        assert connected.post(Sent(body, headers)).status_code == 401


@pytest.mark.parametrize(
    "header", ["", "t=1", "v1=00", "t=,v1=", "t=99999999999999999999,v1=ab", "t=NaN,v1=ab", "v1=ab,t=1e9", "t=-1,v1=ab"]
)
def test_what_is_no_signature_of_zitadels_is_refused(connect, header):
    connected = connect(ZITADEL)
    sent = Sent(ZITADEL.call(connected.secret).body, {"zitadel-signature": header})
    assert connected.post(sent).status_code == 401


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", ["", "v1,=", "v1,a", "v2,abcd", "inf", "1e400", "x" * 5_000])
def test_what_is_no_signature_of_standard_webhooks_is_refused(connect, name, value):
    connected = connect(SUPABASE)
    sent = SUPABASE.call(connected.secret)
    assert connected.post(Sent(sent.body, {**sent.headers, name: value})).status_code == 401


def test_wrong_proofs_are_counted_by_address_and_right_ones_pass_all_the_same(connect, client):
    connected = connect(LOGTO)
    wrong = LOGTO.call("another-secret-of-some-length")
    statuses = [connected.post(wrong).status_code for _ in range(3)]
    for _ in range(WRONG_PROOFS.window.amount - 3):
        client.post(f"/connect/{uuid4()}", b"", content_type="application/json")
    assert set(statuses) == {401}
    assert connected.post(wrong).status_code == 429
    assert connected.call().status_code == 200


def test_a_removed_connection_and_one_of_a_disabled_project_are_not_found(connect):
    from verification.contrib.connections.connections import remove_connection

    connected, other = connect(LOGTO), connect(LOGTO)
    remove_connection(connected.row.pk)
    caching.clear_all()
    assert connected.call().status_code == 404
    other.project.set(is_enabled=False)
    assert other.call().status_code == 404


def test_no_secret_is_stored_in_the_clear(connect):
    connected = connect(SUPABASE)
    assert connected.secret.encode() not in bytes(connected.row.secret)


# --- Repetition


def test_supabases_next_try_is_known_by_its_uuid_and_another_uuid_is_a_new_wish(connect, outbox):
    connected = connect(SUPABASE)
    connected.call()
    connected.call()
    connected.call(uuid="another")
    assert len(outbox.messages) == 2


def test_without_an_id_the_same_code_is_a_new_wish_after_a_minute(connect, outbox):
    connected = connect(LOGTO)
    connected.call()
    connected.call()
    assert len(outbox.messages) == 1
    with database.cursor() as cursor:
        cursor.execute("UPDATE verification_idempotentrequest SET created_at = created_at - interval '61 seconds'")
    connected.call()
    assert len(outbox.messages) == 2


def test_another_connection_with_the_same_id_sends_its_own(connect, outbox):
    connect(SUPABASE).call()
    connect(SUPABASE).call()
    assert len(outbox.messages) == 2


def test_a_refused_call_may_be_tried_again(connect, outbox):
    connected = connect(SUPABASE)
    connected.project.set(countries=["FR"])
    assert connected.call().status_code == 403
    connected.project.set(countries=[])
    assert connected.call().status_code == 200
    assert len(outbox.messages) == 1


@pytest.mark.django_db(transaction=True)
def test_of_parallel_tries_one_sends(project):
    from tests.contrib.connections.calls import Connected

    connected = Connected(Client(), project, SUPABASE)
    sent, statuses = SUPABASE.call(connected.secret), []
    ready = threading.Barrier(8)

    def call():
        try:
            ready.wait()
            response = Client().post(connected.path, sent.body, content_type=sent.content_type, headers=sent.headers)
            statuses.append(response.status_code)
        finally:
            database.close()

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 8
    assert Message.objects.filter(project=project.row).count() == 1


# --- The channel


def test_a_channel_left_open_is_the_one_last_verified_with(connect, outbox):
    connected = connect(LOGTO)
    Recipient.objects.create(project=connected.project.row, address=PHONE, verified_channel="voice")
    connected.call()
    assert outbox.last.channel == "voice"
    assert connected.message.connection == connected.row


def test_without_a_past_it_is_the_projects_default(connect, outbox):
    connected = connect(LOGTO)
    connected.project.set(default_phone_channel="voice")
    connected.call()
    assert outbox.last.channel == "voice"


def test_a_named_channel_is_that_one(connect, outbox):
    connect(LOGTO, channel="voice").call()
    assert outbox.last.channel == "voice"


def test_a_channel_that_cannot_carry_the_code_is_passed_over(connect, outbox, project):
    """By the adapters themselves: Telegram's Gateway takes digits, SMS takes what it is given."""
    from verification.services.providers import accounts

    Channel.objects.create(project=project.row, type="messenger_a", position=0)
    accounts.add_provider(
        project=project.row,
        channel="messenger_a",
        provider_type="telegram_gateway",
        name="Telegram",
        values={"token": "t" * 20},
    )
    project.set(default_phone_channel="messenger_a")
    connected = connect(ZITADEL)
    connected.call(code="0M53RF")
    assert outbox.last.channel == "sms"
    noted = Decision.objects.get(rule="code_form")
    assert (noted.refused, noted.figures) == (0, {"channel": "messenger_a"})
    connected.call(code="72910385", to="+4915112345679")
    assert connect(ZITADEL, channel="messenger_a").call(code="0M53RG").status_code == 409
    assert Decision.objects.get(rule="no_channel_for_code").refused == 1
    assert set(Message.objects.values_list("channel", flat=True)) == {"sms", "messenger_a"}


def test_a_messenger_whose_bot_nobody_started_is_refused_if_it_was_named(connect, project):
    Channel.objects.create(project=project.row, type="messenger_a", position=9)
    project.provider("messenger_a", name="bot", type="collector_bot")
    assert connect(LOGTO, channel="messenger_a").call().status_code == 409
    assert connect(LOGTO).call().status_code == 200


# --- The rules


def test_the_limits_of_sends_to_one_recipient_hold(connect, outbox):
    connected = connect(LOGTO)
    connected.project.set(sends_per_10_minutes=2)
    statuses = [connected.call(code=f"10000{number}").status_code for number in range(3)]
    assert statuses == [200, 200, 429]
    assert Decision.objects.filter(rule="too_many_sends").exists()


def test_a_limit_tells_supabase_no_time_or_it_would_try_again(connect):
    connected = connect(SUPABASE)
    connected.project.set(sends_per_10_minutes=1)
    connected.call(uuid="a")
    answered = connected.call(uuid="b")
    assert (answered.status_code, answered.data["error"]["http_code"]) == (429, 429)
    assert "Retry-After" not in answered.headers


def test_the_budget_of_the_day_holds(connect):
    connected = connect(LOGTO, channel="sms")
    connected.project.channel("sms", daily_budget=1)
    assert connected.call().status_code == 200
    assert connected.call(to="+4915112345679").status_code == 429


def test_the_block_list_holds_for_recipients_and_for_users(connect):
    connected = connect(LOGTO)
    ListEntry.objects.create(project=connected.project.row, kind="block", subject="client", value=f"{USER_ADDRESS}/32")
    caching.clear_all()
    assert connected.call().status_code == 403
    assert Decision.objects.get(rule="block_list").subject == USER_ADDRESS


def test_the_users_address_is_the_one_that_creates_are_counted_by(connect):
    connected = connect(LOGTO)
    connected.project.set(creates_per_address=2)
    statuses = [connected.call(to=f"+491511234567{number}").status_code for number in range(3)]
    assert statuses == [200, 200, 429]
    assert Decision.objects.filter(rule="client_address", subject=USER_ADDRESS).exists()
    assert connected.message_subnets() == {"203.0.113.0/24"}


@pytest.mark.parametrize(
    ("told", "subject"),
    [
        (f"{USER_ADDRESS}:52044", USER_ADDRESS),
        (f"::ffff:{USER_ADDRESS}", USER_ADDRESS),
        ("[2001:db8::7]:443", "2001:db8::/64"),
        *((own, own) for own in ("10.0.0.1", "127.0.0.1", SERVER)),
        ("fe80::1%eth0", "fe80::/64"),
        *((none, "unknown") for none in ("garbage", "10.0.0.1, 127.0.0.1", "localhost", "-")),
    ],
)
def test_no_address_that_is_told_is_free_of_the_limits_by_address(connect, told, subject):
    connected = connect(LOGTO)
    connected.project.set(creates_per_address=2, server_addresses=[SERVER])
    statuses = [connected.call(to=f"+491511234567{number}", ip=told).status_code for number in range(3)]
    assert statuses == [200, 200, 429]
    assert Decision.objects.get(rule="client_address").subject == subject


def test_where_no_address_is_told_none_is_counted(connect):
    connected = connect(ZITADEL)
    connected.project.set(creates_per_address=1)
    assert {connected.call(to=f"+491511234567{number}").status_code for number in range(3)} == {200}
    assert connected.message_subnets() == {""}


def test_the_traffic_guard_refuses_many_numbers_of_one_prefix(connect):
    connected = connect(ZITADEL, channel="sms")
    statuses = [connected.call(to=f"+49151123456{number:02}").status_code for number in range(12)]
    assert statuses == [200] * 10 + [403] * 2
    assert GuardBlock.objects.get().rule == "prefix"
    assert set(GuardedSend.objects.values_list("is_manual", "is_handed")) == {(False, True)}


def test_what_the_guard_refuses_goes_over_another_channel_where_one_can_be_chosen(connect, outbox, project):
    Channel.objects.create(project=project.row, type="messenger_b", position=9)
    project.provider("messenger_b", name="whatsapp")
    connected = connect(ZITADEL)
    assert {connected.call(to=f"+49151123456{number:02}").status_code for number in range(12)} == {200}
    assert [message.channel for message in outbox.messages].count("messenger_b") == 2


def test_a_test_login_gets_nothing_and_hears_no_refusal(connect, outbox):
    connected = connect(LOGTO)
    connected.project.test_login(PHONE, "123456")
    assert connected.call().status_code == 200
    assert outbox.messages == []
    assert connected.message.status == "success"


def test_an_allowed_number_that_is_refused_leaves_no_row(connect):
    connected = connect(LOGTO)
    connected.project.channel("sms", daily_budget=0)
    connected.project.set(countries=["FR"])
    connected.call()
    assert not Recipient.objects.exists() and not IdempotentRequest.objects.exists()


# --- Fall-back


@pytest.fixture
def order(project):
    from verification.models import FallbackStep

    for position, channel in enumerate(("sms", "voice")):
        FallbackStep.objects.create(project=project.row, channel=channel, position=position, wait_seconds=20)
    caching.clear_all()


def let_seconds_pass(seconds):
    with database.cursor() as cursor:
        cursor.execute(
            "UPDATE verification_message SET fallback_at = fallback_at - make_interval(secs => %s)", [seconds]
        )


def test_a_code_that_does_not_arrive_goes_over_the_next_channel(connect, outbox, order):
    from providers.base import Result

    connected = connect(LOGTO)
    outbox.answer("sms first", Result.accepted("x-1"))  # and no receipt
    connected.call()
    assert [message.channel for message in outbox.messages] == ["sms"]
    assert fallback.send_fallbacks(limit=5) == 0
    assert Message.objects.get().code_encrypted is not None  # the next channel needs it
    let_seconds_pass(21)
    assert fallback.send_fallbacks(limit=5) == 1
    assert [(message.channel, message.code) for message in outbox.messages] == [("sms", CODE), ("voice", CODE)]
    first, second = Message.objects.order_by("created_at")
    assert (second.fallback_of_id, second.connection_id) == (first.pk, connected.row.pk)
    assert first.code_encrypted is None and first.fallback_at is None
    assert second.code_encrypted is None and second.fallback_at is None  # it arrived


def test_a_code_goes_over_the_next_channel_though_the_time_for_its_receipt_ended_first(connect, outbox, order):
    """As with WhatsApp, whose receipts are waited for 240 seconds, and a project that falls back after 300."""
    from providers.base import Result

    outbox.answer("sms first", Result.accepted("x-1"))  # and no receipt
    connect(LOGTO).call()
    assert [message.channel for message in outbox.messages] == ["sms"]
    Message.objects.update(due_at=timezone.now())
    assert sweep.expire_messages() == 1
    assert Message.objects.get().status == "expired"
    assert fallback.send_fallbacks(limit=5) == 0
    let_seconds_pass(21)
    assert fallback.send_fallbacks(limit=5) == 1
    assert [(message.channel, message.code) for message in outbox.messages] == [("sms", CODE), ("voice", CODE)]
    assert set(Message.objects.values_list("code_encrypted", flat=True)) == {None}


def test_what_arrived_does_not_fall_back(connect, outbox, order):
    connect(LOGTO).call()
    assert len(outbox.messages) == 1
    let_seconds_pass(3600)
    assert fallback.send_fallbacks(limit=5) == 0
    assert Message.objects.get().code_encrypted is None


def test_what_arrived_late_stops_the_fall_back_of_the_next_message(connect, outbox, order, project):
    from providers.base import Result
    from verification.models import FallbackStep

    FallbackStep.objects.create(project=project.row, channel="messenger_b", position=2, wait_seconds=20)
    caching.clear_all()
    outbox.answer("sms first", Result.accepted("x-1"))
    outbox.answer("voice first", Result.accepted("x-2"))
    connect(LOGTO).call()
    assert outbox.messages
    let_seconds_pass(21)
    assert fallback.send_fallbacks(limit=5) == 1
    assert len(outbox.messages) == 2
    Message.objects.filter(channel="sms").update(status="success")
    let_seconds_pass(21)
    assert fallback.send_fallbacks(limit=5) == 0
    assert [message.channel for message in outbox.messages] == ["sms", "voice"]
    assert set(Message.objects.values_list("code_encrypted", flat=True)) == {None}


def test_what_failed_falls_back_at_once(connect, outbox, order):
    from providers.base import Outcome, Result

    outbox.answer("sms first", Result(Outcome.REFUSED, error="No such number."))
    connect(LOGTO).call()
    assert outbox.messages == []
    assert fallback.send_fallbacks(limit=5) == 1
    assert [message.channel for message in outbox.messages] == ["voice"]


def test_a_fallback_is_over_with_the_codes_life(connect, outbox, order):
    from providers.base import Result

    outbox.answer("sms first", Result.accepted("x-1"))
    connect(LOGTO).call()
    assert len(outbox.messages) == 1
    factories.expire_everything()
    let_seconds_pass(21)
    assert fallback.send_fallbacks(limit=5) == 0
    assert Message.objects.get().code_encrypted is None
