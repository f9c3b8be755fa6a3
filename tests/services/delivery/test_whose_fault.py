"""A refusal ends a message only where the recipient is meant; what means us is told to the owner, and others go on."""

from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from providers.base import Outcome, Result
from tests.api.calls import problem
from tests.factories import subscribe
from tests.fakes.http_server import FakeHttpServer, answer
from tests.fakes.mail_server import Handler, mail_server
from tests.fakes.smsc import PASSWORD, SYSTEM_ID, Smsc
from tests.fakes.smsc import answer as answers_with
from tests.live import wait_until
from verification.core import caching
from verification.models import Alert, CircuitBreaker, DeliveryAttempt, Message, Provider, Subscription, Suppression
from verification.services.delivery import connections, dispatch
from verification.services.notifications import alerts
from verification.services.providers import accounts

pytestmark = pytest.mark.django_db

BLOCKED = "550 5.7.1 Service unavailable; client host [192.0.2.1] blocked using zen.spamhaus.org"
UNKNOWN_USER = "550 5.1.1 <jane@example.org>: no such user"


@pytest.fixture
def servers(project):
    """Two real mail servers, one provider after the other."""
    project.row.providers.filter(channel="email").delete()
    handlers = {"first": Handler(), "second": Handler()}
    with ExitStack() as stack:
        for priority, (name, handler) in enumerate(handlers.items()):
            port = stack.enter_context(mail_server(handler))
            values = {"host": "127.0.0.1", "port": port, "security": "none", "from_email": "code@shop.test"}
            accounts.add_provider(
                project=project.row,
                channel="email",
                provider_type="smtp",
                name=name,
                values=values,
                priority=priority,
            )
        caching.clear_all()
        yield handlers


def send(api, to="jane@example.org"):
    message_id = api.manual_send(to=to, channel="email").data["message_id"]
    dispatch.deliver(message_id)
    return Message.objects.get(pk=message_id)


def asked():
    return list(DeliveryAttempt.objects.order_by("id").values_list("provider_name", "outcome"))


def test_a_mail_server_that_blocks_us_leaves_the_turn_to_the_next_and_the_owner_is_told(api, servers, project):
    servers["first"].replies["RCPT"] = BLOCKED
    message = send(api)
    assert (message.status, message.provider.name) == ("success", "second")
    assert asked() == [("first", "misconfigured"), ("second", "accepted")]
    alert = Alert.objects.get()
    assert (alert.project_id, alert.title) == (project.id, "first rejects our requests")
    assert "(550 5.7.1)" in alert.detail and "jane" not in alert.detail


def test_the_owner_is_told_once_a_day_and_by_mail(api, servers, project):
    project.set(alert_emails=["owner@example.com"])
    servers["first"].replies["RCPT"] = BLOCKED
    for number in range(3):
        send(api, f"jane{number}@example.org")
    for row in alerts.claim_due(limit=10):
        alerts.deliver(row)
    assert [letter.to for letter in mail.outbox] == [["owner@example.com"]]


@pytest.mark.parametrize(
    "reply",
    [
        "554 5.7.1 Recipient address rejected: Access denied",
        "550 5.4.1 Recipient address rejected: Access denied",
        "550 5.7.1 something new",
        "450 4.2.0 greylisted",
    ],
)
def test_five_recipients_refused_leave_the_mail_server_to_the_next(api, servers, reply):
    servers["first"].replies["RCPT"] = reply
    for number in range(5):
        send(api, f"jane{number}@example.org")
    servers["first"].replies.clear()
    caching.clear_all()
    assert send(api).provider.name == "first"
    assert not CircuitBreaker.objects.exists()


def test_a_mail_server_that_keeps_blocking_us_is_set_aside(api, servers):
    servers["first"].replies["RCPT"] = BLOCKED
    for number in range(5):
        send(api, f"jane{number}@example.org")
    breaker = CircuitBreaker.objects.get()
    assert (breaker.provider.name, breaker.open_until > timezone.now()) == ("first", True)


def test_a_mailbox_that_does_not_exist_ends_the_message_and_suppresses_the_recipient(api, servers, project):
    servers["first"].replies["RCPT"] = UNKNOWN_USER
    message = send(api)
    assert (message.status, asked()) == ("failed", [("first", "refused")])
    suppression = Suppression.objects.get()
    assert (suppression.project_id, suppression.channel) == (project.id, "email")
    assert suppression.recipient_id == message.recipient_id and "5.1.1" in suppression.reason
    assert problem(api.manual_send(to="jane@example.org", channel="email")) == (403, "recipient_not_allowed")
    assert not Alert.objects.exists() and not CircuitBreaker.objects.exists()


def test_a_full_mailbox_suppresses_nobody(api, servers):
    servers["first"].replies["RCPT"] = "552 5.2.2 mailbox full"
    assert send(api).status == "failed"
    assert not Suppression.objects.exists()


@pytest.mark.requirement(69)
def test_what_a_provider_declines_goes_to_the_next_and_never_sets_it_aside(api, outbox, project):
    """Else whoever asks for codes to countries that it does not serve would stop it for all others."""
    project.provider("sms", name="second", priority=200)
    outbox.answer("sms first", *[Result(Outcome.DECLINED, error="No route.")] * 20)
    for number in range(20):
        message_id = api.manual_send(to=f"+4915112300{number:03d}").data["message_id"]
        dispatch.deliver(message_id)
    assert set(outbox.names) == {"second"}
    assert not CircuitBreaker.objects.exists()
    assert [alert.title for alert in Alert.objects.all()] == ["sms first rejects some messages"]


