"""Codes are forgotten on time, however a session or a message ends."""

import pytest

from providers.base import Outcome, Result
from tests import clock
from tests.api.calls import WRONG
from verification.core import caching
from verification.models import Message, Session, VerifyToken
from verification.services.delivery import dispatch, sweep

pytestmark = pytest.mark.django_db

SESSION_IS_OVER = 180
MESSAGE_IS_OVER = 600
LEASE_IS_OVER = 60  # longer than any


def codes():
    """Count the rows that hold a code in any form."""
    sessions = Session.objects.exclude(code_digest=None, code_encrypted=None).count()
    return sessions + Message.objects.exclude(code_encrypted=None).count()


def open_session(api, **body):
    return api.create(**body).data["session_id"]


# --- sessions --------------------------------------------------------------------------------------------------------


def verified(api, outbox, project):
    assert api.check(open_session(api), outbox.code).status_code == 200


def locked(api, outbox, project):
    session_id = open_session(api)
    assert [api.check(session_id, WRONG).status_code for _ in range(5)] == [400] * 5


def replaced(api, outbox, project):
    locked(api, outbox, project)
    open_session(api, to="+49 151 12345678")
    assert Session.objects.count() == 2


def sent_and_forgotten_by_its_user(api, outbox, project):
    open_session(api)
    assert outbox.code


def never_sent(api, outbox, project):
    open_session(api, send=False)


def sent_in_vain(api, outbox, project):
    outbox.answer("sms first", Result(Outcome.REFUSED, error="No."))
    open_session(api)
    assert outbox.messages == []


def with_a_worker_that_died(api, outbox, project):
    open_session(api)
    assert len(dispatch.claim_due(limit=1, idle_seconds=0)) == 1


def of_a_test_login(api, outbox, project):
    project.test_login("bob@example.com", "123456")
    open_session(api, to="bob@example.com")


def of_a_disabled_project(api, outbox, project):
    open_session(api)
    project.set(is_enabled=False)


ENDS_OF_SESSIONS = [
    verified,
    locked,
    replaced,
    sent_and_forgotten_by_its_user,
    never_sent,
    sent_in_vain,
    with_a_worker_that_died,
    of_a_test_login,
    of_a_disabled_project,
]


@pytest.mark.requirement(20)
@pytest.mark.parametrize("end", ENDS_OF_SESSIONS)
def test_once_a_session_is_over_its_code_is_forgotten_in_every_form(api, outbox, project, end):
    end(api, outbox, project)
    clock.forward(SESSION_IS_OVER)
    sweep.wipe_codes()
    assert codes() == 0


def test_a_verified_session_forgets_its_code_at_once(api, outbox, project):
    verified(api, outbox, project)
    assert codes() == 0


def test_the_code_of_a_live_session_is_kept_beside_one_that_is_over(api, outbox):
    over = open_session(api)
    clock.forward(SESSION_IS_OVER - 1)
    live = open_session(api, to="+4915112345679")
    assert sweep.wipe_codes() == 0
    clock.forward(1)
    assert sweep.wipe_codes() == 1
    assert Session.objects.get(pk=over).code_digest is None
    assert api.check(live, outbox.code).status_code == 200


# --- messages with a code of their own -------------------------------------------------------------------------------


def delivered(api, outbox, project):
    assert outbox.messages


def awaiting_a_receipt(api, outbox, project):
    outbox.answer("sms first", Result.accepted("id", is_delivered=False))
    assert outbox.messages
    assert Message.objects.get().status == "sent"


def perhaps_sent(api, outbox, project):
    outbox.answer("sms first", Result(Outcome.UNKNOWN, error="The connection broke."))
    assert outbox.messages


def refused(api, outbox, project):
    outbox.answer("sms first", Result(Outcome.REFUSED, error="No."))
    assert outbox.messages == []


def nobody_sent_it(api, outbox, project):
    clock.forward(MESSAGE_IS_OVER)


def it_failed_for_now_and_its_time_ended(api, outbox, project):
    outbox.answer("sms first", *[Result(Outcome.TEMPORARY, error="Later.")] * 9)
    assert outbox.messages == []
    clock.forward(MESSAGE_IS_OVER)


def its_worker_died(api, outbox, project):
    assert len(dispatch.claim_due(limit=1, idle_seconds=0)) == 1
    clock.forward(MESSAGE_IS_OVER + LEASE_IS_OVER)


def its_project_was_disabled(api, outbox, project):
    project.set(is_enabled=False)
    assert outbox.messages == []
    clock.forward(MESSAGE_IS_OVER)


ENDS_OF_MESSAGES = [
    delivered,
    awaiting_a_receipt,
    perhaps_sent,
    refused,
    nobody_sent_it,
    it_failed_for_now_and_its_time_ended,
    its_worker_died,
    its_project_was_disabled,
]


@pytest.mark.parametrize("end", ENDS_OF_MESSAGES)
def test_once_a_manual_send_is_sent_or_over_its_code_is_forgotten(api, outbox, project, end):
    api.manual_send()
    assert codes() == 1
    end(api, outbox, project)
    sweep.expire_messages()
    assert codes() == 0


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_of_a_token_only_a_digest_is_kept(api, outbox, project):
    token = api.check(open_session(api), outbox.code).data["verify_token"]
    kept = VerifyToken.objects.values().get()
    assert len(bytes(kept["digest"])) == 32
    assert token not in str(kept) and token.replace("-", "") not in str(kept)
    caching.clear_all()
    assert api.verify(token).status_code == 200
