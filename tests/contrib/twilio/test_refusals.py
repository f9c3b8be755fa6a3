"""Refusals, with the status and the code that Twilio's libraries raise, and who may call at all."""

import logging
import re

import pytest

from tests import factories
from tests.conftest import ROOT
from verification.core import logs
from verification.core.error_codes import CATALOGUE
from verification.models import Alert, Decision, Session

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
# Refusals that no call of these endpoints leads to.
OF_OTHERS = {
    "invalid_code",
    "host_not_allowed",
    "challenge_required",
    "challenge_failed",
    "challenge_unavailable",
    "message_not_found",
    "verify_token_not_found",
    "verify_token_expired",
    "idempotency_conflict",
}


def test_every_refusal_has_a_code_of_twilios():
    assert {code for code, spec in CATALOGUE.items() if spec.twilio is None} == OF_OTHERS


def test_the_guide_tells_of_every_code():
    page = (ROOT / "docs" / "from-twilio.md").read_text()
    told = {
        (int(status), int(code))
        for statuses, code in re.findall(r"^\| ([\d, ]+) \| (\d{5}) \|", page, re.MULTILINE)
        for status in statuses.split(",")
    }
    assert told == {spec.twilio[:2] for spec in CATALOGUE.values() if spec.twilio} | {(403, 60204)}


def test_a_key_pair_and_the_account_with_its_secret_key_both_log_in(twilio):
    for name in (twilio.account, twilio.key):
        path = f"{twilio.service}/Verifications/{PHONE}"
        assert twilio.call("GET", path, login=(name, twilio.project.secret_key)).data["code"] == 20404


@pytest.mark.requirement(118)
@pytest.mark.parametrize(
    "login",
    [
        pytest.param(lambda t: (t.account, t.project.api_key), id="an API key"),
        pytest.param(lambda t: (t.account, "x" * 40), id="no key"),
        pytest.param(lambda t: ("AC" + "0" * 32, t.project.secret_key), id="another account"),
        pytest.param(lambda t: ("SK" + "f" * 32, t.project.secret_key), id="another key"),
        pytest.param(lambda t: ("", t.project.secret_key), id="no name"),
    ],
)
def test_other_credentials_are_refused(twilio, problem, login):
    answer = twilio.call("POST", f"{twilio.service}/Verifications", login=login(twilio), To=PHONE, Channel="sms")
    assert problem(answer) == (401, 20003)
    assert answer["WWW-Authenticate"].startswith("Basic")
    assert not Session.objects.exists()


@pytest.mark.parametrize("header", ["Bearer abc", "Basic", "Basic !!!", "Basic /////w==", "Basic eDp5Og=="])
def test_an_odd_header_is_refused(twilio, problem, header):
    assert problem(twilio.call("GET", f"{twilio.service}/Verifications/{PHONE}", header=header)) == (401, 20003)


# As a server hands on the bytes 0xe9 0xe9, and the full-width digits 11 in UTF-8.
@pytest.mark.parametrize("credentials", ["\xe9\xe9", "\xef\xbc\x91\xef\xbc\x91", "/////w==", "!!!"])
def test_credentials_that_cannot_be_read_count_as_an_unknown_key(twilio, problem, credentials):
    calls = [
        problem(twilio.call("POST", f"{twilio.service}/Verifications", header=f"Basic {credentials}"))
        for _ in range(31)
    ]
    assert set(calls[:30]) == {(401, 20003)}
    assert calls[30] == (429, 20429)


@pytest.mark.requirement(118)
def test_unknown_keys_of_one_address_are_held_off(twilio, problem):
    login = (twilio.account, "nobody")
    refused = [problem(twilio.call("GET", f"{twilio.service}/Verifications/x", login=login)) for _ in range(31)]
    assert set(refused[:30]) == {(401, 20003)}
    assert refused[30] == (429, 20429)


@pytest.mark.requirement(118)
def test_it_is_off_until_the_owner_switches_it_on(twilio, problem):
    twilio.project.set(twilio_endpoints=False)
    assert problem(twilio.start()) == (404, 20404)


def test_the_service_of_another_project_is_not_found(twilio, problem):
    other = factories.project(twilio_endpoints=True)
    path = f"VA{str(other.row.public_id).replace('-', '')}/Verifications"
    assert problem(twilio.call("POST", path, To=PHONE, Channel="sms")) == (404, 20404)


