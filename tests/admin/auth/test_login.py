"""The panel's door: who comes in, for how long, and who must confirm with the password again."""

import base64
import re
import time
from datetime import timedelta
from html import unescape

import psycopg
import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as BrowserSession
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.oath import totp

from tests.admin.rows import ADDRESS, make_panel, page_with, sent_once, values_on
from verification.admin.auth import second_factor as factor_views
from verification.admin.auth import throttle
from verification.admin.auth.session import CONFIRMED, FACTOR, FRESH_SECONDS, MAX_SECONDS, STARTED
from verification.models import ApiKey, AuditEntry, FactorTries, Membership, Recipient, RecoveryCode, SecondFactor
from verification.services.users import second_factor

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
LOGIN, CODE, ENROL, INDEX = (f"admin:{name}" for name in ("login", "second_step", "enrol", "index"))


@pytest.fixture
def panel(db):
    return make_panel()  # of its own: here some tests commit


@pytest.fixture
def user(db):
    return User.objects.create_user("ann", password=PASSWORD, is_staff=True)


@pytest.fixture
def secret(user):
    """The secret of a factor that is set up; its first code is spent, so that the tests use the next."""
    return set_up(user)


def set_up(user):
    factor, secret = second_factor.begin(user)
    assert second_factor.confirm(user, factor, app_code(secret, -1)) is not None
    return secret


def app_code(secret, steps=0):
    return f"{totp(base64.b32decode(secret), t0=-30 * steps):06}"


def give_password(client, password=PASSWORD, name="ann", page="", **environ):
    return client.post(page or reverse(LOGIN), {"username": name, "password": password}, **environ)


def is_in(client):
    return client.get(reverse(INDEX)).status_code == 200


def set_session(client, **values):
    session = client.session
    session.update(values)
    session.save()


# --- the second factor --------------------------------------------------------------------------------------------


def test_the_password_alone_opens_nothing(client, user, secret):
    assert give_password(client).url == reverse(CODE)
    assert not is_in(client)
    assert "_auth_user_id" not in client.session
    assert PASSWORD not in str(dict(client.session)) and secret not in str(dict(client.session))


def test_password_and_code_log_in_and_lead_where_the_user_wanted(client, user, secret):
    wanted = reverse("admin:verification_project_changelist")
    give_password(client, page=f"{reverse(LOGIN)}?next={wanted}")
    assert client.post(reverse(CODE), {"code": app_code(secret)}).url == wanted
    assert is_in(client)


def test_a_login_leads_to_no_other_site(client, user, secret):
    give_password(client, page=f"{reverse(LOGIN)}?next=https://evil.example/")
    assert client.post(reverse(CODE), {"code": app_code(secret)}).url == reverse(INDEX)


def test_the_code_alone_opens_nothing(client, user, secret):
    assert client.post(reverse(CODE), {"code": app_code(secret)}).url == reverse(LOGIN)
    assert not is_in(client)


@pytest.mark.requirement(85)
def test_a_code_is_good_once(client, user, secret):
    code = app_code(secret)
    assert second_factor.check(user, code)
    give_password(client)
    assert client.post(reverse(CODE), {"code": code}).status_code == 200
    assert not is_in(client)


def test_wrong_codes_make_the_next_try_wait(user, secret):
    for _ in range(3):
        assert not second_factor.check(user, "000000")
    assert FactorTries.objects.get().failures == 1  # the others came too early to be looked at
    assert not second_factor.check(user, app_code(secret))
    FactorTries.objects.update(failed_at="2020-01-01T00:00Z")
    assert second_factor.check(user, app_code(secret))
    assert FactorTries.objects.get().failures == 0


def test_a_recovery_code_logs_in_once_and_only_its_digest_is_kept(client, user, secret):
    codes = second_factor.renew_recovery_codes(user)
    assert len(set(codes)) == second_factor.RECOVERY_CODES
    kept = [bytes(row.digest) for row in RecoveryCode.objects.all()]
    assert not any(code.replace("-", "").encode() in kept for code in codes)
    give_password(client)
    assert client.post(reverse(CODE), {"code": codes[3].lower()}).url == reverse(INDEX)
    assert not second_factor.check(user, codes[3])
    assert AuditEntry.objects.filter(action="Used a recovery code", object_id=user.pk).count() == 1


