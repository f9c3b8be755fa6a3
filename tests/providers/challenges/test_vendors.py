"""The reading of each vendor's answers. The stand-ins speak as the vendors do."""

import json
import logging
from datetime import UTC, datetime, timedelta

import pytest

from providers.challenges import VENDORS
from providers.challenges.base import PASSED, ChallengeOutcome, Site
from providers.http.client import HttpClient, Timeouts
from tests.fakes import http_server as fake
from tests.fakes.siteverify import HOST, SECRET, SITE_KEY, Siteverify

SITE = Site(SITE_KEY, SECRET, hosts=frozenset({HOST}))


class HastyDoor(HttpClient):
    """A door with little time, for servers that never answer."""

    def request(self, *args, **options):
        assert options["timeout"].total == 3.0
        return super().request(*args, **{**options, "timeout": Timeouts(0.3, 0.3)})


@pytest.fixture(params=VENDORS)
def vendor(request):
    with Siteverify(request.param) as endpoint:
        yield endpoint


def verify(endpoint, token="good", *, site=SITE):
    door = HastyDoor(("127.0.0.0/8",))
    return VENDORS[endpoint.vendor].verify(site, token, http=door, url=endpoint.url)


def ago(seconds):
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def verdict(endpoint, token="good", **options):
    return verify(endpoint, token, **options).outcome


# --- all of them -----------------------------------------------------------------------------------------------------


def test_a_good_token_passes(vendor):
    assert verify(vendor) == PASSED
    assert vendor.asked[0]["response"] == "good"


def test_the_address_of_the_user_is_not_sent(vendor):
    verify(vendor)
    assert "remoteip" not in vendor.asked[0]


@pytest.mark.parametrize("told", ["not-provided", "Not-Provided", "", " ", None, "left out"])
def test_a_host_that_is_none_decides_nothing_and_the_rest_is_judged(vendor, told):
    for seconds, expected in ((5, ChallengeOutcome.PASSED), (301, ChallengeOutcome.FAILED)):
        answer = {"success": True, "challenge_ts": ago(seconds)}
        vendor.script(fake.answer(200, answer if told == "left out" else answer | {"hostname": told}))
        assert verdict(vendor) is expected


@pytest.mark.parametrize("host", ["not-provided.example", "null", "localhost", ["shop.example"], True])
def test_any_other_host_is_one(vendor, host):
    vendor.script(fake.answer(200, {"success": True, "challenge_ts": ago(5), "hostname": host}))
    assert verdict(vendor) is ChallengeOutcome.FAILED


def test_a_token_lives_as_long_as_its_vendor_says(vendor):
    lives = {"turnstile": 300}.get(vendor.vendor, 120)
    for seconds, expected in ((lives - 5, ChallengeOutcome.PASSED), (lives + 5, ChallengeOutcome.FAILED)):
        vendor.script(fake.answer(200, {"success": True, "challenge_ts": ago(seconds), "hostname": HOST}))
        assert verdict(vendor) is expected


def test_with_a_secret_for_tests_the_vendors_own_host_and_action_do_not_count(vendor):
    secret = min(VENDORS[vendor.vendor].dummy_secrets)
    answer = {"success": True, "challenge_ts": ago(5), "hostname": "tests.vendor.example", "action": "test"}
    vendor.script(fake.answer(200, answer), fake.answer(200, answer | {"success": False}))
    site = Site(SITE_KEY, secret, SITE.hosts)
    assert [verdict(vendor, site=site) for _ in range(2)] == [ChallengeOutcome.PASSED, ChallengeOutcome.FAILED]


def test_an_interim_answer_of_a_vendor_is_read_past(vendor):
    answer = json.dumps({"success": True, "challenge_ts": ago(5), "hostname": HOST}).encode()
    head = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer)
    vendor.script(fake.raw(head + answer))
    assert verify(vendor) == PASSED


@pytest.mark.parametrize("token", ["unknown", "elsewhere", "stale"])
def test_a_token_that_is_unknown_old_or_from_another_site_is_the_users_failure(vendor, token):
    assert verdict(vendor, token) is ChallengeOutcome.FAILED


def test_with_no_hosts_the_host_is_not_looked_at(vendor):
    assert verdict(vendor, "elsewhere", site=Site(SITE_KEY, SECRET)) is ChallengeOutcome.PASSED


@pytest.mark.parametrize("token", ["good" * 3000, "göod", "good\r\n", "good\0"])
def test_what_cannot_be_a_token_is_not_sent(vendor, token):
    assert verdict(vendor, token) is ChallengeOutcome.FAILED
    assert vendor.asked == []


