"""The channels of a project, and as one session sees them."""

import pytest

from tests import clock, factories
from tests.api.calls import problem
from verification import sql
from verification.core import caching
from verification.models import Message
from verification.services.sessions import describe

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def bot(project):
    return project.provider("messenger_a", name="bot", type="collector_bot")


@pytest.fixture
def session_id(api):
    return api.create().data["session_id"]


def by_type(response):
    return {channel["type"]: channel for channel in response.data}


# --- the project's ---------------------------------------------------------------------------------------------------


def test_without_a_session_they_are_the_projects_in_its_order(api, project):
    project.channel("email", position=0)
    project.channel("sms", position=1)
    project.channel("voice", position=2)
    assert [channel["type"] for channel in api.channels().data] == ["email", "sms", "voice"]


def test_no_block_is_longer_than_60_seconds_even_where_the_databases_clock_was_set_back(api):
    session_id = api.create().data["session_id"]
    clock.forward(-5)
    assert max(channel["timeout"] for channel in api.channels(session_id).data) == 60
    assert api.send(session_id, "sms").data["retry_after"] == 60


def test_without_a_session_a_channel_is_active_if_it_needs_no_start(api, bot):
    factories.subscribe(PHONE, bot)
    channels = by_type(api.channels())
    assert (channels["sms"]["is_active"], channels["messenger_a"]["is_active"]) == (True, False)


def test_a_messenger_with_a_provider_that_needs_no_start_is_active(api, project, bot):
    project.provider("messenger_a", name="gateway")
    assert by_type(api.channels())["messenger_a"]["is_active"] is True


def test_names_icons_and_links_can_be_the_owners(api, project):
    owners = {"name": "Text", "image_url": "https://cdn.example/sms.png", "link": "https://shop.example/sms"}
    project.channel("sms", **owners)
    sms = by_type(api.channels())["sms"]
    assert {name: sms[name] for name in owners} == owners


def test_a_channel_without_a_link_points_to_the_site_and_else_to_us(api, project):
    assert by_type(api.channels())["sms"]["link"] == "http://testserver"
    project.set(site_url="https://shop.example")
    assert by_type(api.channels())["sms"]["link"] == "https://shop.example"


def test_the_link_of_a_bot_is_its_own(api, project, bot):
    project.channel("messenger_a", link="https://shop.example/telegram")
    assert by_type(api.channels())["messenger_a"]["link"] == "https://t.example/bot"


def test_a_channel_that_can_send_nothing_is_not_listed(api, project):
    project.channel("voice", is_active=False)
    project.row.providers.filter(channel="email").update(is_enabled=False)
    caching.clear_all()
    assert list(by_type(api.channels())) == ["sms"]


def test_an_empty_body_announced_as_anything_does_not_matter_to_a_get(api):
    response = api.call("GET", "/session/channels", key=api.api_key, content_type="text/plain")
    assert response.status_code == 200


# --- a session's -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement(56)
def test_the_block_is_told_in_whole_seconds_rounded_up(api, session_id):
    clock.set_age(Message.objects.all(), 58.9)
    channels = by_type(api.channels(session_id))
    assert (channels["sms"]["timeout"], channels["voice"]["timeout"]) == (2, 0)


def test_a_block_that_ran_down_is_0(api, session_id):
    clock.set_age(Message.objects.all(), 60)
    assert by_type(api.channels(session_id))["sms"]["timeout"] == 0


def test_a_bot_is_active_once_the_user_has_started_it(api, bot, session_id):
    assert by_type(api.channels(session_id))["messenger_a"]["is_active"] is False
    factories.subscribe(PHONE, bot)
    assert by_type(api.channels(session_id))["messenger_a"]["is_active"] is True


def test_a_bot_that_the_user_has_blocked_is_not_active(api, bot, session_id):
    factories.subscribe(PHONE, bot, is_active=False)
    assert by_type(api.channels(session_id))["messenger_a"]["is_active"] is False


def test_a_bot_started_by_another_recipient_is_not_active(api, bot, session_id):
    factories.subscribe("+4915112345679", bot)
    assert by_type(api.channels(session_id))["messenger_a"]["is_active"] is False


def test_the_deep_link_is_the_sessions_own_and_tells_nothing_of_it(api, bot):
    created = {channel["type"]: channel for channel in api.create().data["channels"]}["messenger_a"]["link"]
    session_id = api.create().data["session_id"]
    assert by_type(api.channels(session_id))["messenger_a"]["link"] == created
    assert session_id not in created and PHONE[1:] not in created


def test_the_deep_links_of_two_sessions_differ(api, bot):
    sessions = [api.create(to).data["session_id"] for to in (PHONE, "+4915112345679")]
    links = {by_type(api.channels(session_id))["messenger_a"]["link"] for session_id in sessions}
    assert len(links) == 2


# --- sessions that are not open --------------------------------------------------------------------------------------


def test_a_session_that_is_verified_while_it_is_looked_at_is_over(api, outbox, session_id, monkeypatch):
    """Its channels would show the blocks of the session that comes next."""
    look = sql.call

    def verify_first(function, **arguments):
        monkeypatch.setattr(describe.sql, "call", look)
        api.check(session_id, outbox.code)
        return look(function, **arguments)

    monkeypatch.setattr(describe.sql, "call", verify_first)
    assert problem(api.channels(session_id)) == (409, "session_verified")
