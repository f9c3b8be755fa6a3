"""The people of a project: roles, leaving, handing over; and invitations, from the mail to the member."""

import re
import smtplib
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.utils import timezone

from tests import factories
from verification.core.errors import UserError
from verification.models import AuditEntry, Invitation, Membership, Role
from verification.models.bounds import MAX_INVITATIONS
from verification.services.users import invitations, people

pytestmark = pytest.mark.django_db
ADDRESS = "ann@example.com"


def a_member(project, name, role=Role.OWNER, **fields):
    user = User.objects.create_user(name, email=f"{name}@example.com", is_staff=True)
    return Membership.objects.create(project=project, user=user, role=role, **fields)


@pytest.fixture
def project():
    return factories.project("Shop").row


@pytest.fixture
def owner(project):
    return a_member(project, "owner", sees_addresses=True)


def invite(owner, email=ADDRESS, role="support", sees_addresses=False):
    return invitations.invite(
        project=owner.project, email=email, role=role, sees_addresses=sees_addresses, by=owner.user
    )


def mailed_token():
    for row in invitations.claim_due(limit=10):
        invitations.deliver(row)
    return re.search(r"/invitation/([^/\s]+)/", mail.outbox[-1].body)[1]


def opened(token):
    return invitations.find(invitations.digest_of(token))


# --- roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement(83)
def test_nobody_changes_their_own_role(project, owner):
    a_member(project, "second")
    with pytest.raises(UserError, match="own role"):
        people.change_role(owner, role=Role.OWNER, sees_addresses=True, by=owner.user)


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.ANALYST, Role.SUPPORT])
def test_only_owners_manage_people(project, owner, role):
    other = a_member(project, "other", role)
    with pytest.raises(UserError, match="does not allow you to manage"):
        people.change_role(owner, role=Role.SUPPORT, sees_addresses=False, by=other.user)
    with pytest.raises(UserError, match="does not allow you to manage"):
        people.remove(owner, by=other.user)
    with pytest.raises(UserError, match="does not allow you to manage"):
        invite(other)


def test_an_owner_of_another_project_changes_nobody_here(project, owner):
    stranger = a_member(factories.project("Theirs").row, "stranger")
    with pytest.raises(UserError, match="does not allow you to manage"):
        people.remove(owner, by=stranger.user)


@pytest.mark.requirement(83)
def test_who_sees_no_addresses_lets_nobody_see_them(project, owner):
    second, support = a_member(project, "second"), a_member(project, "support", Role.SUPPORT)
    with pytest.raises(UserError, match="full addresses"):
        people.change_role(support, role=Role.SUPPORT, sees_addresses=True, by=second.user)
    with pytest.raises(UserError, match="full addresses"):
        invite(second, sees_addresses=True)
    people.change_role(support, role=Role.SUPPORT, sees_addresses=True, by=owner.user)
    support.refresh_from_db()
    assert support.sees_addresses


def test_a_change_of_role_is_on_record(project, owner):
    support = a_member(project, "support", Role.SUPPORT)
    people.change_role(support, role=Role.ANALYST, sees_addresses=False, by=owner.user)
    line = AuditEntry.objects.filter(object_type="verification.membership", action="Changed").latest("pk")
    assert (line.object_label, line.changes["role"]) == ("support", ["support", "analyst"])


# --- leaving ----------------------------------------------------------------------------------------------------------


def test_the_last_owner_cannot_leave_and_another_can(project, owner):
    a_member(project, "support", Role.SUPPORT)
    with pytest.raises(UserError, match="needs an owner"):
        people.leave(owner)
    a_member(project, "second")
    people.leave(owner)
    assert [each.user.username for each in project.memberships.filter(role=Role.OWNER)] == ["second"]


def test_an_owner_who_cannot_log_in_does_not_count(project, owner):
    second = a_member(project, "second")
    User.objects.filter(pk=second.user_id).update(is_active=False)
    with pytest.raises(UserError, match="needs an owner"):
        people.leave(owner)
    with pytest.raises(UserError, match="cannot log in"):
        people.leave(owner, successor=second)


def test_a_project_is_handed_over_in_one_step(project, owner):
    support = a_member(project, "support", Role.SUPPORT)
    people.leave(owner, successor=support)
    assert [(each.user.username, each.role) for each in project.memberships.all()] == [("support", "owner")]
    assert AuditEntry.objects.filter(action="Handed over", project=project).exists()


