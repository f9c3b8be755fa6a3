"""The next channel, when a code does not arrive."""

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from providers.base import Outcome, Result
from tests import factories
from tests.fakes.outage import database_away
from tests.fakes.trace_collector import TraceCollector
from verification.core import caching, tracing
from verification.models import FallbackStep, Message, Recipient, Session, Suppression
from verification.services.delivery import fallback
from verification.services.records import decisions
from verification.services.sessions import send as sending

pytestmark = pytest.mark.django_db

SENT = Result.accepted("id-1")  # a receipt is awaited


@pytest.fixture
def project(db):
    made = factories.project(channels=("messenger_b", "sms", "voice"), default_phone_channel="messenger_b")
    for position, channel in enumerate(("messenger_b", "sms", "voice")):
        FallbackStep.objects.create(project=made.row, channel=channel, position=position, wait_seconds=20)
    caching.clear_all()
    return made


def overdue():
    """Let the wait of every message pass."""
    Message.objects.filter(fallback_at__isnull=False).update(fallback_at=timezone.now())


def channels_used():
    return list(Message.objects.order_by("created_at").values_list("channel", flat=True))


def test_a_code_that_does_not_arrive_goes_out_over_the_next_channel(api, outbox):
    outbox.answer("messenger_b first", SENT)
    session = api.create().data
    first_code = outbox.code
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms"]
    assert outbox.code == first_code
    assert Session.objects.get(pk=session["session_id"]).channel == "sms"


def test_nothing_more_is_sent_once_it_has_arrived(api, outbox):
    api.create()
    assert len(outbox.messages) == 1  # accepted with no receipt to follow: as good as arrived
    overdue()
    assert fallback.send_fallbacks(limit=10) == 0


def test_nothing_more_is_sent_once_the_session_is_verified(api, outbox):
    outbox.answer("messenger_b first", SENT)
    session = api.create().data
    api.check(session["session_id"], outbox.code)
    overdue()
    fallback.send_fallbacks(limit=10)
    assert channels_used() == ["messenger_b"]


def arrived(channel):
    """Let the receipt of the message over this channel come."""
    Message.objects.filter(channel=channel).update(status="success", fallback_at=None)


def test_nothing_more_is_sent_once_a_later_send_has_arrived(api, outbox):
    outbox.answer("messenger_b first", SENT)
    session = api.create().data
    api.send(session["session_id"], "sms")
    assert len(outbox.messages) == 2
    overdue()
    assert fallback.send_fallbacks(limit=10) == 0
    assert channels_used() == ["messenger_b", "sms"]


def test_a_later_send_of_the_user_has_its_own_time_to_arrive(api, outbox):
    outbox.answer("messenger_b first", SENT)
    outbox.answer("sms first", SENT)
    session = api.create().data
    assert outbox.messages
    overdue()
    api.send(session["session_id"], "sms")
    assert len(outbox.messages) == 2
    assert fallback.send_fallbacks(limit=10) == 0
    assert channels_used() == ["messenger_b", "sms"]
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms", "voice"]


def test_a_later_send_that_failed_is_not_waited_out_for_an_earlier_one(api, outbox):
    outbox.answer("messenger_b first", SENT)
    outbox.answer("sms first", Result(Outcome.REFUSED, error="No such number."))
    session = api.create().data
    api.send(session["session_id"], "sms")
    assert len(outbox.messages) == 1
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms", "voice"]


def test_an_earlier_message_goes_on_where_the_later_one_failed_and_found_no_channel(api, outbox, project):
    outbox.answer("messenger_b first", SENT)
    outbox.answer("sms first", Result(Outcome.REFUSED, error="No such number."))
    project.channel("voice", is_active=False)
    session = api.create().data
    api.send(session["session_id"], "sms")
    assert len(outbox.messages) == 1
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms"]
    project.channel("voice", is_active=True)
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms", "voice"]


def test_nothing_more_is_sent_once_an_earlier_message_with_the_code_has_arrived(api, outbox):
    outbox.answer("messenger_b first", SENT)
    outbox.answer("sms first", SENT)
    api.create()
    assert outbox.messages
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert len(outbox.messages) == 2
    arrived("messenger_b")
    overdue()
    assert fallback.send_fallbacks(limit=10) == 0
    assert channels_used() == ["messenger_b", "sms"]


def test_an_earlier_message_whose_code_was_replaced_does_not_stand_for_a_later_one(api, outbox, project):
    project.set(new_code_on_send=True)
    outbox.answer("messenger_b first", SENT)
    outbox.answer("sms first", SENT)
    session = api.create().data
    api.send(session["session_id"], "sms")
    assert len(outbox.messages) == 2
    arrived("messenger_b")
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms", "voice"]


def test_a_code_that_goes_out_over_the_next_channel_stays_right_over_the_first(api, outbox, project):
    project.set(new_code_on_send=True, code_letters=True)
    outbox.answer("messenger_b first", SENT)
    session = api.create().data
    first_code = outbox.code
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert outbox.code == first_code
    assert api.check(session["session_id"], first_code).status_code == 200


def test_a_failure_is_not_waited_out(api, outbox):
    outbox.answer("messenger_b first", Result(Outcome.NO_ACCOUNT, error="Not on this messenger."))
    api.create()
    assert outbox.messages == []
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms"]