def test_the_secret_is_encrypted(user, secret):
    assert base64.b32decode(secret) not in bytes(SecondFactor.objects.get().secret)


def test_where_it_is_required_the_first_login_sets_it_up(client, user, settings):
    settings.IS_SECOND_FACTOR_REQUIRED = True
    assert give_password(client).url == reverse(ENROL)
    assert not is_in(client)
    page = client.get(reverse(ENROL))
    assert "<svg" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    secret = page.context["secret"].replace(" ", "")
    assert client.post(reverse(ENROL), {"code": "000000"}).context["form"].errors
    assert not is_in(client)
    FactorTries.objects.update(failed_at=None)
    shown = client.post(reverse(ENROL), {"code": app_code(secret)})
    assert len(shown.context["codes"]) == second_factor.RECOVERY_CODES
    assert is_in(client)
    assert client.get(reverse(ENROL)).url == reverse(LOGIN)


@pytest.mark.requirement(85)
def test_where_it_is_required_no_other_way_of_logging_in_is_enough(user, settings):
    settings.IS_SECOND_FACTOR_REQUIRED = True
    client = Client()
    client.force_login(user)
    assert not is_in(client)


def test_a_factor_that_is_set_up_ends_sessions_without_it(client, user):
    client.force_login(user)
    assert is_in(client)
    set_up(user)
    assert not is_in(client)


def test_somebody_who_knows_the_password_cannot_put_their_own_app_in_its_place(client, user, secret):
    give_password(client)
    assert client.get(reverse(ENROL)).url == reverse(LOGIN)
    assert second_factor.confirm(user, SecondFactor.objects.get().pk, app_code(secret)) is None


@pytest.mark.parametrize("failed_first", [False, True])
def test_a_secret_that_another_session_was_shown_is_never_the_one_set_up(client, user, settings, failed_first):
    """Somebody who knows the password looks at the page first, and waits for its owner to scan the same code."""
    settings.IS_SECOND_FACTOR_REQUIRED = True
    thief = Client()
    seen = {secret_on_page(thief, give_password_first=True)}
    secret_on_page(client, give_password_first=True)
    seen.add(secret_on_page(thief))
    if failed_first:
        client.post(reverse(ENROL), {"code": "000000"})
    for secret in seen:
        client.post(reverse(ENROL), {"code": app_code(secret)})
    assert not second_factor.factors_of(user)
    FactorTries.objects.update(failed_at=None)
    client.post(reverse(ENROL), {"code": app_code(secret_on_page(client))})
    assert is_in(client)
    assert not any(second_factor.check(user, app_code(secret, 1)) for secret in seen)


def secret_on_page(client, *, give_password_first=False):
    if give_password_first:
        give_password(client)
    return client.get(reverse(ENROL)).context["secret"].replace(" ", "")


def test_a_factor_that_is_confirmed_meanwhile_lets_nobody_in_who_gave_no_code(client, user, settings, monkeypatch):
    settings.IS_SECOND_FACTOR_REQUIRED = True
    give_password(client)
    draw = factor_views.page

    def drawn_late(*args, **more):
        SecondFactor.objects.update(confirmed_at=timezone.now())
        return draw(*args, **more)

    monkeypatch.setattr(factor_views, "page", drawn_late)
    client.post(reverse(ENROL), {"code": "000000"})
    assert second_factor.factors_of(user)
    assert "_auth_user_id" not in client.session
    assert not is_in(client)


def test_an_operator_resets_it(client, user, secret):
    client.force_login(user)
    set_session(client, **{FACTOR: second_factor.app_name(SecondFactor.objects.get().pk)})
    assert is_in(client)
    call_command("resetfactor", "ann", json=True)
    assert not is_in(client)
    assert not SecondFactor.objects.exists() and not RecoveryCode.objects.exists()
    assert AuditEntry.objects.filter(action="Reset the second factor", object_label="ann").exists()


# --- failed logins ------------------------------------------------------------------------------------------------


def lock(client, **environ):
    for _ in range(throttle.PER_USER_AND_ADDRESS):
        give_password(client, "wrong", **environ)


@pytest.mark.requirement(86)
def test_a_locked_login_reads_like_a_wrong_password(client, user):
    wrong = give_password(client, "wrong").context["form"].errors
    lock(client)
    locked = give_password(client)
    assert (locked.status_code, locked.context["form"].errors) == (200, wrong)
    assert not is_in(client)


