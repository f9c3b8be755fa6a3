"""The panel's pages about people: those of a project, an invitation's link, and where a user is logged in."""

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core import mail
from django.test import Client
from django.urls import reverse

from tests.admin.rows import make_panel
from verification.admin.auth.session import CONFIRMED
from verification.core.errors import UserError
from verification.management.commands.createproject import find_or_make_user
from verification.models import AuditEntry, BrowserLogin, Invitation, Membership, Recipient, Role
from verification.services.users import invitations
from verification.services.users.logins import masked_network

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
JOIN, INDEX, LOGINS = (reverse(f"admin:{name}") for name in ("join", "index", "logins"))
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def panel(db):
    made = make_panel()
    support = User.objects.create_user("support", email="support@example.com", is_staff=True)
    Membership.objects.create(project=made.project, user=support, role=Role.SUPPORT)
    return made


def people_of(project):
    return reverse("admin:verification_project_show_people", args=(project.pk,))


def mailed_link():
    for row in invitations.claim_due(limit=10):
        invitations.deliver(row)
    return re.search(r"https?://[^/]+(/\S+)", mail.outbox[-1].body)[1]


def invite(panel, email="ann@example.com", role="analyst"):
    values = {"step": "invite", "email": email, "role": role}
    assert panel.as_("owner").post(people_of(panel.project), values).status_code == 302
    return mailed_link()


def member(panel, name):
    return panel.project.memberships.get(user__username=name)


def test_an_invited_person_makes_an_account_and_is_in(panel):
    link, ann = invite(panel), Client()
    shown = ann.get(link, follow=True)
    assert shown.redirect_chain == [(JOIN, 302)] and "ann@example.com" in shown.content.decode()
    values = {"username": "ann", "password": PASSWORD, "again": PASSWORD}
    assert ann.post(JOIN, values, follow=True).context["request"].path == INDEX
    assert member(panel, "ann").role == Role.ANALYST
    again = Client().get(link, follow=True)
    assert again.status_code == 410 and "already used" in again.content.decode()


def test_where_a_second_factor_is_required_it_is_set_up_next(panel, settings):
    ann, link = Client(), invite(panel)
    settings.IS_SECOND_FACTOR_REQUIRED = True
    ann.get(link, follow=True)
    answer = ann.post(JOIN, {"username": "ann", "password": PASSWORD, "again": PASSWORD})
    assert answer.url == reverse("admin:enrol")
    assert ann.get(INDEX).status_code == 302


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"username": "OWNER", "password": PASSWORD, "again": PASSWORD}, "This username is already in use"),
        ({"username": "ann", "password": PASSWORD, "again": PASSWORD + "!"}, "match."),
        ({"username": "ann", "password": "short", "again": "short"}, "too short"),
        ({"username": "a b", "password": PASSWORD, "again": PASSWORD}, "valid username"),
    ],
)
def test_a_wrong_form_says_what_is_wrong(panel, values, told):
    ann = Client()
    ann.get(invite(panel), follow=True)
    assert told in ann.post(JOIN, values).content.decode()
    assert not User.objects.filter(email="ann@example.com").exists()


def test_a_link_that_was_made_up_says_that_it_is_over(db):
    assert Client().get(reverse("admin:invitation", args=("x" * 43,)), follow=True).status_code == 410
    assert Client().get(JOIN).status_code == 410


def test_links_that_were_made_up_fill_no_table(db):
    Client().get(reverse("admin:invitation", args=("x" * 43,)))
    assert not Session.objects.exists()


def test_whoever_has_an_account_logs_in_and_joins_with_a_click(panel):
    User.objects.create_user("ann", email="ann@example.com", password=PASSWORD, is_staff=True)
    link, ann = invite(panel), Client()
    assert "Log in with it to join" in ann.get(link, follow=True).content.decode()
    login = reverse("admin:login", query={"next": JOIN})
    assert ann.post(login, {"username": "ann", "password": PASSWORD}).url == JOIN
    assert "Join as ann" in ann.get(JOIN).content.decode()
    ann.post(JOIN)
    assert member(panel, "ann").role == Role.ANALYST


def test_another_account_cannot_take_the_link(panel):
    link, stranger = invite(panel), panel.as_("stranger")
    assert "who has a different address" in stranger.get(link, follow=True).content.decode()
    stranger.post(JOIN)
    assert not panel.project.memberships.filter(user__username="stranger").exists()


