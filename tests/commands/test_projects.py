"""createproject, setproject, addtestlogin, issuekey, revokekey."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils import timezone

from tests.commands.running import run, run_json
from verification.core.errors import ApiError
from verification.models import ApiKey, Channel, Membership, MessageTemplate, Project, TestLogin
from verification.services.projects.keys import authenticate
from verification.services.projects.settings import secret_of
from verification.services.projects.test_logins import code_of
from verification.services.projects.webhook_secrets import live_webhook_secrets

pytestmark = pytest.mark.django_db


def test_createproject_prints_what_is_shown_only_once():
    made = run_json("createproject", "Shop")
    assert set(made) == {"project", "api_key", "api_key_id", "secret_key", "secret_key_id", "webhook_secret"}
    assert authenticate(made["api_key"]).key_id == made["api_key_id"]
    assert authenticate(made["secret_key"]).key_id == made["secret_key_id"]
    assert authenticate(made["api_key"]).project.id == made["project"]
    assert authenticate(made["secret_key"]).kind == "secret"
    assert made["webhook_secret"].startswith("whsec_")
    assert not Project.objects.get(name="Shop").channels.exists()


def test_createproject_makes_an_unknown_owner_with_a_password():
    made = run_json("createproject", "Shop", "--owner", "ann@example.com")
    user = User.objects.get(email="ann@example.com")
    assert user.check_password(made["owner_password"])
    assert user.is_staff and not user.is_superuser
    assert user.projects.get().pk == made["project"]


@pytest.mark.parametrize("owner", ["bob", "BOB@example.com"])
def test_createproject_finds_an_owner_by_name_or_address(owner):
    user = User.objects.create_user("bob", email="bob@example.com")
    made = run_json("createproject", "Shop", "--owner", owner)
    assert "owner_password" not in made
    assert user.projects.get().pk == made["project"]


def test_an_owner_may_show_addresses_and_grant_that_to_others():
    """Else nobody in the project could export what is stored about a person."""
    run("createproject", "Shop", "--owner", "ann@example.com")
    assert Membership.objects.get().sees_addresses


def test_createproject_that_fails_makes_no_owner():
    run("createproject", "Shop")
    with pytest.raises(CommandError, match="already exists"):
        run("createproject", "Shop", "--owner", "ann@example.com")
    assert not User.objects.exists()


def test_createproject_refuses_an_owner_who_is_neither_known_nor_an_address():
    with pytest.raises(CommandError, match="There is no user 'bob'. Pass an e-mail address to create one."):
        run("createproject", "Shop", "--owner", "bob")


def test_setproject_sets_what_phones_fill_in_by(project):
    name = project.row.name
    run("setproject", name, "web_otp_domain=Shop.example", "android_hash=FA+9qCX9VSu", "code_in_subject=yes")
    row = Project.objects.get(pk=project.id)
    assert (row.web_otp_domain, row.android_hash, row.code_in_subject) == ("shop.example", "FA+9qCX9VSu", True)
    run("setproject", name, "web_otp_domain=")
    for wrong in ("web_otp_domain=https://shop.example", "android_hash=short"):
        with pytest.raises(CommandError):
            run("setproject", name, wrong)
    assert Project.objects.get(pk=project.id).web_otp_domain == ""


def test_setproject_sets_by_id_and_by_name(project):
    run("setproject", str(project.id), "code_length=4", "code_letters=true", "origins=https://A.example, app://b")
    run("setproject", project.row.name, "default_phone_channel=voice", "traffic_guard=off", "challenge_mode=off")
    row = Project.objects.get(pk=project.id)
    assert (row.code_length, row.code_letters, row.default_phone_channel) == (4, True, "voice")
    assert row.origins == ["https://a.example", "app://b"]


def test_setproject_sets_a_channel_by_its_name(project):
    project.channel("sms", daily_budget=1)
    told = run_json("setproject", str(project.id), "sms.daily_budget=5000", "sms.countries=DE,AT", "code_length=4")
    sms = Channel.objects.get(project=project.row, type="sms")
    assert (sms.daily_budget, sms.countries, told["sms.daily_budget"]) == (5000, ["DE", "AT"], 5000)
    run("setproject", str(project.id), "sms.daily_budget=")
    sms.refresh_from_db()
    assert (sms.daily_budget, sms.effective_budget) == (None, 1000)


@pytest.mark.parametrize(
    "value, complaint",
    [
        ("sms.colour=red", "There is no setting 'sms.colour'. Settings: .*sms.daily_budget"),
        ("sms.daily_budget=many", "daily_budget: enter a whole number"),
        ("sms.session_seconds=1", "sms.session_seconds: "),
        ("messenger_b.daily_budget=5", "has no channel 'messenger_b'"),
        ("colour=red", "There is no setting 'colour'"),
        ("code_length=5", "code_length: enter one of 4, 6."),
        ("code_length=x", "code_length: enter one of 4, 6."),
        ("code_digits=perhaps", "code_digits: enter true or false"),
        ("code_digits", "Write NAME=VALUE instead of 'code_digits'"),
        ("traffic_guard=perhaps", "traffic_guard: enter one of off, observe, enforce."),
        ("guard_country_percent=101", "guard_country_percent"),
        ("challenge_mode=sometimes", "challenge_mode: enter one of off, .*always"),
        ("code_digits=false", "code_digits, code_letters: a code needs digits, letters or both."),
        ("language=klingon", "'klingon' is not a language. Enter it like en, de or pt-BR."),
        ("languages=de,en us", "'en us' is not a language"),
        ("languages=de-AT,xx,yy-ZZ", "languages: there is no default or custom text in xx, yy-ZZ"),
        ("language=xx", "language: there is no default or custom text in xx"),
        ("challenge_min_score=high", "challenge_min_score: enter a number such as 0.5"),
        ("challenge_min_score=1.5", "challenge_min_score"),
        ("challenge_hosts=https://shop.example", "is not a host name"),
    ],
)
def test_setproject_refuses_and_then_changes_nothing(project, value, complaint):
    with pytest.raises(CommandError, match=complaint):
        run("setproject", str(project.id), "language=de", value)
    assert Project.objects.get(pk=project.id).language == "en"


def test_a_language_of_which_the_owner_has_a_text_can_be_offered(project):
    MessageTemplate.objects.create(project=project.row, channel="sms", language="xx", text="{code} xx")
    run("setproject", str(project.id), "languages=xx-YY,de-AT")
    assert Project.objects.get(pk=project.id).languages == ["xx-YY", "de-AT"]


@pytest.mark.parametrize("name", ["Shop\r\nBcc: all@example.com", "Shop\x1b[2J", "Shop\u202egnp"])
def test_a_name_is_one_line_without_control_characters(project, name):
    with pytest.raises(CommandError, match="control characters"):
        run("setproject", str(project.id), f"name={name}")
    with pytest.raises(CommandError, match="control characters"):
        run("createproject", name)


def test_no_project_is_named_like_the_id_of_another(project):
    """Its owner could else keep the operator from stopping the other one by its id."""
    with pytest.raises(CommandError, match="only of digits"):
        run("setproject", project.row.name, f"name={project.id + 1}")


def test_alerts_are_mailed_to_a_handful(project):
    addresses = ",".join(f"a{number}@example.com" for number in range(21))
    with pytest.raises(CommandError, match="no more than 20"):
        run("setproject", project.row.name, f"alert_emails={addresses}")


def test_addtestlogin_adds_a_row_that_may_expire(project):
    made = run_json("addtestlogin", str(project.id), "+1 555 010 0001", "abcd", "--expires-in", "60")
    login = TestLogin.objects.get(pk=made["test_login"])
    assert (login.to, code_of(login)) == ("+15550100001", "ABCD")
    assert 50 < (login.expires_at - timezone.now()).total_seconds() <= 60


@pytest.mark.parametrize("arguments", [("nobody", "1234"), ("ann@example.com", "123"), ("a@example.com", "1234", "-5")])
def test_addtestlogin_refuses_in_one_sentence(project, arguments):
    to, code, *rest = arguments
    with pytest.raises(CommandError):
        run("addtestlogin", str(project.id), to, code, *(["--expires-in", *rest] if rest else []))


def test_issuekey_adds_a_key_and_revokekey_ends_it(project):
    made = run_json("issuekey", str(project.id), "--kind", "secret", "--expires-in", "60")
    assert set(made) == {"key", "secret_key"}
    assert authenticate(made["secret_key"]).key_id == made["key"]
    assert ApiKey.objects.get(pk=made["key"]).expires_at is not None

    assert run_json("revokekey", str(made["key"])) == {"key": made["key"]}
    from verification.core import caching

    caching.clear_all()
    with pytest.raises(ApiError):
        authenticate(made["secret_key"])
    with pytest.raises(CommandError, match="or it was revoked already"):
        run("revokekey", str(made["key"]))


def test_a_project_that_is_not_there_is_one_sentence():
    with pytest.raises(CommandError, match="There is no project 'Nowhere'."):
        run("issuekey", "Nowhere", "--kind", "api")


TURNSTILE = ("challenge_provider=turnstile", "challenge_site_key=0x4AAA", "challenge_hosts=Shop.example,com.shop.app")


def test_setproject_takes_a_secret_from_a_file_and_never_shows_it(project, tmp_path):
    (tmp_path / "secret").write_text("0x4AAA-hush\n")
    values = ("challenge_mode=always", *TURNSTILE, f"challenge_secret=@{tmp_path / 'secret'}")
    assert "hush" not in run("setproject", str(project.id), *values)
    shown = run_json("setproject", str(project.id), *values)
    assert "challenge_secret" not in shown and shown["challenge_mode"] == "always"
    row = Project.objects.get(pk=project.id)
    assert secret_of(row, "challenge_secret") == "0x4AAA-hush"
    assert b"hush" not in bytes(row.challenge_secret)
    assert row.challenge_hosts == ["shop.example", "com.shop.app"]


@pytest.mark.parametrize("given", [(), ("challenge_site_key=x",), ("challenge_secret=x",)])
def test_challenges_of_a_vendor_need_site_key_and_secret(project, given):
    with pytest.raises(CommandError, match="hCaptcha challenges need a site key and a secret"):
        run("setproject", str(project.id), "challenge_mode=suspicion", "challenge_provider=hcaptcha", *given)
    assert Project.objects.get(pk=project.id).challenge_mode == "off"


def test_in_production_a_secret_for_tests_is_refused(project, settings):
    values = ("challenge_mode=always", *TURNSTILE, "challenge_secret=1x0000000000000000000000000000000AA")
    run("setproject", str(project.id), *values)
    settings.IS_EMBEDDED = False
    with pytest.raises(CommandError, match="is for tests and lets everyone pass"):
        run("setproject", str(project.id), *values)


def test_a_name_that_two_projects_have_is_answered_with_their_ids():
    first, second = (Project.objects.create(name="Shop") for _ in range(2))
    with pytest.raises(CommandError, match=f"Give an ID: {first.pk}, {second.pk}"):
        run("issuekey", "Shop", "--kind", "api")
    assert run_json("issuekey", str(second.pk), "--kind", "api")["api_key"]


def test_setproject_gives_no_name_twice():
    run("createproject", "Shop")
    run("createproject", "Bank")
    with pytest.raises(CommandError, match="already exists. Choose another"):
        run("setproject", "Bank", "name=Shop")


def test_issuekey_of_the_kind_webhook_replaces_the_secret_of_callbacks_with_a_day_of_both(project):
    (before, _) = live_webhook_secrets(project.row)[0]
    made = run_json("issuekey", str(project.id), "--kind", "webhook")["webhook_secret"]
    live = dict(live_webhook_secrets(project.row))
    assert set(live) == {before, made}
    assert live[made] is None and live[before]
    with pytest.raises(CommandError, match="expires-in is for keys"):
        run("issuekey", str(project.id), "--kind", "webhook", "--expires-in", "60")


def test_setproject_sets_up_the_hosted_page():
    run("createproject", "Shop")
    back = "https://shop.example/verified"
    done = run_json(
        "setproject", "Shop", "hosted_page.is_enabled=true", f"hosted_page.return_addresses={back}", "sends_per_day=7"
    )
    assert done["hosted_page.is_enabled"] is True and done["sends_per_day"] == 7
    page = Project.objects.get(name="Shop").hosted_page
    assert page.return_addresses == [back] and page.key_text.startswith("ww_api_")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("hosted_page.colour=#000000", "is_enabled, title, accent"),
        ("hosted_page.accent=red", "accent"),
        ("hosted_page.is_enabled=perhaps", "true or false"),
        ("hosted_page.return_addresses=http://shop.example/", "return_addresses"),
    ],
)
def test_a_wrong_setting_of_the_hosted_page_changes_nothing(value, said):
    run("createproject", "Shop")
    with pytest.raises(CommandError, match=said):
        run("setproject", "Shop", "sends_per_day=7", value)
    assert Project.objects.get(name="Shop").sends_per_day == 20