def test_a_lock_holds_for_user_and_address_together(client, user):
    lock(client, REMOTE_ADDR="192.0.2.1")
    assert give_password(client, REMOTE_ADDR="192.0.2.1").status_code == 200
    assert give_password(client, REMOTE_ADDR="192.0.2.2").status_code == 302


@pytest.mark.requirement(86)
@pytest.mark.parametrize(("limit", "fixed"), [("PER_USER", "user"), ("PER_ADDRESS", "address")])
def test_a_user_and_an_address_have_limits_of_their_own(client, user, monkeypatch, limit, fixed):
    monkeypatch.setattr(throttle, limit, 3)
    for number in range(3):
        name, address = ("ann", f"192.0.2.{number}") if fixed == "user" else (f"nobody{number}", "192.0.2.9")
        give_password(client, "wrong", name, REMOTE_ADDR=address)
    assert give_password(client, REMOTE_ADDR="192.0.2.9").status_code == 200
    assert not is_in(client)


@pytest.mark.requirement(86)
def test_an_address_that_the_client_made_up_does_not_help(client, user, settings):
    settings.TRUSTED_PROXIES = 1
    for number in range(throttle.PER_USER_AND_ADDRESS):
        give_password(client, "wrong", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}, 192.0.2.1")
    assert give_password(client, HTTP_X_FORWARDED_FOR="203.0.113.5, 192.0.2.1").status_code == 200
    assert not is_in(client)


def test_an_address_that_nobody_can_read_does_not_help(client, user, settings):
    settings.TRUSTED_PROXIES = 1
    for number in range(throttle.PER_USER_AND_ADDRESS):
        give_password(client, "wrong", HTTP_X_FORWARDED_FOR=f"garbage {number}")
    assert give_password(client, HTTP_X_FORWARDED_FOR="more garbage").status_code == 200
    assert not is_in(client)
    assert give_password(client, HTTP_X_FORWARDED_FOR="192.0.2.1").status_code == 302


def test_all_addresses_of_one_ipv6_network_count_as_one(client, user):
    for number in range(throttle.PER_USER_AND_ADDRESS):
        give_password(client, "wrong", REMOTE_ADDR=f"2001:db8:1:2::{number}")
    assert give_password(client, REMOTE_ADDR="2001:db8:1:2:ffff::1").status_code == 200
    assert give_password(client, REMOTE_ADDR="2001:db8:1:3::1").status_code == 302


def test_a_password_cannot_be_guessed_where_it_is_changed(client, user):
    client.force_login(user)
    page, new = reverse("admin:password_change"), "another horse battery"
    typed = {"new_password1": new, "new_password2": new}
    for _ in range(throttle.PER_USER_AND_ADDRESS):
        assert client.post(page, {**typed, "old_password": "wrong"}).context["form"].errors["old_password"]
    locked = client.post(page, {**typed, "old_password": PASSWORD})
    assert locked.context["form"].errors["old_password"] == [
        "Your old password was entered incorrectly. Please enter it again."
    ]
    assert not is_right_password(user, new)
    assert new not in str(AccessAttempt.objects.values())


def is_right_password(user, password):
    user.refresh_from_db()
    return user.check_password(password)


def test_wrong_second_factors_count_too(client, user, secret):
    give_password(client)
    for _ in range(throttle.PER_USER_AND_ADDRESS):
        client.post(reverse(CODE), {"code": "000000"})
    FactorTries.objects.update(failed_at=None)
    assert client.post(reverse(CODE), {"code": app_code(secret)}).status_code == 200
    assert not is_in(client)


@pytest.mark.requirement(98)
def test_a_password_that_was_typed_for_the_name_stands_in_no_table(client, user):
    for name in ("correct horse battery", "correct horse battery", "correct\0horse", user.get_username()):
        client.post(reverse("admin:login"), {"username": name, "password": "x"})
    assert "correct" not in str(AccessAttempt.objects.values())
    counted = sorted(AccessAttempt.objects.values_list("failures_since_start", flat=True))
    assert counted[-1] == 2 and AccessAttempt.objects.filter(username=user.get_username()).exists()


@pytest.mark.requirement(27)
@pytest.mark.django_db(transaction=True)
def test_a_failed_login_is_committed(client, user):
    give_password(client, "wrong")
    with psycopg.connect(same_database()) as other:
        assert other.execute("SELECT sum(failures_since_start) FROM axes_accessattempt").fetchone() == (1,)


