"""The state of a session in the panel: the list, its filter and the page say what the API says."""

import uuid
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories import a_session
from verification.admin.base.display import page_address
from verification.models import Recipient, Session, SessionState
from verification.services.projects.snapshot import load_project
from verification.services.sessions import session_records

pytestmark = pytest.mark.django_db

LIST = reverse("admin:verification_session_changelist")
MINUTES = {"before": -1, "now": 0, "later": 3}
CASES = {  # name -> (fields, state)
    "new": ({}, "open"),
    "used up": ({"attempts": 5}, "locked"),
    "used up, then over": ({"attempts": 5, "expires_at": "before"}, "expired"),
    "over": ({"expires_at": "before"}, "expired"),
    "of a deleted test login": ({"is_test": True, "test_login": uuid.uuid4()}, "expired"),
    "cancelled": ({"expires_at": "now", "cancelled_at": "now", "is_open": False}, "cancelled"),
    "verified, then over": ({"verified_at": "before", "expires_at": "before", "is_open": False}, "verified"),
}


@pytest.fixture
def sessions(panel):
    """A session for each case by its name, each of a recipient of its own."""
    Session.objects.all().delete()
    now, made = timezone.now(), {}
    for number, (name, (fields, _)) in enumerate(CASES.items()):
        recipient = Recipient.objects.create(project=panel.project, address=f"+49151123400{number:02}")
        moments = {key: now + timedelta(minutes=MINUTES[at]) for key, at in fields.items() if key.endswith("_at")}
        created_at = now - timedelta(minutes=2)
        given = {"expires_at": now + timedelta(minutes=3), "created_at": created_at, "attempts_max": 5}
        made[name] = a_session(recipient, **given | fields | moments)
    return made


@pytest.mark.parametrize("name", CASES)
def test_the_panel_and_the_api_tell_the_same_state(panel, sessions, name):
    state, row = SessionState(CASES[name][1]), sessions[name]
    assert session_records.read(load_project(panel.project.pk), row.pk).state == state
    client = panel.as_("owner")
    shown = client.get(LIST, {"state": state}).context["cl"].result_list
    assert {session.pk for session in shown} == {sessions[each].pk for each, (_, of) in CASES.items() if of == state}
    assert f">{state.label}</span>" in client.get(page_address(row)).content.decode()


def test_the_list_shows_the_state_of_each(panel, sessions):
    page = panel.as_("owner").get(LIST).content.decode()
    for state in SessionState:
        assert page.count(f">{state.label}</span>") == sum(of == state for _, of in CASES.values()), state


def test_a_cancelled_session_says_by_whom(panel, sessions):
    page = panel.as_("owner").get(page_address(sessions["cancelled"])).content.decode()
    assert "Not verified: your server cancelled the session after" in page
    assert "Session cancelled by your server" in page and "Session expired" not in page
