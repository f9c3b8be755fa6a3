"""Reading a project's events with its secret key."""

import re

import pytest

from tests.api.calls import problem, wrong_fields
from verification.models import SESSION_EVENTS
from verification.services.notifications import event_feed

pytestmark = pytest.mark.django_db

TO = "+4915112345678"


@pytest.fixture
def told(api, project, outbox):
    """A verified session and a manual send, in a project that wants all events and has no address."""
    project.set(events=[each.value for each in SESSION_EVENTS])
    start = api.events().data["after"]
    session_id = api.create(TO).data["session_id"]
    api.check(session_id, outbox.code)
    api.manual_send("+4915112345679", callback_url="https://shop.example/done")
    assert len(outbox.messages) == 2
    return start


def types(answer):
    assert answer.status_code == 200
    return [event["type"] for event in answer.data["events"]]


def test_the_events_after_a_place_come_in_their_order(api, told):
    answer = api.events(told)
    assert types(answer) == ["session.opened", "session.verified", "message.finished"]
    opened, _, finished = answer.data["events"]
    assert opened["id"].startswith("evt_") and opened["body"]["type"] == "session.opened"
    assert finished["id"] == f"msg_{finished['body']['id']}" and finished["body"]["status"] == "success"
    assert types(api.events(answer.data["after"])) == []
    assert api.events(answer.data["after"]).data["after"] == answer.data["after"]


def test_without_a_place_it_tells_where_new_events_follow(api, told):
    assert api.events().data["events"] == []
    assert types(api.events(api.events().data["after"])) == []


def all_pages(api, **query):
    """Ask until there is no more, and return the types and the number of answers."""
    after, found, asked = "0", [], 0
    while True:
        answer = api.events(after, **query)
        found, after, asked = found + types(answer), answer.data["after"], asked + 1
        if not answer.data["has_more"]:
            return found, asked


@pytest.mark.parametrize(("limit", "asked"), [(1, 3), (2, 2), (3, 1), (100, 1)])
def test_pages_follow_each_other_without_a_gap(api, told, limit, asked):
    assert all_pages(api, limit=limit) == (["session.opened", "session.verified", "message.finished"], asked)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("session.verified", ["session.verified"]),
        ("message.finished,session.opened", ["session.opened", "message.finished"]),
        ("session.locked", []),
    ],
)
def test_only_the_types_that_are_wanted_are_listed(api, told, wanted, found):
    assert all_pages(api, type=wanted) == (found, 1)
    assert all_pages(api, type=wanted, limit=1) == (found, max(len(found), 1))


def test_behind_many_events_of_other_types_there_is_more(api, told, monkeypatch):
    monkeypatch.setattr(event_feed, "LOOK", 2)
    assert all_pages(api, type="message.finished") == (["message.finished"], 2)
    assert types(api.events("0", type="message.finished")) == []


def test_a_place_is_passed_on_over_events_of_other_types(api, told):
    after = api.events("0", type="session.locked").data["after"]
    assert types(api.events(after)) == []


@pytest.mark.requirement(119)
def test_another_projects_events_are_not_listed(api, told, project):
    from tests import factories
    from tests.api.calls import Api

    other = factories.project()
    assert types(Api(api.client, other.api_key, other.secret_key).events("0")) == []


def test_no_recipient_is_listed_in_whole(api, told):
    assert TO not in api.events("0").content.decode()


@pytest.mark.parametrize(
    "after", ["0", "0-1", "9999999999999999-999999999999999999", "17955357380010480-1", "10000000000000000-1"]
)
def test_the_description_says_which_places_are_taken(client, api, after):
    description = client.get("/docs/openapi.json").json()
    (parameter,) = [each for each in description["paths"]["/events"]["get"]["parameters"] if each["name"] == "after"]
    is_described = re.search(parameter["schema"]["pattern"], after) is not None
    assert (api.events(after).status_code == 200) is is_described


@pytest.mark.parametrize("after", ["", "x", "1", "-1", "1-", "99999999999999999-1", "1-1&after=2", "1" * 41, "%00"])
def test_a_text_that_is_no_place_is_a_wrong_field(api, after):
    assert wrong_fields(api.events(after)) == ["after"]


@pytest.mark.parametrize("limit", ["", "0", "101", "-1", "1.0", "ten", "05", "1&limit=2", "9" * 5_000])
def test_a_limit_out_of_its_range_is_a_wrong_field(api, limit):
    assert wrong_fields(api.events("0", limit=limit)) == ["limit"]


@pytest.mark.parametrize("wanted", ["", "session", "session.verified,", "session.verified;session.locked", "%00"])
def test_a_type_that_there_is_not_is_a_wrong_field(api, wanted):
    assert wrong_fields(api.events("0", type=wanted)) == ["type"]


def test_each_event_is_read_by_its_id(api, told):
    for event in api.events("0").data["events"]:
        answer = api.event(event["id"])
        assert (answer.status_code, answer.data) == (200, event)


def test_an_event_of_another_project_is_unknown(api, told):
    from tests import factories
    from tests.api.calls import Api

    other = factories.project()
    stranger = Api(api.client, other.api_key, other.secret_key)
    for event in api.events("0").data["events"]:
        assert problem(stranger.event(event["id"])) == (404, "not_found")


@pytest.mark.parametrize("event_id", ["evt_0", "evt_", "msg_x", "evt_1_1", "ses_1", "1", "%00", "evt_" + "9" * 5_000])
def test_an_id_of_no_event_is_unknown(api, told, event_id):
    assert problem(api.event(event_id)) == (404, "not_found")


def test_neither_kind_of_event_is_found_by_the_number_of_the_other(api, told):
    opened, _, finished = api.events("0").data["events"]
    for event_id in (opened["id"].replace("evt", "msg"), finished["id"].replace("msg", "evt")):
        assert problem(api.event(event_id)) == (404, "not_found")


def test_an_api_key_reads_no_events(api):
    assert problem(api.call("GET", "/events", key=api.api_key)) == (403, "wrong_key_kind")
