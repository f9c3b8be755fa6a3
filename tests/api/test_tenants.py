"""Two projects: nothing of the one can be seen, used or used up by the other."""

import uuid

import pytest

from tests import factories
from tests.api.calls import WRONG, Api, problem
from verification.models import Message, Provider, Session

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def stranger(client):
    """The API as another project calls it."""
    other = factories.project(channels=("sms", "voice", "email"))
    return Api(client, other.api_key, other.secret_key)


def without_id(response):
    assert response.data.pop("request_id")
    return response.status_code, response.data


@pytest.mark.requirement(9)
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda api, session_id: api.send(session_id, "voice"), id="send"),
        pytest.param(lambda api, session_id: api.channels(session_id), id="channels"),
        pytest.param(lambda api, session_id: api.settings(session_id), id="settings"),
        pytest.param(lambda api, session_id: api.check(session_id, WRONG), id="check"),
    ],
)
def test_a_foreign_session_looks_unknown(api, stranger, ask):
    session_id = api.create().data["session_id"]
    assert without_id(ask(stranger, session_id)) == without_id(ask(stranger, UNKNOWN))


@pytest.mark.requirement(35)
def test_a_foreign_session_that_is_over_looks_unknown_too(api, stranger, outbox):
    session_id = api.create().data["session_id"]
    api.check(session_id, outbox.code)
    assert problem(stranger.send(session_id, "voice")) == (404, "session_not_found")


def test_a_foreign_check_spends_no_attempt_and_verifies_nothing(api, stranger, outbox):
    session_id = api.create().data["session_id"]
    assert problem(stranger.check(session_id, outbox.code)) == (404, "session_not_found")
    assert Session.objects.values_list("attempts", "verified_at").get() == (0, None)


def test_a_foreign_send_sends_nothing(api, stranger, outbox):
    session_id = api.create(send=False).data["session_id"]
    stranger.send(session_id, "voice")
    assert outbox.messages == []


@pytest.mark.requirement(10)
def test_a_foreign_token_looks_unknown_and_is_not_used_up(api, stranger, outbox):
    token = api.check(api.create().data["session_id"], outbox.code).data["verify_token"]
    assert without_id(stranger.verify(token)) == without_id(stranger.verify(str(uuid.uuid4())))
    assert api.verify(token).data == {"phone": PHONE}


def test_a_foreign_token_that_was_used_looks_unknown_too(api, stranger, outbox):
    token = api.check(api.create().data["session_id"], outbox.code).data["verify_token"]
    api.verify(token)
    assert problem(stranger.verify(token)) == (404, "verify_token_not_found")


@pytest.mark.requirement(9)
def test_a_foreign_message_looks_unknown(api, stranger):
    message_id = api.manual_send().data["message_id"]
    assert without_id(stranger.manual_message(message_id)) == without_id(stranger.manual_message(12345))


@pytest.mark.requirement(11)
def test_a_foreign_provider_looks_unknown_and_sends_nothing(stranger, project):
    foreign = stranger.manual_send(provider_id=Provider.objects.get(project=project.row, channel="sms").pk)
    assert without_id(foreign) == without_id(stranger.manual_send(provider_id=2**40))
    assert not Message.objects.exists()


def test_one_recipient_of_two_projects_has_two_sessions(api, stranger):
    assert api.create().data["session_id"] != stranger.create().data["session_id"]


@pytest.mark.requirement(12)
def test_one_recipient_of_two_projects_has_two_blocks(api, stranger, outbox):
    api.create()
    assert stranger.create().data["sent_to"] == "sms"
    assert len(outbox.messages) == 2


def test_one_recipient_of_two_projects_has_two_send_limits(api, stranger):
    for _ in range(5):
        api.manual_send()
    assert api.manual_send().status_code == 429
    assert stranger.manual_send().status_code == 200


def test_one_recipient_of_two_projects_has_two_budgets_of_wrong_codes(api, stranger, project):
    project.set(wrong_codes_per_15_minutes=1)
    api.check(api.create().data["session_id"], WRONG)
    assert api.create(type="voice").status_code == 429
    assert stranger.create().status_code == 200


def test_one_recipient_of_two_projects_has_two_languages(api, stranger, outbox):
    session_id = api.create(headers={"accept-language": "de"}).data["session_id"]
    api.check(session_id, outbox.code)
    assert stranger.settings(stranger.create().data["session_id"]).data["language"] == "en"


def test_the_channels_told_are_the_projects_own(stranger, project):
    project.channel("sms", name="Only ours")
    assert "Only ours" not in stranger.channels().content.decode() + stranger.manual_channels().content.decode()


@pytest.mark.requirement(12)
def test_an_idempotency_key_is_the_projects_own(api, stranger):
    headers = {"idempotency-key": "order-1"}
    first = api.manual_send(headers=headers)
    second = stranger.manual_send(headers=headers)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.data["message_id"] != second.data["message_id"]


def test_the_limit_of_requests_in_a_second_is_the_projects_own(api, stranger, project):
    project.set(requests_per_second=1)
    assert {api.create(send=False).status_code for _ in range(3)} == {200, 429}
    assert stranger.create().status_code == 200
