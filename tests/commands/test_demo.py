"""The demo of a first start: made once, healed where a start was killed, left alone where it was changed."""

import json

import pytest
from django.contrib.auth.models import User

from verification.models import ApiKey, ChannelType, EventType, Project
from verification.services.maintenance.demo import ensure_demo
from verification.services.projects.keys import authenticate

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(tmp_path):
    return tmp_path / "demo.json"


def test_it_is_made_once(path):
    demo = ensure_demo(path)
    assert ensure_demo(path) == demo
    assert json.loads(path.read_text())["api_key"] == demo.api_key
    assert path.stat().st_mode & 0o777 == 0o600
    assert authenticate(demo.api_key).project.id == demo.project
    assert User.objects.get(username="admin").check_password(demo.admin_password)


def test_the_inbox_comes_first_on_every_channel_then_the_console_and_the_sandbox(path):
    config = authenticate(ensure_demo(path).api_key).project
    assert list(config.channels) == ChannelType.values
    for channel in config.channels.values():
        *shown, simulated = [provider.type for provider in channel.providers]
        assert shown == ["inbox", "console"]
        assert simulated == ("sandbox_bot" if channel.type == "messenger_a" else "sandbox")


def test_it_tells_all_events_so_that_a_listener_has_something_to_show(path):
    assert set(Project.objects.get(pk=ensure_demo(path).project).events) == set(EventType.values)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"api_key": "ww_api_x"}'])
def test_a_broken_file_is_replaced_by_one_with_new_keys(path, text):
    lost = ensure_demo(path)
    path.write_text(text)
    found = ensure_demo(path)
    assert found.project == lost.project
    assert found.api_key != lost.api_key
    assert authenticate(found.secret_key).kind == "secret"
    assert found.admin_password == ""  # somebody's, so it is not touched
    assert User.objects.get(username="admin").check_password(lost.admin_password)


def test_a_start_that_was_killed_before_its_commit_is_made_up_for(path):
    ensure_demo(path)
    Project.objects.all().delete()
    User.objects.all().delete()
    demo = ensure_demo(path)
    assert authenticate(demo.api_key).project.id == demo.project
    assert User.objects.get(username="admin").check_password(demo.admin_password)


def test_what_the_operator_took_away_stays_away(path):
    demo = ensure_demo(path)
    User.objects.get(username="admin").delete()
    ApiKey.objects.filter(kind="secret").delete()
    found = ensure_demo(path)
    assert (found.api_key, found.secret_key, found.admin_user, found.admin_password) == (demo.api_key, "", "", "")
    Project.objects.all().delete()
    User.objects.create_user("admin", password="another one")
    found = ensure_demo(path)
    assert (found.api_key, found.admin_user, found.admin_password) == ("", "admin", "")
    assert not Project.objects.exists()