def test_each_channel_is_tried_once(api, outbox):
    for channel in ("messenger_b", "sms", "voice"):
        outbox.answer(f"{channel} first", SENT)
    api.create()
    for _ in range(4):
        assert outbox.messages
        overdue()
        fallback.send_fallbacks(limit=10)
    assert channels_used() == ["messenger_b", "sms", "voice"]


def failing(monkeypatch, error):
    """Let the first that is sent fail."""
    errors, send = iter([error]), sending.resend_automatically

    def send_or_fail(**what):
        for found in errors:
            raise found
        send(**what)

    monkeypatch.setattr(sending, "resend_automatically", send_or_fail)


def test_nothing_is_lost_where_a_worker_dies_or_the_database_goes_away(api, outbox, monkeypatch):
    outbox.answer("messenger_b first", SENT)
    api.create()
    assert outbox.messages
    overdue()
    failing(monkeypatch, OperationalError())
    fallback.send_fallbacks(limit=10)
    assert channels_used() == ["messenger_b"]
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "sms"]


@pytest.mark.django_db(transaction=True)
def test_while_the_database_is_away_none_is_taken_up(api, outbox):
    outbox.answer("messenger_b first", SENT)
    api.create()
    assert outbox.messages
    overdue()
    with database_away(), pytest.raises(OperationalError):
        fallback.send_fallbacks(limit=10)
    assert fallback.send_fallbacks(limit=10) == 1


def test_one_that_meets_a_lock_keeps_no_other_from_its_turn(api, outbox, monkeypatch):
    outbox.answer("messenger_b first", SENT, SENT)
    api.create()
    api.create(to="+4915112345679")
    assert outbox.messages
    overdue()
    failing(monkeypatch, OperationalError())
    fallback.send_fallbacks(limit=10)
    assert channels_used() == ["messenger_b", "messenger_b", "sms"]
    assert Message.objects.filter(fallback_at__gt=timezone.now(), channel="messenger_b").count() == 1


def test_a_fault_of_ours_with_one_keeps_no_other_from_its_turn(api, outbox, monkeypatch):
    outbox.answer("messenger_b first", SENT, SENT)
    api.create()
    api.create(to="+4915112345679")
    assert outbox.messages
    overdue()
    failing(monkeypatch, RuntimeError())
    assert fallback.send_fallbacks(limit=10) == 2
    assert channels_used() == ["messenger_b", "messenger_b", "sms"]
    assert fallback.send_fallbacks(limit=10) == 0


def test_a_refusal_that_cannot_be_noted_keeps_no_code_from_the_channel_after(api, outbox, project, monkeypatch):
    outbox.answer("messenger_b first", SENT)
    api.create()
    assert outbox.messages
    recipient = Recipient.objects.get()
    Suppression.objects.create(project=project.row, recipient=recipient, channel="sms", reason="Barred.")
    overdue()

    def fail(**_):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr(decisions, "record", fail)
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b", "voice"]


def test_the_users_own_choice_comes_first(api, outbox):
    outbox.answer("voice first", SENT)
    api.create(type="voice")
    assert outbox.messages
    overdue()
    fallback.send_fallbacks(limit=10)
    assert channels_used() == ["voice", "messenger_b"]


def test_a_running_block_passes_a_channel_over(api, outbox):
    outbox.answer("messenger_b first", SENT)
    outbox.answer("sms first", SENT)
    session = api.create().data
    api.send(session["session_id"], "sms")
    Message.objects.filter(channel="sms").update(fallback_at=None)
    assert outbox.messages
    overdue()
    fallback.send_fallbacks(limit=10)
    assert channels_used() == ["messenger_b", "sms", "voice"]


def test_the_recipients_limit_holds(api, outbox, project):
    project.set(sends_per_10_minutes=1)
    outbox.answer("messenger_b first", SENT)
    api.create()
    assert outbox.messages
    overdue()
    assert fallback.send_fallbacks(limit=10) == 1
    assert channels_used() == ["messenger_b"]


def test_without_an_order_nothing_falls_back(api, outbox, project):
    FallbackStep.objects.all().delete()
    caching.clear_all()
    api.create()
    assert Message.objects.get().fallback_at is None


def test_a_manual_send_does_not_fall_back(api, outbox):
    api.manual_send(channel="sms")
    assert Message.objects.get().fallback_at is None


def test_a_fall_back_is_a_span_of_the_request_s_trace(api, outbox, project, settings):
    with TraceCollector() as collector:
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
        caching.clear_all()
        try:
            outbox.answer("messenger_b first", SENT)
            api.create()
            overdue()
            assert fallback.send_fallbacks(limit=10) == 1
            tracing._tracing().tracer.span_processor.force_flush()
        finally:
            settings.OTEL_EXPORTER_OTLP_ENDPOINT = ""
            caching.clear_all()
    spans = {span.name: span for span in collector.spans()}
    request, taken_up = spans["POST session/create"], spans["fall-back"]
    assert (taken_up.trace_id, taken_up.parent) == (request.trace_id, request.id)
    assert taken_up.told == {"watchword.project": project.id}
