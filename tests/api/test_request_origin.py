"""The origin of each request that changes a verification: kept with its rows, found by its id, and erased with them."""

import pytest
from django.test import override_settings

from tests import factories
from tests.api.calls import WRONG
from verification.models import Message, Recipient, Session, VerifyToken, WrongCode
from verification.services.analytics.search import search
from verification.services.analytics.timeline.read import read_timeline
from verification.services.maintenance.forgetting import export, forget

pytestmark = pytest.mark.django_db

TO = "+4915112345678"
HOME, NEARBY = "93.184.216.7", "93.184.216.0/24"  # the ranges for examples count as private


@pytest.fixture(autouse=True)
def _behind_a_proxy():
    with override_settings(TRUSTED_PROXIES=1):
        yield


class Asking:
    """An app that calls from one address. It names its requests itself, or takes the ids that it is answered with."""

    def __init__(self, api, outbox, *, names):
        self.api, self.outbox, self.names = api, outbox, names
        self.ids = {}

    def ask(self, step, path, body, kind="api"):
        headers = {"x-forwarded-for": HOME, **({"x-request-id": f"shop.{step}-4711"} if self.names else {})}
        answer = self.api.call("POST", path, body, key=self.api.key(kind), headers=headers)
        self.ids[step] = answer["X-Request-Id"]
        return answer.data

    def verify(self):
        """Open a session, ask for its code, enter a wrong one and the right one, and redeem the token."""
        session = {"session_id": self.ask("create", "/session/create", {"to": TO, "send": False})["session_id"]}
        self.ask("send", "/session/send", {**session, "type": "sms"})
        self.ask("wrong", "/session/check", {**session, "code": WRONG})
        token = self.ask("check", "/session/check", {**session, "code": self.outbox.code})["verify_token"]
        self.ask("redeem", "/session/verify", {"verify_token": token}, kind="secret")
        return Session.objects.get()


@pytest.fixture(params=[False, True], ids=["ours", "the caller's"])
def asking(request, api, outbox):
    return Asking(api, outbox, names=request.param)


@pytest.mark.requirement(120)
def test_each_step_keeps_the_id_of_its_request_and_the_network_of_its_caller(asking):
    session = asking.verify()
    message, wrong, token = Message.objects.get(), WrongCode.objects.get(), VerifyToken.objects.get()
    kept = {"create": session, "send": message, "wrong": wrong, "check": token}
    assert {step: row.request_id for step, row in kept.items()} | {"redeem": token.used_request_id} == asking.ids
    assert {row.subnet for row in kept.values()} == {NEARBY}


def test_the_story_begins_with_the_request_and_names_those_that_followed(asking):
    story = read_timeline(asking.verify())
    told = {event.text.partition(",")[0]: event for event in story.events if event.request}
    assert {name: event.request for name, event in told.items()} == {
        "Your app requested a code": asking.ids["create"],
        "SMS chosen": asking.ids["send"],
        "Wrong code": asking.ids["wrong"],
        "Correct code": asking.ids["check"],
        "Your server confirmed the verification": asking.ids["redeem"],
    }
    assert story.events[0].request == asking.ids["create"] and story.events[0].detail.endswith(f"From {NEARBY}.")


@pytest.mark.requirement(120)
def test_every_request_leads_to_the_story_but_a_caller_s_own_id_of_the_last(asking, project):
    session = asking.verify()
    assert len(set(asking.ids.values())) == len(asking.ids)
    lead = {step for step, request_id in asking.ids.items() if search(request_id, [project.id]).only == session}
    assert lead == asking.ids.keys() - ({"redeem"} if asking.names else set())
    other = factories.project()
    assert not any(search(request_id, [other.id]).sessions for request_id in asking.ids.values())


@pytest.mark.requirement(120)
def test_an_erased_recipient_leaves_no_id_and_no_network(asking, project):
    asking.verify()
    forget(project=project.row, to=TO)
    rows = [*Session.objects.all(), *Message.objects.all(), *WrongCode.objects.all()]
    assert rows and {(row.request_id, row.subnet) for row in rows} == {("", "")}
    assert not VerifyToken.objects.exists()


@pytest.mark.requirement(120)
def test_of_networks_the_export_has_that_of_the_right_code_alone(asking, project):
    asking.verify()
    data = export(project=project.row, to=TO)
    assert str(data).count(NEARBY) == 1 and data["right_codes"][0]["subnet"] == NEARBY
    assert not any(request_id in str(data) for request_id in asking.ids.values())


def test_the_message_of_a_session_that_was_open_keeps_the_later_request(asking):
    asking.ask("create", "/session/create", {"to": TO, "send": False})
    asking.ask("again", "/session/create", {"to": TO})
    session, message = Session.objects.get(), Message.objects.get()
    assert (session.request_id, message.request_id) == (asking.ids["create"], asking.ids["again"])
    assert (session.subnet, message.subnet) == (NEARBY, NEARBY)


def test_the_message_that_came_with_its_session_leaves_it_to_the_session(asking):
    asking.ask("create", "/session/create", {"to": TO})
    message = Message.objects.get()
    assert (message.request_id, message.subnet, message.session.request_id) == ("", "", asking.ids["create"])


def test_a_manual_send_is_found_by_its_request(asking, project):
    asking.ask("manual", "/manual/send", {"to": TO, "channel": "sms"}, kind="secret")
    message = Message.objects.get()
    assert (message.request_id, message.subnet) == (asking.ids["manual"], "")
    assert search(asking.ids["manual"], [project.id]).only == message


def test_an_id_that_looks_like_a_session_s_or_an_event_s_is_found_too(api, project):
    for request_id in ("01JZZZZZZZZZZZZZZZZZZZZZZZ", "evt_4711", "4711", "0197a0c0d2b87000a000000000000000"):
        Recipient.objects.all().delete()
        api.create(headers={"x-request-id": request_id})
        assert search(request_id, [project.id]).only == Session.objects.get(), request_id


def test_of_many_requests_of_one_id_the_newest_stories_are_found(api, project):
    for number in range(3):
        api.create(f"+491511234567{number}", headers={"x-request-id": "nightly-run"})
    assert len(search("nightly-run", [project.id]).sessions) == 3


@pytest.mark.parametrize("network", ["127.0.0.1", "10.0.0.7", "not an address"])
def test_a_network_that_tells_nobody_apart_is_not_told(api, network):
    answer = api.create(headers={"x-forwarded-for": network})
    assert "From" not in read_timeline(Session.objects.get(pk=answer.data["session_id"])).events[0].detail