@pytest.mark.requirement(118)
def test_a_verification_of_another_project_is_not_found(twilio, client, problem):
    other = type(twilio)(client, factories.project(twilio_endpoints=True))
    sid = other.start().data["sid"]
    assert problem(twilio.fetch(sid)) == problem(twilio.update(sid, "canceled")) == (404, 20404)
    assert problem(twilio.check("123456", VerificationSid=sid)) == (404, 20404)
    assert other.fetch(sid).data["status"] == "pending"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"To": "015112345678", "Channel": "sms"}, "To"),
        ({"To": "", "Channel": "sms"}, "To"),
        ({"To": PHONE + "\0", "Channel": "sms"}, "To"),
        ({"To": PHONE}, "Channel"),
        ({"To": PHONE, "Channel": "sna"}, "Channel"),
    ],
)
def test_a_wrong_parameter_is_named(twilio, problem, fields, name):
    answer = twilio.call("POST", f"{twilio.service}/Verifications", **fields)
    assert problem(answer) == (400, 60200)
    assert f"`{name}`" in answer.data["message"]


def test_a_wrong_parameter_of_a_check_or_an_update_is_named(twilio, problem):
    sid = twilio.start().data["sid"]
    assert problem(twilio.check("")) == problem(twilio.check("1" * 33)) == (400, 60200)
    assert problem(twilio.check("123456", VerificationSid="VE12")) == (400, 60200)
    assert problem(twilio.update(sid, "deleted")) == (400, 60200)
    assert Session.objects.get().attempts == 0


@pytest.mark.requirement(118)
@pytest.mark.parametrize("name", ["CustomCode", "RateLimits", "Amount", "SendDigits"])
def test_a_parameter_whose_loss_would_matter_is_refused(twilio, problem, name):
    assert problem(twilio.start(**{name: "1234"})) == (403, 60204)
    assert not Session.objects.exists()


def test_a_parameter_that_is_only_for_looks_is_ignored(twilio):
    assert twilio.start(CustomFriendlyName="Shop", Tags="{}").status_code == 201


def test_a_second_send_within_a_minute_is_refused_with_the_time_to_wait(twilio, problem):
    twilio.start()
    again = twilio.start()
    assert problem(again) == (429, 60212)
    assert 0 < int(again["Retry-After"]) <= 60


def test_a_recipients_limits_of_sends_and_of_wrong_codes_are_refused(twilio, problem):
    twilio.project.set(sends_per_10_minutes=1, wrong_codes_per_15_minutes=3)
    twilio.start()
    refused = twilio.start(channel="call")
    assert problem(refused) == (429, 60203)
    assert refused["Retry-After"]
    assert [twilio.check("nope").status_code for _ in range(3)] == [201] * 3
    assert problem(twilio.check("nope")) == (429, 60202)


def test_the_projects_limit_of_a_second_is_refused(twilio, problem, long_second):
    twilio.project.set(requests_per_second=1)
    twilio.start()
    assert problem(twilio.start(to="+4915112345679")) == (429, 20429)


def test_no_limit_of_a_client_address_and_no_challenge_holds_for_the_customers_server(twilio):
    twilio.project.set(creates_per_address=1, challenge_mode="always", challenge_provider="altcha")
    for digit in range(3):
        assert twilio.start(to=f"+491511234567{digit}").status_code == 201


def test_a_channel_that_the_project_lacks_and_a_bot_that_nobody_started_are_refused(twilio, problem):
    assert problem(twilio.start(channel="whatsapp")) == (400, 60223)
    twilio.project.provider("messenger_a", name="bot", type="collector_bot")
    assert problem(twilio.start(channel="telegram")) == (400, 60223)


def test_a_recipient_of_a_country_that_is_not_listed_is_refused_and_the_owner_sees_why(twilio, problem):
    twilio.project.set(countries=["SE"])
    assert problem(twilio.start()) == (403, 60410)
    assert Decision.objects.get().rule == "country"


def test_other_methods_paths_and_bodies_are_refused(twilio, problem, client):
    service = twilio.service
    assert problem(twilio.call("DELETE", f"{service}/Verifications")) == (405, 20004)
    assert problem(twilio.call("GET", f"{service}/RateLimits")) == (404, 20404)
    path = f"{service}/Verifications"
    assert problem(twilio.call("POST", path, content_type="application/json")) == (415, 60200)
    assert problem(twilio.call("POST", path, To="x" * 17_000)) == (413, 60200)


def test_a_secret_key_that_comes_from_a_browser_is_told_to_the_owner(twilio):
    twilio.client.defaults["HTTP_ORIGIN"] = "https://shop.example"
    answer = twilio.start()
    assert "Access-Control-Allow-Origin" not in answer
    assert Alert.objects.get().kind == "secret_key_in_browser"


def test_a_refusal_leaves_a_log_line_without_the_recipient(twilio, caplog):
    caplog.set_level(logging.INFO, logger=logs.__name__)
    answer = twilio.fetch(PHONE)
    (line,) = [record for record in caplog.records if record.name == logs.__name__]
    told = (line.request_id, line.code, line.status, line.path, line.project)
    path = "/v2/Services/<str:service_sid>/Verifications/<str:name>"
    assert told == (answer["X-Request-Id"], "session_not_found", 404, path, twilio.project.id)
    assert PHONE not in caplog.text