def test_only_owners_see_the_forms(panel):
    page = panel.as_("support").get(people_of(panel.project)).content.decode()
    assert "Invite someone" not in page and "Save" not in page and "Leave the project" in page
    for values in (
        {"step": "invite", "email": "ann@example.com", "role": "owner"},
        {"step": "change", "member": member(panel, "support").pk, "role": "owner"},
        {"step": "remove", "member": member(panel, "owner").pk},
    ):
        panel.as_("support").post(people_of(panel.project), values)
    assert not Invitation.objects.exists()
    assert [each.role for each in panel.project.memberships.order_by("pk")] == ["owner", "support"]
    assert panel.as_("stranger").get(people_of(panel.project)).status_code in (302, 403, 404)


def test_an_owner_gives_another_role_and_removes(panel):
    client, support = panel.as_("owner"), member(panel, "support")
    client.post(people_of(panel.project), {"step": "change", "member": support.pk, "role": "developer"})
    support.refresh_from_db()
    assert support.role == Role.DEVELOPER
    client.post(people_of(panel.project), {"step": "remove", "member": support.pk})
    assert not panel.project.memberships.filter(pk=support.pk).exists()


def test_a_member_of_another_project_cannot_be_named(panel):
    stranger = panel.other.memberships.get()
    panel.as_("owner").post(people_of(panel.project), {"step": "remove", "member": stranger.pk})
    assert panel.other.memberships.filter(pk=stranger.pk).exists()


@pytest.mark.requirement(87)
def test_changes_of_people_ask_who_it_is(panel):
    client = panel.as_("owner")
    session = client.session
    session[CONFIRMED] = 0
    session.save()
    shown = client.post(people_of(panel.project), {"step": "remove", "member": member(panel, "support").pk})
    assert "Confirm it's you" in shown.content.decode()
    assert panel.project.memberships.count() == 2


def test_the_last_owner_hands_over_and_leaves(panel):
    client = panel.as_("owner")
    page = client.get(people_of(panel.project))
    assert [each.user.username for each in page.context["successors"]] == ["support"]
    client.post(people_of(panel.project), {"step": "leave"})
    assert member(panel, "owner")
    client.post(people_of(panel.project), {"step": "leave", "successor": member(panel, "support").pk})
    assert [(each.user.username, each.role) for each in panel.project.memberships.all()] == [("support", "owner")]


# --- logins -----------------------------------------------------------------------------------------------------------


def log_in(name, **environ):
    client = Client(headers={"user-agent": FIREFOX}, REMOTE_ADDR="203.0.113.77", **environ)
    user = User.objects.get(username=name)
    if not user.has_usable_password():
        user.set_password(PASSWORD)
        user.save()
    client.post(reverse("admin:login"), {"username": name, "password": PASSWORD})
    assert client.get(INDEX).status_code == 200
    return client


def test_a_user_sees_each_browser_without_its_device(panel):
    here = log_in("owner")
    log_in("owner"), log_in("support")
    rows = here.get(LOGINS).context["rows"]
    assert [(row["browser"], row["network"]) for row in rows] == [("Firefox on Linux", "203.0.113.…")] * 2
    assert [row["is_this"] for row in rows].count(True) == 1
    assert "203.0.113.77" not in here.get(LOGINS).content.decode()


@pytest.mark.requirement(87)
def test_a_user_ends_one_and_all_others(panel):
    here, second, third, other = log_in("owner"), log_in("owner"), log_in("owner"), log_in("support")
    number = here.get(LOGINS).context["others"][0]["number"]
    here.post(LOGINS, {"number": number})
    assert sorted(client.get(INDEX).status_code for client in (second, third)) == [200, 302]
    here.post(LOGINS, {"step": "all"})
    assert [client.get(INDEX).status_code for client in (here, second, third, other)] == [200, 302, 302, 200]
    assert AuditEntry.objects.filter(action__startswith="Ended").count() == 2


def test_nobody_ends_the_login_of_another(panel):
    here, other = log_in("owner"), log_in("support")
    number = BrowserLogin.objects.get(user__username="support").number
    here.post(LOGINS, {"number": number})
    assert other.get(INDEX).status_code == 200
    support = User.objects.get(username="support")
    assert here.get(reverse("admin:logins_of", args=(support.pk,))).status_code == 403
    assert here.post(reverse("admin:logins_of", args=(support.pk,)), {"step": "all"}).status_code == 403


def test_a_superuser_ends_those_of_others(panel):
    other, support = log_in("support"), User.objects.get(username="support")
    root = panel.as_("root")
    page = reverse("admin:logins_of", args=(support.pk,))
    assert len(root.get(page).context["rows"]) == 1
    root.post(page, {"step": "all"})
    assert other.get(INDEX).status_code == 302 and root.get(INDEX).status_code == 200


