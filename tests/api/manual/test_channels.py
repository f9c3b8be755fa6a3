"""The channels that a customer's server can send over, with their providers."""

import pytest

from tests import factories
from verification.core import caching
from verification.models import Provider
from verification.services.providers import accounts

pytestmark = pytest.mark.django_db


def system_provider(channel="sms", name="system"):
    made = accounts.add_provider(
        project=None,
        channel=channel,
        provider_type="collector",
        name=name,
        values={"name": name, "token": "s3cret-t0ken"},
        priority=1,
    )
    caching.clear_all()
    return made


def providers_of(api, channel):
    return next(item["providers"] for item in api.manual_channels().data if item["type"] == channel)


def test_they_stand_in_the_projects_order(api):
    assert [channel["type"] for channel in api.manual_channels().data] == ["sms", "voice", "email"]


def test_providers_stand_in_the_order_of_trial(api, project):
    project.provider("sms", name="last", priority=200)
    project.provider("sms", name="early", priority=1)
    assert [provider["name"] for provider in providers_of(api, "sms")] == ["early", "sms first", "last"]


def test_system_providers_come_after_the_projects_own(api):
    system_provider()
    listed = [(provider["name"], provider["is_system"]) for provider in providers_of(api, "sms")]
    assert listed == [("sms first", False), ("system", True)]


def test_a_system_provider_serves_no_channel_that_the_project_lacks(api):
    system_provider("messenger_b")
    assert "messenger_b" not in [channel["type"] for channel in api.manual_channels().data]


def test_a_provider_that_is_switched_off_is_not_listed(api, project):
    project.provider("sms", name="off", is_enabled=False)
    assert [provider["name"] for provider in providers_of(api, "sms")] == ["sms first"]


def test_a_channel_that_is_switched_off_is_not_listed(api, project):
    project.channel("sms", is_active=False)
    assert [channel["type"] for channel in api.manual_channels().data] == ["voice", "email"]


def test_a_channel_without_an_enabled_provider_is_not_listed(api):
    Provider.objects.filter(channel="sms").update(is_enabled=False)
    caching.clear_all()
    assert [channel["type"] for channel in api.manual_channels().data] == ["voice", "email"]


def test_a_provider_of_another_project_is_not_listed(api):
    factories.project(channels=("sms",))
    assert len(providers_of(api, "sms")) == 1


@pytest.mark.requirement(11)
def test_no_setting_of_a_provider_is_shown(api):
    system_provider()
    assert "s3cret" not in api.manual_channels().content.decode()


def test_a_listed_id_can_be_sent_through(api, outbox):
    named = providers_of(api, "voice")[0]["id"]
    assert api.manual_send(channel="voice", provider_id=named).status_code == 200
    assert outbox.names == ["voice first"]
