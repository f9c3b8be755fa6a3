"""A test login that is over opens nothing: not its sessions under way, not their tokens."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.api.calls import problem
from verification.models import Project, Session, TestLogin

pytestmark = pytest.mark.django_db

PHONE, CODE = "+4915112345678", "424242"


def switch_off(project):
    """Switch them off as another process would: this one learns of it with its next snapshot."""
    Project.objects.filter(pk=project.id).update(test_logins_enabled=False)


def delete(project):
    TestLogin.objects.filter(project_id=project.id).delete()


def let_expire(project):
    TestLogin.objects.filter(project_id=project.id).update(expires_at=timezone.now() - timedelta(seconds=1))


def change(project):
    project.test_login(PHONE, "111111")


def replace(project):
    """Deleted, and added again with the same code."""
    delete(project)
    project.test_login(PHONE, CODE)


ENDS = pytest.mark.parametrize("end", [switch_off, delete, let_expire, change, replace])


@pytest.fixture
def session_id(api, project):
    project.test_login(PHONE, CODE)
    return api.create(PHONE).data["session_id"]


@pytest.mark.requirement(41)
@ENDS
def test_a_session_under_way_ends_with_its_test_login(api, project, session_id, end):
    end(project)
    assert problem(api.check(session_id, CODE)) == (410, "session_expired")


@pytest.mark.requirement(41)
@ENDS
def test_a_token_ends_with_the_test_login(api, project, session_id, end):
    token = api.check(session_id, CODE).data["verify_token"]
    end(project)
    assert problem(api.verify(token)) == (410, "verify_token_expired")


@ENDS
def test_no_session_of_it_is_handed_out_again(api, project, session_id, end):
    end(project)
    assert api.create(PHONE).data["session_id"] != session_id


def test_what_a_process_opens_that_has_not_heard_of_it_yet_opens_nothing(api, project, session_id):
    switch_off(project)
    late = api.create(PHONE).data["session_id"]
    assert Session.objects.get(pk=late).is_test
    assert problem(api.check(late, CODE)) == (410, "session_expired")


def test_the_next_session_after_the_switch_is_an_ordinary_one(api, outbox, project, session_id):
    project.set(test_logins_enabled=False)
    opened = api.create(PHONE).data["session_id"]
    assert problem(api.check(opened, CODE)) == (400, "invalid_code")
    assert Session.objects.get(pk=opened).is_test is False


def test_the_sessions_of_another_test_login_go_on(api, project, session_id):
    project.test_login("+4915112345679", CODE)
    TestLogin.objects.exclude(to=PHONE).delete()
    assert api.check(session_id, CODE).status_code == 200