def test_a_logout_takes_the_row_along(panel):
    here = log_in("owner")
    here.post(reverse("admin:logout"))
    assert not BrowserLogin.objects.exists()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("203.0.113.77", "203.0.113.…"),
        ("2001:db8:1:2::7", "2001:0db8:0001:…"),
        ("::ffff:203.0.113.77", "203.0.113.…"),
        (None, "Unknown network"),
    ],
)
def test_a_network_is_told_without_its_device(address, told):
    assert masked_network(address) == told


# --- who saw whom -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement(91)
def test_the_recipients_page_tells_who_saw_the_address(panel):
    recipient = panel.rows[Recipient]
    address = reverse("admin:verification_recipient_show_address", args=(recipient.pk,))
    Membership.objects.filter(user__username="support").update(sees_addresses=True)
    panel.as_("support").post(address)
    page = reverse("admin:verification_recipient_change", args=(recipient.pk,))
    assert "support" in panel.as_("owner").get(page).context["adminform"].model_admin.seen_by(recipient)
    log = panel.as_("owner").get(reverse("admin:verification_auditentry_changelist"), {"kind": "seen"})
    assert [line.who for line in log.context["cl"].result_list] == ["support"]


def test_without_a_mail_server_the_panel_says_so_and_shows_the_link_to_copy(panel, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    owner, page = panel.as_("owner"), people_of(panel.project)
    assert b"No mail server is set up" in owner.get(page).content
    values = {"step": "invite", "email": "ann@example.com", "role": "analyst"}
    assert "copy the link" in owner.post(page, values, follow=True).content.decode()
    invitation = Invitation.objects.get()
    shown = owner.post(page, {"step": "link", "invitation": invitation.pk})
    assert "no-store" in shown["Cache-Control"]
    ((_name, link, _note),) = shown.context["secrets"]
    assert invitations.claim_due(limit=10) == []  # no mail comes after it, with another link
    assert "ann@example.com" in Client().get(re.search(r"https?://[^/]+(/\S+)", link)[1], follow=True).content.decode()


def test_with_a_mail_server_no_link_is_shown(panel):
    invite(panel)
    page = people_of(panel.project)
    assert b"Show link" not in panel.as_("owner").get(page).content
    answer = panel.as_("owner").post(page, {"step": "link", "invitation": Invitation.objects.get().pk})
    assert answer.status_code == 302


def test_only_who_manages_people_sees_a_link(panel, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    panel.as_("owner").post(people_of(panel.project), {"step": "invite", "email": "ann@example.com", "role": "analyst"})
    values = {"step": "link", "invitation": Invitation.objects.get().pk}
    assert panel.as_("support").post(people_of(panel.project), values).status_code == 302
    assert panel.as_("stranger").post(people_of(panel.project), values).status_code == 403
    assert bytes(Invitation.objects.get().digest or b"") == b""


def test_a_mail_that_is_under_way_does_not_replace_a_link_that_was_shown(panel, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    panel.as_("owner").post(people_of(panel.project), {"step": "invite", "email": "ann@example.com", "role": "analyst"})
    claimed = invitations.claim_due(limit=10)
    invitations.draw_link(Invitation.objects.get(), by=User.objects.get(username="owner"))
    digest = bytes(Invitation.objects.get().digest)
    for row in claimed:
        invitations.deliver(row)
    assert bytes(Invitation.objects.get().digest) == digest


def test_an_account_of_a_shown_link_owns_no_address_that_nobody_proved(panel, settings):
    """Who invites may open the link themselves."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    panel.as_("owner").post(people_of(panel.project), {"step": "invite", "email": "ceo@corp.test", "role": "analyst"})
    invitations.draw_link(Invitation.objects.get(), by=User.objects.get(username="owner"))
    mallory = invitations.accept_as_new(Invitation.objects.get(), username="mallory", password="correct horse battery")
    assert mallory.email == "" and panel.project.members.filter(pk=mallory.pk).exists()
    owner, password = find_or_make_user("ceo@corp.test")
    assert owner != mallory and password
    assert find_or_make_user("mallory") == (mallory, None)


def test_who_has_no_address_joins_another_project_by_a_shown_link_alone(panel, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    mallory = User.objects.create_user("mallory", is_staff=True)
    panel.as_("owner").post(people_of(panel.project), {"step": "invite", "email": "ceo@corp.test", "role": "analyst"})
    with pytest.raises(UserError, match="a different address"):
        invitations.accept(Invitation.objects.get(), mallory)
    invitations.draw_link(Invitation.objects.get(), by=User.objects.get(username="owner"))
    assert invitations.accept(Invitation.objects.get(), mallory)
