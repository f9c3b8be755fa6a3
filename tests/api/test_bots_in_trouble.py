"""Answers to callers while a bot or a provider cannot be read, or is gone since the configuration was read."""

import pytest

from tests.api.calls import problem
from verification.core import caching
from verification.models import Message, Provider

PHONE = "+4915112345678"
OWN_LINK = "http://testserver"  # of a channel to which its owner gave no other


@pytest.fixture
def bot(project):
    return project.provider("messenger_a", name="bot", type="collector_bot")


def lose_its_key(provider):
    Provider.objects.filter(pk=provider.pk).update(secrets=b"sealed with a key that is gone")


def switch_off(provider):
    Provider.objects.filter(pk=provider.pk).update(is_enabled=False)


def delete(provider):
    Provider.objects.filter(pk=provider.pk).delete()


troubles = pytest.mark.parametrize("trouble", [lose_its_key, switch_off, delete])


@troubles
@pytest.mark.django_db
def test_sessions_are_opened_described_and_sent_again(api, bot, trouble):
    api.channels()  # from here on, for the better part of a second, the configuration is remembered
    trouble(bot)
    opened = api.create(PHONE, type="sms")
    assert (opened.status_code, opened.data["sent_to"]) == (200, "sms")
    session_id = opened.data["session_id"]
    assert api.channels(session_id).status_code == 200
    assert api.channels().status_code == 200
    assert problem(api.send(session_id, type="messenger_a"))[0] == 409
    assert api.manual_send(PHONE, channel="sms").status_code == 200


@pytest.mark.django_db
def test_a_bot_that_cannot_be_read_has_its_link_all_the_same(api, bot):
    lose_its_key(bot)
    caching.clear_all()
    links = [channel["link"] for channel in api.create(PHONE).data["channels"]]
    assert any(link.startswith("https://t.example/bot?start=") for link in links)


@pytest.mark.django_db
def test_where_no_link_can_be_made_all_goes_on_without_it(api, project, caplog):
    project.provider("messenger_a", name="faulty", type="collector_faulty")
    opened = api.create(PHONE)
    assert (opened.status_code, opened.data["sent_to"]) == (200, "sms")
    session_id = opened.data["session_id"]
    for channels in (opened.data["channels"], api.channels().data, api.channels(session_id).data):
        assert {channel["type"]: channel["link"] for channel in channels}["messenger_a"] == OWN_LINK
    refused = api.send(session_id, type="messenger_a")
    assert (problem(refused), refused.data["link"]) == ((409, "channel_not_active"), OWN_LINK)
    assert "its link cannot be made (RuntimeError)" in caplog.text
    assert "p4ssw0rd" not in caplog.text


@pytest.mark.django_db
def test_a_bot_without_a_link_leaves_that_to_the_next(api, project):
    project.provider("messenger_a", name="faulty", type="collector_faulty", priority=1)
    project.provider("messenger_a", name="bot", type="collector_bot", priority=2)
    links = {channel["type"]: channel["link"] for channel in api.create(PHONE).data["channels"]}
    assert links["messenger_a"].startswith("https://t.example/bot?start=")


@pytest.mark.django_db(transaction=True)
def test_a_provider_that_is_gone_by_now_is_a_wrong_field(api, project):
    gone = project.provider("sms", name="gone")
    assert api.manual_channels().status_code == 200
    delete(gone)
    refused = api.manual_send(PHONE, provider_id=gone.pk)
    assert problem(refused) == (400, "validation_error")
    assert refused.data["errors"][0]["field"] == "provider_id"
    assert not Message.objects.exists()
    assert api.manual_send(PHONE).status_code == 200
