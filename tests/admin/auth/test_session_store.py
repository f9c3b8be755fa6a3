"""The store of the panel's sessions, and what ends a session."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.urls import reverse

from verification.admin.auth.session_store import SessionStore, stored_key

pytestmark = pytest.mark.django_db

INDEX = reverse("admin:index")


@pytest.fixture
def logged_in():
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_the_value_of_the_cookie_is_not_stored(logged_in):
    value = logged_in.cookies["session"].value
    assert [row.session_key for row in BrowserSession.objects.all()] == [stored_key(value)]
    assert value not in stored_key(value)


def test_what_is_stored_is_no_cookie(logged_in):
    thief = Client()
    thief.cookies["session"] = BrowserSession.objects.get().session_key
    assert thief.get(INDEX).status_code == 302
    assert logged_in.get(INDEX).status_code == 200


def test_a_logout_removes_the_row(logged_in):
    logged_in.post(reverse("admin:logout"))
    assert not BrowserSession.objects.exists()


def test_a_request_under_way_does_not_bring_an_ended_session_back(logged_in):
    under_way = SessionStore(logged_in.cookies["session"].value)
    under_way["seen"] = True
    BrowserSession.objects.all().delete()
    with pytest.raises(UpdateError):
        under_way.save()
    assert not BrowserSession.objects.exists()


def test_a_session_that_is_over_opens_nothing(logged_in):
    BrowserSession.objects.update(expire_date="2020-01-01T00:00Z")
    assert logged_in.get(INDEX).status_code == 302


def test_a_request_that_only_renews_takes_back_nothing_that_another_wrote(logged_in):
    value = logged_in.cookies["session"].value
    renewing, writing = SessionStore(value), SessionStore(value)
    assert "seen" not in renewing
    writing["seen"] = True
    writing.save()
    BrowserSession.objects.update(expire_date="2020-01-01T00:00Z")
    renewing.save()
    assert SessionStore(value)["seen"]


def test_what_is_changed_and_changed_back_is_written_each_time(logged_in):
    store = SessionStore(logged_in.cookies["session"].value)
    for seen in (True, False, True):
        store["seen"] = seen
        store.save()
        assert SessionStore(store.session_key)["seen"] is seen