def test_who_owns_nothing_hands_nothing_over(project, owner):
    support, friend = a_member(project, "support", Role.SUPPORT), a_member(project, "friend", Role.SUPPORT)
    with pytest.raises(UserError, match="does not allow you to manage"):
        people.leave(support, successor=friend)
    assert project.memberships.filter(role=Role.OWNER).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_once_one_stays():
    project = factories.project("Shop").row
    owners, begin, refused = [a_member(project, name) for name in ("one", "two")], threading.Barrier(2), []

    def leave(member):
        begin.wait()
        try:
            people.leave(member)
        except UserError as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=leave, args=(each,)) for each in owners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [people.LAST_OWNER]
    assert project.memberships.count() == 1


# --- invitations ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement(83)
def test_the_link_is_mailed_and_only_its_digest_is_kept(owner):
    row = invite(owner)
    token = mailed_token()
    row.refresh_from_db()
    assert mail.outbox[0].to == [ADDRESS] and "Your role: support" in mail.outbox[0].body
    assert bytes(row.digest) == invitations.digest_of(token) and row.due_at is None
    assert token not in str(AuditEntry.objects.values_list("changes", "object_label"))
    assert invitations.claim_due(limit=10) == []


def test_a_mail_that_fails_is_tried_again_with_another_link(owner, monkeypatch):
    row = invite(owner)

    def refuse(*_):
        raise smtplib.SMTPServerDisconnected

    with monkeypatch.context() as patched:
        patched.setattr(EmailBackend, "send_messages", refuse)
        for each in invitations.claim_due(limit=10):
            invitations.deliver(each)
    row.refresh_from_db()
    first, due_at = bytes(row.digest), row.due_at
    assert due_at > timezone.now()
    Invitation.objects.update(due_at=timezone.now())
    assert opened(mailed_token()) == row
    assert invitations.find(first) is None


def test_a_new_person_chooses_name_and_password_once(project, owner):
    invite(owner)
    token = mailed_token()
    user = invitations.accept_as_new(opened(token), username="ann", password="correct horse battery")
    assert (user.email, user.is_staff, user.is_superuser) == (ADDRESS, True, False)
    assert project.memberships.get(user=user).role == Role.SUPPORT
    assert opened(token) is None


def test_a_link_is_good_for_a_day(owner):
    row = invite(owner)
    token = mailed_token()
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert opened(token) is None
    with pytest.raises(UserError, match="expired"):
        invitations.accept(row, User.objects.create_user("ann", email=ADDRESS))


def test_a_withdrawn_link_opens_nothing(owner):
    row = invite(owner)
    token = mailed_token()
    assert invitations.withdraw(row, by=owner.user) and opened(token) is None
    assert not invitations.withdraw(row, by=owner.user)


def test_a_second_invitation_ends_the_first(owner):
    invite(owner)
    first = mailed_token()
    invite(owner, email=ADDRESS.upper(), role="analyst")
    second = mailed_token()
    assert opened(first) is None and opened(second).role == "analyst"


@pytest.mark.requirement(83)
def test_an_invitation_is_bound_to_its_address(project, owner):
    row = invite(owner)
    stranger = User.objects.create_user("stranger", email="stranger@example.com", is_staff=True)
    with pytest.raises(UserError, match="a different address"):
        invitations.accept(row, stranger)
    assert not project.memberships.filter(user=stranger).exists()


def test_an_account_that_the_operator_disabled_is_not_replaced(owner):
    User.objects.create_user("ann", email="Ann@example.com", is_staff=True, is_active=False)
    row = invite(owner)
    with pytest.raises(UserError, match="operator"):
        invitations.accept_as_new(row, username="ann2", password="correct horse battery")


def test_the_link_ends_with_the_right_of_whoever_invited(project, owner):
    second = a_member(project, "second")
    row = invite(second)
    people.remove(second, by=owner.user)
    with pytest.raises(UserError, match="expired"):
        invitations.accept_as_new(row, username="ann", password="correct horse battery")
    assert not User.objects.filter(username="ann").exists()


def test_a_member_is_not_invited_again(project, owner):
    a_member(project, "ann", Role.ANALYST)
    with pytest.raises(UserError, match="already a member"):
        invite(owner, email="ANN@example.com")


def test_a_project_invites_so_many_a_day(owner):
    for number in range(MAX_INVITATIONS):
        invite(owner, email=f"{number}@example.com")
    with pytest.raises(UserError, match="at most"):
        invite(owner)


@pytest.mark.django_db(transaction=True)
def test_of_two_clicks_at_once_one_accepts():
    owner = a_member(factories.project("Shop").row, "owner")
    row = invite(owner)
    begin, refused = threading.Barrier(2), []

    def accept(name):
        begin.wait()
        try:
            invitations.accept_as_new(row, username=name, password="correct horse battery")
        except UserError as error:
            refused.append(str(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=accept, args=(name,)) for name in ("ann", "anna")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert owner.project.memberships.count() == 2 and User.objects.filter(email=ADDRESS).count() == 1