def test_a_wrong_secret_is_ours_and_is_not_told(vendor):
    judgement = verify(vendor, site=Site(SITE_KEY, "another-secret", SITE.hosts))
    assert judgement.outcome is ChallengeOutcome.MISCONFIGURED
    assert judgement.reason == "it rejects our request (invalid-input-secret)"
    assert "another-secret" not in repr(SITE) + judgement.reason


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(fake.answer(500, {"success": True}), id="500"),
        pytest.param(fake.answer(200, b"<html>Sorry</html>"), id="HTML"),
        pytest.param(fake.answer(200, {"success": "true"}), id="no boolean"),
        pytest.param(fake.answer(200, []), id="list"),
        pytest.param(fake.answer(200, {"success": True, "hostname": HOST}), id="no time"),
        pytest.param(fake.hang(), id="hangs"),
        pytest.param(fake.hang_up(), id="hangs up"),
    ],
)
def test_a_vendor_that_makes_no_sense_is_away(vendor, behaviour):
    vendor.script(behaviour)
    assert verdict(vendor) is ChallengeOutcome.UNAVAILABLE


def test_a_vendor_that_is_not_there_is_away(vendor):
    vendor.server.close()
    assert verdict(vendor) is ChallengeOutcome.UNAVAILABLE


@pytest.mark.parametrize("codes", [[], None, "timeout", ["something-new"], [7, None]])
def test_an_error_that_we_do_not_know_is_the_users_failure(vendor, codes):
    vendor.script(fake.answer(200, {"success": False, "error-codes": codes}))
    assert verdict(vendor) is ChallengeOutcome.FAILED


def test_neither_token_nor_secret_is_logged(vendor, caplog):
    caplog.set_level(logging.DEBUG)
    verify(vendor, "good-token-4711")
    vendor.server.close()
    reason = verify(vendor, "good-token-4711").reason
    assert "4711" not in caplog.text + reason and SECRET not in caplog.text + reason


# --- what is a vendor's own ------------------------------------------------------------------------------------------


@pytest.fixture
def only(request):
    with Siteverify(request.param) as endpoint:
        yield endpoint


def of(name):
    return pytest.mark.parametrize("only", [name], indirect=True)


@of("turnstile")
def test_turnstile_judges_a_token_again_after_a_fault_of_ours(only):
    assert [verdict(only), verdict(only)] == [ChallengeOutcome.PASSED] * 2
    assert only.asked[0]["idempotency_key"] == only.asked[1]["idempotency_key"]


@of("turnstile")
def test_turnstile_refuses_the_token_of_another_of_our_sites(only):
    verify(only)
    assert verdict(only, site=Site("another-site-key", SECRET)) is ChallengeOutcome.FAILED


@of("turnstile")
def test_turnstiles_own_fault_is_temporary(only):
    only.script(fake.answer(200, {"success": False, "error-codes": ["internal-error"]}))
    assert verdict(only) is ChallengeOutcome.UNAVAILABLE


@of("turnstile")
@pytest.mark.parametrize(("action", "expected"), [("", ChallengeOutcome.PASSED), ("login", ChallengeOutcome.FAILED)])
def test_turnstiles_action_counts_where_the_widget_names_one(only, action, expected):
    answer = {"success": True, "challenge_ts": "2999-01-01T00:00:00Z", "hostname": HOST, "action": action}
    only.script(fake.answer(200, answer))
    assert verdict(only) is expected


@of("hcaptcha")
def test_hcaptcha_is_told_the_site_key(only):
    verify(only)
    assert only.asked[0]["sitekey"] == SITE_KEY
    assert verdict(only, "good2", site=Site("another", SECRET)) is ChallengeOutcome.MISCONFIGURED


@pytest.mark.parametrize("only", ["hcaptcha", "recaptcha"], indirect=True)
def test_a_spent_token_is_the_users_failure(only):
    verify(only)
    assert verdict(only) is ChallengeOutcome.FAILED


@of("recaptcha")
@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("score-0.9", ChallengeOutcome.PASSED),
        ("score-0.5", ChallengeOutcome.PASSED),
        ("score-0.4", ChallengeOutcome.FAILED),
        ("score-0.9-login", ChallengeOutcome.FAILED),
    ],
)
def test_recaptchas_score_and_action_count(only, token, expected):
    assert verdict(only, token) is expected


@of("recaptcha")
def test_a_project_chooses_its_least_score(only):
    assert verdict(only, "score-0.4", site=Site(SITE_KEY, SECRET, SITE.hosts, min_score=0.3)) is ChallengeOutcome.PASSED


@of("recaptcha")
@pytest.mark.parametrize(
    ("package", "expected"), [(HOST, ChallengeOutcome.PASSED), ("com.evil", ChallengeOutcome.FAILED)]
)
def test_an_android_app_is_known_by_its_package(only, package, expected):
    answer = {"success": True, "challenge_ts": "2999-01-01T00:00:00Z", "apk_package_name": package}
    only.script(fake.answer(200, answer))
    assert verdict(only) is expected