def test_too_much_to_one_recipient_waits_and_leaves_the_provider_to_all_others(api, outbox):
    outbox.answer("sms first", Result(Outcome.RECIPIENT_LIMITED, error="A moment ago.", retry_after=6))
    message_id = api.manual_send().data["message_id"]
    dispatch.deliver(message_id)
    message = Message.objects.get(pk=message_id)
    assert message.status == "sending" and message.due_at > timezone.now() + timedelta(seconds=4)
    assert not CircuitBreaker.objects.exists()


def test_a_message_that_everybody_declines_fails_with_the_last_reason(api, outbox):
    outbox.answer("sms first", Result(Outcome.DECLINED, error="No route."))
    message_id = api.manual_send().data["message_id"]
    dispatch.deliver(message_id)
    message = Message.objects.get(pk=message_id)
    assert (message.status, message.error) == ("failed", "No route.")


def test_of_a_system_provider_the_operators_log_tells(api, outbox, caplog):
    Provider.objects.update(project=None)
    caching.clear_all()
    outbox.answer("sms first", Result(Outcome.MISCONFIGURED, error="No such sender."))
    dispatch.deliver(api.manual_send().data["message_id"])
    assert not Alert.objects.exists()
    [record] = [record for record in caplog.records if record.message == "a system provider needs attention"]
    assert (record.provider_name, record.outcome, record.error) == ("sms first", "misconfigured", "No such sender.")


# --- words that no table lists ----------------------------------------------------------------------------------------

REFUSED_BY = {
    "vonage": (
        {"api_key": "k", "api_secret": "s", "sender": "Shop"},
        (200, {"messages": [{"status": "34", "error-text": "something new"}]}),
        (200, {"messages": [{"status": "0", "message-id": "1"}]}),
    ),
    "telnyx": (
        {"api_key": "k", "public_key": "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "sender": "12345"},
        (403, {"errors": [{"code": "40319"}]}),
        (200, {"data": {"id": "1"}}),
    ),
    "httpsms": ({"api_key": "k", "sender": "+18005550199"}, (404, {"status": "error"}), (200, {"data": {"id": "1"}})),
    "bird": (
        {
            "access_key": "k",
            "workspace_id": "a1405560-c8d3-4b1a-877d-3f449ad95352",
            "channel_id": "0b0123bb-ef2e-468f-908a-c026d51636aa",
        },
        (200, {"error": "something new"}),
        (202, {"id": "1"}),
    ),
}


def to_number(api, number, channel="sms", **options):
    message_id = api.manual_send(to=f"+4915112300{number:03d}", channel=channel, **options).data["message_id"]
    dispatch.deliver(message_id)
    return Message.objects.get(pk=message_id)


@pytest.mark.parametrize("type", REFUSED_BY)
def test_five_numbers_refused_in_unlisted_words_leave_the_vendor_to_the_next(api, project, type):
    values, refusal, acceptance = REFUSED_BY[type]
    project.row.providers.filter(channel="sms").delete()
    with FakeHttpServer(default=answer(*refusal)) as vendor:
        accounts.add_provider(
            project=project.row, channel="sms", provider_type=type, name=type, values=values | {"base_url": vendor.url}
        )
        caching.clear_all()
        for number in range(5):
            to_number(api, number)
        vendor.default = answer(*acceptance)
        caching.clear_all()
        assert to_number(api, 9).status in ("sent", "success")
    assert not CircuitBreaker.objects.exists()


@pytest.mark.parametrize(
    "word", ["PEER_ID_INVALID", "USER_DEACTIVATED_BAN", "INPUT_USER_DEACTIVATED", "CHAT_ID_INVALID"]
)
def test_chats_that_are_gone_end_their_users_activity_and_leave_the_bot_to_others(api, project, word):
    gone = {"ok": False, "error_code": 400, "description": f"Bad Request: {word}"}
    with FakeHttpServer(default=answer(400, gone)) as telegram:
        values = {"token": "123456:hush-hush-token", "username": "shop_bot", "base_url": telegram.url}
        project.row.providers.filter(channel="messenger_a").delete()
        bot = accounts.add_provider(
            project=project.row, channel="messenger_a", provider_type="telegram_bot", name="bot", values=values
        )
        caching.clear_all()
        for number in range(6):
            subscribe(f"+4915112300{number:03d}", bot)
            Subscription.objects.filter(account_id__startswith="chat").update(account_id=str(1000 + number))
        assert {to_number(api, number, "messenger_a").status for number in range(5)} == {"failed"}
        assert Subscription.objects.filter(provider=bot, is_active=True).count() == 1
        telegram.default = answer(200, {"ok": True, "result": {"message_id": 1, "chat": {"id": 1005}}})
        assert to_number(api, 5, "messenger_a").status == "success"
    assert not CircuitBreaker.objects.exists()


@pytest.mark.parametrize("status", [0x45, 0x400])
def test_five_numbers_that_a_message_centre_refuses_leave_it_to_the_next(api, project, status):
    project.row.providers.filter(channel="sms").delete()
    with Smsc(default=answers_with(status)) as centre, ExitStack() as stack:
        values = {"host": "127.0.0.1", "port": centre.port, "tls": False, "system_id": SYSTEM_ID, "password": PASSWORD}
        accounts.add_provider(project=project.row, channel="sms", provider_type="smpp", name="line", values=values)
        caching.clear_all()
        connections.keep_open()
        stack.callback(connections.close_all)
        wait_until(centre.bound, "the bind is up")
        for number in range(5):
            to_number(api, number)
        centre.default = answers_with(0)
        caching.clear_all()
        assert to_number(api, 9).status == "sent"
    assert not CircuitBreaker.objects.exists()
