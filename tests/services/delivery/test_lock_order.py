"""Locks: a holder of a message or a token never waits for a recipient (see docs/engineering/architecture.md)."""

from contextlib import contextmanager

import psycopg
import pytest
from django.db import OperationalError, connection

from providers.base import Outcome, Result
from tests import clock
from verification.models import GuardedSend, Message
from verification.services.delivery import dispatch, fallback
from verification.services.maintenance import forgetting, retention

PHONE = "+4915112345678"

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def held(statement, *parameters):
    """Hold what the statement locks in another connection; whoever waits for it meanwhile fails at once."""
    settings = connection.get_connection_params()
    keys = ("host", "port", "dbname", "user", "password")
    with psycopg.connect(**{key: settings[key] for key in keys if settings.get(key)}) as other:
        other.execute(statement, parameters or None)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
            try:
                yield
            finally:
                cursor.execute("RESET lock_timeout")
        other.rollback()


def recipient_held():
    return held("SELECT FROM verification_recipient FOR UPDATE")


def test_what_became_of_a_message_is_recorded_while_its_recipient_is_held(api, outbox):
    message_id = api.manual_send().data["message_id"]
    with recipient_held():
        assert dispatch.deliver(message_id)
    assert Message.objects.get().status == "success"


def test_a_refusal_is_recorded_while_the_recipient_is_held(api, outbox):
    """It is taken out of the limits again, by the same change: a second one would ask for the recipient."""
    outbox.answer("sms first", Result(Outcome.REFUSED))
    message_id = api.manual_send().data["message_id"]
    with recipient_held():
        assert dispatch.deliver(message_id)
    message = Message.objects.get()
    assert (message.status, message.is_counted) == ("failed", False)


def test_a_token_is_redeemed_while_the_guards_count_of_its_sends_is_held(api, outbox):
    session_id = api.create(to=PHONE).data["session_id"]
    token = api.check(session_id, outbox.code).data["verify_token"]
    with held("SELECT FROM verification_guardedsend FOR UPDATE"):
        assert api.verify(token).status_code == 200
    assert GuardedSend.objects.filter(verified_at=None).exists()


def test_a_fall_back_waits_a_round_for_a_busy_recipient(api, project):
    api.create(to=PHONE)
    connection.cursor().execute("UPDATE verification_message SET fallback_at = now()")
    with recipient_held():
        assert fallback.send_fallbacks(limit=1) == 0
    assert Message.objects.exclude(fallback_at=None).exists()
    fallback.send_fallbacks(limit=1)
    assert not Message.objects.exclude(fallback_at=None).exists()


def test_forgetting_takes_the_recipient_before_any_message(api, project):
    """So whoever waits for the recipient meets nobody who holds a message of it and waits too."""
    api.create(to=PHONE)
    both = "SELECT FROM verification_message AS m JOIN verification_recipient AS r ON r.id = m.recipient_id FOR UPDATE"
    with held(both), pytest.raises(OperationalError, match='in relation "verification_recipient"'):
        forgetting.forget(project=project.row, to=PHONE)
    assert forgetting.forget(project=project.row, to=PHONE)["messages"] == 1


def test_the_purge_waits_for_nobody(api, outbox):
    for channel in ("sms", "voice"):
        api.manual_send(channel=channel)
    assert len(outbox.messages) == 2
    clock.forward(31 * clock.DAY)
    with held("SELECT FROM verification_message WHERE channel = 'voice' FOR UPDATE"):
        assert retention.purge()["messages"] == 1
    assert retention.purge()["messages"] == 1