def same_database():
    given = connection.get_connection_params()
    return psycopg.conninfo.make_conninfo(
        **{name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
    )


@pytest.mark.requirement(98)
def test_logins_and_failures_are_on_record_without_what_was_typed(client, user):
    give_password(client, "wrong", REMOTE_ADDR="192.0.2.7")
    give_password(client, "x", name="my-password-by-mistake")
    give_password(client)
    noted = list(AuditEntry.objects.order_by("id").filter(action__contains="og").values_list("action", "who"))
    assert noted[-3:] == [("Failed login", "ann"), ("Failed login", "unknown user"), ("Logged in", "ann")]
    assert AuditEntry.objects.filter(action="Failed login", address="192.0.2.7").exists()
    assert not AuditEntry.objects.filter(who__contains="mistake").exists()


# --- sessions -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement(87)
def test_an_idle_session_ends_after_half_an_hour_and_a_click_renews_it(client, user):
    client.force_login(user)
    cookie = client.get(reverse(INDEX)).cookies["session"]
    assert (cookie["max-age"], cookie["httponly"], cookie["samesite"]) == (1800, True, "Lax")


@pytest.mark.requirement(87)
def test_a_page_that_reloads_itself_renews_nothing(client, panel):
    client.force_login(User.objects.get(username="owner"))
    end = timezone.now() + timedelta(minutes=10)
    BrowserSession.objects.update(expire_date=end)
    inbox = reverse("admin:verification_inbox")
    page = client.get(inbox, {"live": ""})
    assert "session" in page.cookies  # the click that begins it counts
    BrowserSession.objects.update(expire_date=end)
    [reload] = re.findall('http-equiv="refresh" content="[0-9]+; url=([^"]+)"', page.content.decode())
    for _ in range(2):
        page = client.get(inbox + unescape(reload))
        assert f'url={reload}"' in page.content.decode()
        assert "session" not in page.cookies
    assert BrowserSession.objects.get().expire_date == end


def test_a_busy_session_ends_after_twelve_hours(client, user):
    client.force_login(user)
    set_session(client, **{STARTED: time.time() - MAX_SECONDS + 60})
    assert is_in(client)
    set_session(client, **{STARTED: time.time() - MAX_SECONDS - 1})
    assert not is_in(client)


def test_disabling_a_user_ends_their_sessions(client, user):
    client.force_login(user)
    User.objects.update(is_active=False)
    assert not is_in(client)


@pytest.mark.requirement(87)
def test_a_new_password_ends_the_other_sessions(client, user):
    other = Client()
    for each in (client, other):
        each.force_login(user)
    new = "another horse battery"
    client.post(
        reverse("admin:password_change"), {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    )
    assert is_in(client)
    assert not is_in(other)


# --- asking again -------------------------------------------------------------------------------------------------


@pytest.fixture
def stale(panel):
    """The owner, seen last more than ten minutes ago."""
    owner = User.objects.get(username="owner")
    owner.set_password(PASSWORD)
    owner.save()
    client = panel.as_("owner")
    set_session(client, **{CONFIRMED: time.time() - FRESH_SECONDS - 1})
    return client


def test_a_change_asks_who_it_is_and_then_goes_on_with_what_was_typed(panel, stale):
    page = page_with(panel.project, "sends_per_day")
    typed = values_on(stale, page) | {"sends_per_day": 7, "server_addresses": "192.0.2.77"}
    asked = stale.post(page, typed)
    assert asked.template_name == "admin/verification/confirm.html"
    assert "192.0.2.77" not in asked.content.decode()
    panel.project.refresh_from_db()
    assert panel.project.sends_per_day == 20
    again = stale.post(page, {"_held": asked.context["held"], "_confirm": "wrong"})
    assert again.context["error"]
    assert stale.post(page, {"_held": again.context["held"], "_confirm": PASSWORD}).status_code == 302
    panel.project.refresh_from_db()
    assert panel.project.sends_per_day == 7


@pytest.mark.requirement(87)
@pytest.mark.parametrize("page", ["project_issue_key", "project_webhook_secret"])
def test_keys_and_secrets_ask(panel, stale, page):
    before = ApiKey.objects.count()
    asked = stale.post(
        reverse(f"admin:verification_{page}", args=(panel.project.pk,)), {"kind": "api", "step": "reveal"}
    )
    assert asked.template_name == "admin/verification/confirm.html"
    assert ApiKey.objects.count() == before


def test_a_code_of_the_app_answers_too(panel, stale):
    owner = User.objects.get(username="owner")
    secret = set_up(owner)
    set_session(stale, **{FACTOR: second_factor.app_name(SecondFactor.objects.get().pk)})
    page = reverse("admin:verification_project_issue_key", args=(panel.project.pk,))
    held = sent_once(stale, page, kind="api").context["held"]
    assert stale.post(page, {"_held": held, "_confirm": app_code(secret)}).context["secrets"]


def test_a_form_held_for_another_session_or_page_is_not_carried_out(panel, stale):
    page = reverse("admin:verification_project_issue_key", args=(panel.project.pk,))
    held = stale.post(page, {"kind": "api"}).context["held"]
    before = ApiKey.objects.count()
    for client, address in ((panel.as_("root"), page), (stale, f"{page}?x=1")):
        assert client.post(address, {"_held": held, "_confirm": PASSWORD}).context["error"]
    assert ApiKey.objects.count() == before


def test_wrong_answers_lock(panel, stale):
    page = reverse("admin:verification_project_issue_key", args=(panel.project.pk,))
    held = stale.post(page, {"kind": "api"}).context["held"]
    for _ in range(throttle.PER_USER_AND_ADDRESS):
        stale.post(page, {"_held": held, "_confirm": "wrong"})
    assert stale.post(page, {"_held": held, "_confirm": PASSWORD}).context["error"]


def test_what_harms_nobody_does_not_ask(panel, stale):
    page = reverse("admin:verification_project_test_event", args=(panel.project.pk,))
    assert stale.post(page, {"url": "no address"}).template_name == "admin/verification/project/test_event.html"


# --- recipients' addresses ----------------------------------------------------------------------------------------


def address_page(panel):
    return reverse("admin:verification_recipient_show_address", args=(panel.rows[Recipient].pk,))


@pytest.mark.requirement(91)
def test_a_whole_address_needs_a_permission_and_leaves_a_line(panel):
    assert panel.as_("owner").post(address_page(panel)).status_code == 403
    Membership.objects.filter(user__username="owner").update(sees_addresses=True)
    client = panel.as_("owner")
    assert ADDRESS not in client.get(address_page(panel)).content.decode()
    assert not AuditEntry.objects.filter(action="Viewed the address").exists()
    assert ADDRESS in client.post(address_page(panel)).content.decode()
    entry = AuditEntry.objects.get(action="Viewed the address")
    assert (entry.who, entry.project) == ("owner", panel.project)


def test_the_permission_holds_for_its_project_only(panel):
    Membership.objects.update(sees_addresses=True)
    assert panel.as_("stranger").post(address_page(panel)).status_code in (403, 404)
    Membership.objects.create(project=panel.project, user=User.objects.get(username="stranger"))
    assert panel.as_("stranger").post(address_page(panel)).status_code == 403


@pytest.mark.requirement(85)
def test_no_session_holds_a_secret(client, user, secret):
    give_password(client)
    client.post(reverse(CODE), {"code": app_code(secret)})
    held = str([session.get_decoded() for session in BrowserSession.objects.all()])
    assert secret not in held and PASSWORD not in held


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"origin": "null"}, "Referrer-Policy: no-referrer"),
        ({"origin": "https://panel.example:8443"}, "came from https://panel.example:8443, and this service is at "),
        ({"origin": "http://testserver"}, "open too long"),
    ],
)
def test_a_form_that_is_not_ours_is_told_why(headers, said):
    client = Client(enforce_csrf_checks=True)
    client.get(reverse(LOGIN))
    page = client.post(reverse(LOGIN), {"username": "ann", "password": PASSWORD}, headers=headers)
    text = unescape(page.content.decode())
    assert (page.status_code, said in text, "permission" in text) == (403, True, False)


def test_a_form_of_too_many_fields_is_answered_by_a_page(panel):
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="owner"))
    address = reverse("admin:verification_testlogin_changelist")
    client.get(address)
    rows = {"action": "delete_selected", "_selected_action": list(range(1_500))}
    page = client.post(address, rows)
    assert (page.status_code, page["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "Nothing was saved" in page.content.decode()
