"""How long a session lives: the project's setting, and its slow channels."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError

from providers.base import Result
from tests import clock, factories
from verification.models import FallbackStep, Message, Session
from verification.services.delivery.round import receipt_seconds
from verification.sql.rows import ClaimedMessage

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
EMAIL = "ada@example.com"


@pytest.fixture
def project(db):
    return factories.project(channels=("sms", "messenger_b", "email"))


def life(session_id):
    row = Session.objects.get(pk=session_id)
    return row.expires_at - row.created_at


def created(api, to=PHONE, **body):
    return api.create(to, **body).data["session_id"]


def test_a_project_says_how_long_its_sessions_live(api, project, outbox):
    project.set(session_seconds=600)
    session = api.create().data
    assert life(session["session_id"]) == timedelta(minutes=10)
    assert "10 min" in outbox.last.text
    clock.forward(590)
    assert api.create().data["session_id"] == session["session_id"]
    assert api.check(session["session_id"], outbox.code).status_code == 200


def test_a_short_session_is_over_in_time(api, project, outbox):
    project.set(session_seconds=60)
    session_id, code = created(api), outbox.code
    clock.forward(60)
    assert api.check(session_id, code).data["code"] == "session_expired"


@pytest.mark.parametrize("seconds", [59, 901])
def test_no_project_asks_for_less_than_a_minute_or_more_than_a_quarter_of_an_hour(project, seconds):
    with pytest.raises(ValidationError, match="session_seconds"):
        project.set(session_seconds=seconds)


def test_a_slow_channel_makes_the_sessions_longer_that_may_go_over_it(api, project):
    project.channel("email", session_seconds=900)
    project.channel("sms", session_seconds=300)
    assert life(created(api, EMAIL)) == timedelta(minutes=15)
    assert life(created(api, PHONE)) == timedelta(minutes=5)
    assert life(created(api, "+4915112345679", type="messenger_b")) == timedelta(minutes=5)  # SMS may follow


def test_a_channel_makes_no_session_shorter_and_one_that_is_off_none_longer(api, project):
    project.set(session_seconds=240)
    project.channel("sms", session_seconds=60)
    project.channel("messenger_b", session_seconds=900, is_active=False)
    assert life(created(api)) == timedelta(seconds=240)


def test_neither_another_channel_nor_a_change_of_the_setting_moves_the_end(api, project):
    project.channel("sms", session_seconds=300)
    first = api.create(PHONE, type="messenger_b").data
    project.set(session_seconds=900)
    project.channel("sms", session_seconds=None)
    again = api.send(first["session_id"], "sms").data
    assert again["session_expired_at"] == first["session_expired_at"]
    assert {message.expires_at for message in Message.objects.all()} == {Session.objects.get().expires_at}


@pytest.mark.parametrize(("session_seconds", "waits"), [(180, 150), (600, 400), (60, 30)])
def test_however_long_a_fall_back_waits_half_a_minute_is_left(api, project, outbox, session_seconds, waits):
    FallbackStep.objects.create(project=project.row, channel="sms", position=1, wait_seconds=400)
    FallbackStep.objects.create(project=project.row, channel="messenger_b", position=2)
    project.set(session_seconds=session_seconds)
    outbox.answer("sms first", Result.accepted("p-1"))
    created(api, type="sms")
    message = Message.objects.get()
    assert message.fallback_at - message.created_at == timedelta(seconds=waits)


class Carrier:
    receipt_window_seconds = 600
    is_simulation = False


class Sandbox(Carrier):
    receipt_window_seconds = 20
    is_simulation = True


@pytest.mark.parametrize(
    ("adapter", "session", "lives", "awaited"),
    [
        (Carrier, "01J", 180.0, 600),
        (Carrier, "01J", 890.5, 890.5),
        (Carrier, None, 890.5, 600),  # a manual send
        (Sandbox, "01J", 890.5, 20),
        (None, "01J", 890.5, 890.5),
        (None, "01J", 100.0, 600),
    ],
)
def test_a_receipt_is_awaited_for_no_less_than_the_session_lives(adapter, session, lives, awaited):
    fields = dict.fromkeys(ClaimedMessage._fields) | {"session_id": session, "lives_seconds": lives}
    assert receipt_seconds(ClaimedMessage(**fields), adapter and adapter()) == awaited
