"""Security keys as a second factor: added by name, asked for at the log-in, bound to host, session and challenge."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.admin.auth.test_login import PASSWORD, app_code, give_password, is_in, set_session, set_up
from tests.fakes.authenticator import Authenticator
from verification.admin.auth import throttle, webauthn
from verification.admin.auth.session import FACTOR
from verification.models import AuditEntry, FactorTries, RecoveryCode, SecurityKey, SpentForm
from verification.services.users import second_factor, security_keys

pytestmark = pytest.mark.django_db
OWN, CODE, ENROL, LOGIN = (reverse(f"admin:{name}") for name in ("second_factor", "second_step", "enrol", "login"))
REFUSED = "was not accepted"


@pytest.fixture
def user(db):
    return User.objects.create_user("ann", password=PASSWORD, is_staff=True)


@pytest.fixture
def key(client, user):
    """A key that is added, in the hands of its user, who is logged in."""
    client.force_login(user)
    made = Authenticator()
    add(client, made, "Blue")
    return made


def asked(client, page=OWN, **environ):
    return json.loads(client.get(page, **environ).context["key_options"])


def add(client, key, name, page=OWN, **changed):
    return client.post(page, {"step": "add_key", "name": name, "answer": key.create(asked(client, page), **changed)})


def stop(client):
    client.cookies.clear()
    give_password(client)


def sign_in(client, key, **changed):
    """Give the password and then the key, in a browser that is logged in nowhere."""
    stop(client)
    FactorTries.objects.update(failed_at=None)
    return client.post(CODE, {"answer": key.sign(asked(client, CODE), **changed)})


def told(response):
    return [str(message) for message in response.context["messages"]]


# --- adding ------------------------------------------------------------------------------------------------------


def test_the_first_key_brings_recovery_codes_and_a_second_one_none(client, user):
    client.force_login(user)
    first = add(client, Authenticator(b"one" * 6), "Blue")
    assert len(first.context["codes"]) == second_factor.RECOVERY_CODES
    assert client.session[FACTOR] == second_factor.key_name(SecurityKey.objects.get().pk)
    second = add(client, Authenticator(b"two" * 6), "Spare")
    assert second.url == OWN
    assert [(each["name"], each["host"]) for each in client.get(OWN).context["keys"]] == [
        ("Blue", "testserver"),
        ("Spare", "testserver"),
    ]
    assert AuditEntry.objects.filter(action="Added the security key Spare", object_id=user.pk, who="ann").exists()


@pytest.mark.parametrize(
    "changed",
    [{"origin": "https://testserver.evil.example"}, {"type": "webauthn.get"}, {"challenge": "AAAAAAAAAAAAAAAAAAAAAA"}],
)
def test_an_answer_to_another_page_kind_or_challenge_adds_nothing(client, user, changed):
    client.force_login(user)
    assert REFUSED in str(add(client, Authenticator(), "Blue", **changed).context["key_form"].errors)
    assert not SecurityKey.objects.exists()


@pytest.mark.parametrize("answer", ["", "{", "[]", "{}", '{"id":"AA","rawId":"AA","type":"public-key","response":{}}'])
def test_an_answer_that_is_none_is_refused_in_words(client, user, answer):
    client.force_login(user)
    asked(client)
    errors = client.post(OWN, {"step": "add_key", "name": "Blue", "answer": answer}).context["key_form"].errors
    assert "again" in str(errors)


def test_a_challenge_is_good_once_and_not_in_another_session(client, user, key):
    options = asked(client)
    other = Client()
    other.force_login(user)
    set_session(other, **{FACTOR: client.session[FACTOR]})
    answer = {"step": "add_key", "name": "Two", "answer": Authenticator(b"two" * 6).create(options)}
    assert "too long" in str(other.post(OWN, answer).context["key_form"].errors)
    kept = client.session[webauthn.CHALLENGE]
    assert client.post(OWN, answer).url == OWN
    set_session(client, **{webauthn.CHALLENGE: kept})  # as another request of the same moment read it
    again = {"step": "add_key", "name": "Three", "answer": Authenticator(b"three" * 4).create(options)}
    assert "already submitted" in str(client.post(OWN, again).context["key_form"].errors)
    assert SecurityKey.objects.count() == 2


def test_a_page_that_was_open_too_long_adds_nothing(client, user, monkeypatch):
    client.force_login(user)
    monkeypatch.setattr(webauthn, "CHALLENGE_SECONDS", -1)
    assert "too long" in str(add(client, Authenticator(), "Blue").context["key_form"].errors)


def test_names_and_keys_are_each_there_once_and_no_user_has_more_than_ten(client, user, key, monkeypatch):
    assert "this name" in str(add(client, Authenticator(b"two" * 6), "BLUE").context["key_form"].errors)
    assert "already added" in str(add(client, key, "Same").context["key_form"].errors)
    monkeypatch.setattr(security_keys, "MAX_KEYS", 1)
    assert "Remove one" in str(add(client, Authenticator(b"two" * 6), "Two").context["key_form"].errors)


def test_under_an_ip_address_the_page_says_why_there_are_no_keys(client, user, settings):
    settings.ALLOWED_HOSTS = ["*"]
    client.force_login(user)
    for host in ("127.0.0.1:8000", "[::1]:8000"):
        page = client.get(OWN, HTTP_HOST=host)
        assert page.context["key_options"] == ""
        assert "IP address" in page.content.decode()


def test_behind_a_proxy_that_is_not_trusted_the_origin_is_that_of_the_settings(client, user, settings):
    settings.BASE_URL = "https://testserver"
    client.force_login(user)
    assert add(client, Authenticator(origin="https://testserver"), "Blue").context["codes"]


def test_where_a_factor_is_demanded_the_first_login_may_add_a_key(client, user, settings):
    settings.IS_SECOND_FACTOR_REQUIRED = True
    assert give_password(client).url == ENROL
    assert "this name" not in client.get(ENROL).content.decode()
    assert add(client, Authenticator(), "Blue", page=ENROL, origin="http://evil.example").status_code == 200
    assert not is_in(client)
    assert add(client, Authenticator(), "Blue", page=ENROL).context["codes"]
    assert is_in(client)


# --- logging in --------------------------------------------------------------------------------------------------


def test_password_and_key_log_in(client, user, key):
    stop(client)
    assert not is_in(client)
    options = asked(client, CODE)
    assert options["userVerification"] == "preferred" and len(options["allowCredentials"]) == 1
    assert client.post(CODE, {"answer": key.sign(options)}).url == reverse("admin:index")
    assert is_in(client)
    assert SecurityKey.objects.get().used_at


@pytest.mark.requirement(85)
@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "https://testserver.evil.example"},
        {"type": "webauthn.create"},
        {"challenge": "AAAAAAAAAAAAAAAAAAAAAA"},
        {"flags": 0},  # nobody touched it
    ],
)
def test_a_key_that_signed_something_else_opens_nothing(client, user, key, changed):
    assert REFUSED in sign_in(client, key, **changed).context["key_error"]
    assert not is_in(client)


@pytest.mark.requirement(85)
def test_an_answer_is_good_once(client, user, key):
    stop(client)
    answer = key.sign(asked(client, CODE))
    kept = client.session[webauthn.CHALLENGE]
    assert client.post(CODE, {"answer": answer}).status_code == 302
    stop(client)
    client.get(CODE)
    assert client.post(CODE, {"answer": answer}).context["key_error"]  # another challenge
    set_session(client, **{webauthn.CHALLENGE: kept})
    FactorTries.objects.update(failed_at=None)
    assert client.post(CODE, {"answer": answer}).context["key_error"]  # the same one, used up
    assert not is_in(client)
    assert SpentForm.objects.exists()


def test_a_strangers_key_and_a_key_of_another_user_open_nothing(client, user, key):
    other = User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    theirs = Authenticator(b"bob" * 6)
    SecurityKey.objects.create(
        user=other, name="Bob's", host="testserver", credential=theirs.identity, public_key=b"none"
    )
    for each in (Authenticator(b"new" * 6), Authenticator(key.identity), theirs):
        assert sign_in(client, each).context["key_error"]
    assert not is_in(client)


@pytest.mark.requirement(85)
def test_a_count_that_does_not_rise_is_refused_and_on_record(client, user, key):
    key.count = 5
    assert sign_in(client, key).status_code == 302
    for count in (5, 4, 0):
        key.count = count
        assert sign_in(client, key).context["key_error"]
    assert AuditEntry.objects.filter(action__contains="may have been copied", object_id=user.pk).count() == 3
    key.count = 6
    assert sign_in(client, key).status_code == 302


def test_a_key_of_another_host_is_not_asked_for(client, user, key):
    SecurityKey.objects.update(host="elsewhere.example")
    stop(client)
    page = client.get(CODE)
    assert page.context["key_options"] == "" and "a different address" in page.content.decode()


def test_failed_keys_wait_and_lock_like_wrong_codes(client, user, key):
    stop(client)
    for _ in range(throttle.PER_USER_AND_ADDRESS):
        client.post(CODE, {"answer": key.sign(asked(client, CODE), origin="http://evil.example")})
        FactorTries.objects.update(failed_at=timezone.now() + timedelta(hours=1))  # so that the wait is not over
    assert FactorTries.objects.get().failures == 1  # the others came too early to be looked at
    FactorTries.objects.update(failed_at=None)
    assert client.post(CODE, {"answer": key.sign(asked(client, CODE))}).context["key_error"]
    assert not is_in(client)


def test_a_recovery_code_takes_the_place_of_a_key(client, user, key):
    [code, *_] = second_factor.renew_recovery_codes(user)
    stop(client)
    assert "recovery code" in client.get(CODE).content.decode()
    assert client.post(CODE, {"code": code}).status_code == 302
    assert is_in(client)
    assert second_factor.check(user, code) is None


# --- removing ----------------------------------------------------------------------------------------------------


def test_a_key_that_is_removed_ends_the_sessions_that_it_opened(client, user, key):
    secret = set_up(user)
    elsewhere = Client()
    sign_in(elsewhere, key)
    by_app = Client()
    give_password(by_app)
    by_app.post(CODE, {"code": app_code(secret)})
    assert is_in(elsewhere) and is_in(by_app)
    removed = client.post(OWN, {"step": f"remove_key:{SecurityKey.objects.get().pk}"}, follow=True)
    assert told(removed) == ["Blue was removed, and the sessions it opened were logged out."]
    assert is_in(client) and is_in(by_app)
    assert not is_in(elsewhere)
    assert AuditEntry.objects.filter(action="Removed the security key Blue", who="ann").exists()


@pytest.mark.parametrize("step", ["remove_key", "remove_app"])
def test_the_last_factor_stays_where_one_is_demanded(client, user, settings, step):
    settings.IS_SECOND_FACTOR_REQUIRED = True
    if step == "remove_app":
        set_up(user)
        client.force_login(user)
        set_session(client, **{FACTOR: min(second_factor.factors_of(user))})
    else:
        give_password(client)
        add(client, Authenticator(), "Blue", page=ENROL)
        step = f"remove_key:{SecurityKey.objects.get().pk}"
    page = client.get(OWN).content.decode()
    assert f'value="{step}"' not in page
    assert "requires two-factor authentication" in told(client.post(OWN, {"step": step}, follow=True))[0]
    assert len(second_factor.factors_of(user)) == 1


def test_where_none_is_demanded_the_last_one_goes_with_its_recovery_codes(client, user, key):
    client.post(OWN, {"step": f"remove_key:{SecurityKey.objects.get().pk}"})
    assert is_in(client)
    assert not RecoveryCode.objects.exists() and client.session[FACTOR] is None


@pytest.mark.parametrize("step", ["", "remove_key:", "remove_key:x", "remove_key:٣", f"remove_key:{'9' * 30}", "no"])
def test_a_forged_step_does_nothing(client, user, key, step):
    assert client.post(OWN, {"step": step}).url == OWN
    assert SecurityKey.objects.count() == 1


def test_nobody_removes_the_key_of_another(client, user, key):
    bob = Client()
    bob.force_login(User.objects.create_user("bob", is_staff=True))
    assert (
        "already removed" in told(bob.post(OWN, {"step": f"remove_key:{SecurityKey.objects.get().pk}"}, follow=True))[0]
    )
    assert SecurityKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_last_keys_that_are_removed_at_once_one_stays(user, settings):
    settings.IS_SECOND_FACTOR_REQUIRED = True
    ids = [
        SecurityKey.objects.create(user=user, name=name, host="h", credential=name.encode(), public_key=b"k").pk
        for name in ("one", "two")
    ]

    def remove(pk):
        try:
            security_keys.remove(user, pk)
        except Exception as error:
            return type(error).__name__
        finally:
            connection.close()
        return "removed"

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(remove, ids)) == ["UserError", "removed"]
    assert SecurityKey.objects.count() == 1
