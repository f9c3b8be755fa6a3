"""The reading of each risk check's answers. The stand-ins answer as the services' own pages show it."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jwt
from joserfc.jwk import RSAKey

from providers.http.client import HttpClient
from providers.http.deadline import within
from providers.risk import CHECKS, vonage_identity
from providers.risk.base import Question, RiskAccount, Verdict
from tests.fakes.risk import RiskService, lookup

NUMBER = "+4915112345678"
QUESTION = Question(NUMBER, "sms", "DE", network="198.51.100.0/24")
DOOR = HttpClient(("127.0.0.0/8",))


def ask(name, service, account=None, *, question=QUESTION, seconds=3, **means):
    with within(seconds):
        return CHECKS[name].ask(question, account or RiskAccount(), http=DOOR, **means)


# --- Twilio ----------------------------------------------------------------------------------------------------------

TWILIO = RiskAccount(twilio_account="AC0123", twilio_secret="hush")


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"),
    [
        (lookup(0), Verdict.ALLOW, "risk score 0 of 100"),
        (lookup(74), Verdict.ALLOW, "risk score 74 of 100"),
        (lookup(75), Verdict.DENY, "risk score 75 of 100"),
        (lookup(10, blocked=True), Verdict.DENY, "the number is blocked for SMS pumping"),
        (lookup(None), Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 200)"),
        (lookup(None, error=60600), Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 200)"),
        ((401, {"code": 20003}), Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 401)"),
        ({"sms_pumping_risk": "high"}, Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 200)"),
    ],
)
def test_twilios_score_and_block_decide(answer, verdict, reason):
    with RiskService(answer) as twilio:
        judged = ask("twilio_lookup", twilio, TWILIO, url=twilio.url)
    assert (judged.verdict, judged.reason) == (verdict, reason)


def test_twilio_is_asked_as_its_page_says():
    with RiskService(lookup(1)) as twilio:
        ask("twilio_lookup", twilio, TWILIO, url=twilio.url)
        request = twilio.asked[0]
    assert (request.method, request.target) == ("GET", "/v2/PhoneNumbers/%2B4915112345678?Fields=sms_pumping_risk")
    assert request.headers["authorization"] == "Basic " + base64.b64encode(b"AC0123:hush").decode()


@pytest.mark.parametrize("country", ["US", "CA"])
def test_twilio_is_not_asked_about_north_america(country):
    with RiskService(lookup(99)) as twilio:
        judged = ask("twilio_lookup", twilio, TWILIO, question=Question("+12015550123", "sms", country), url=twilio.url)
        assert judged.verdict is Verdict.ALLOW and twilio.asked == []


# --- Vonage ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pem():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("swap", "verdict"),
    [
        ({"status": {"code": "OK"}, "is_swapped": True}, Verdict.DENY),
        ({"status": {"code": "OK"}, "is_swapped": False}, Verdict.ALLOW),
        ({"status": {"code": "UNAUTHORIZED"}}, Verdict.UNKNOWN),
        (None, Verdict.UNKNOWN),
    ],
)
def test_vonages_sim_swap_decides(pem, swap, verdict):
    account = RiskAccount(vonage_application="78d335fa", vonage_key=pem, swap_hours=24)
    with RiskService({"request_id": "0", "insights": {"sim_swap": swap}}) as vonage:
        assert ask("vonage_identity", vonage, account, url=vonage.url).verdict is verdict
        request = vonage.asked[0]
    assert (request.method, request.target) == ("POST", "/identity-insights/v1/requests")
    assert request.json() == {
        "phone_number": NUMBER,
        "purpose": "FraudPreventionAndDetection",
        "insights": {"sim_swap": {"period": 24}},
    }


@pytest.mark.parametrize("written", [lambda pem: pem, lambda pem: pem.replace("\n", " ")])
def test_vonage_is_shown_a_token_of_the_application(pem, written):
    """Also where a form has made one line of the file."""
    account = RiskAccount(vonage_application="78d335fa", vonage_key=written(pem))
    with RiskService({}) as vonage:
        ask("vonage_identity", vonage, account, url=vonage.url)
        scheme, token = vonage.asked[0].headers["authorization"].split()
    read = jwt.decode(token, RSAKey.import_key(vonage_identity.private_key(pem)), algorithms=["RS256"])
    assert scheme == "Bearer" and read.claims["application_id"] == "78d335fa"
    assert read.claims["exp"] - read.claims["iat"] == 60 and len(read.claims["jti"]) == 36


def test_a_key_that_is_none_is_no_verdict():
    account = RiskAccount(vonage_application="78d335fa", vonage_key="nonsense")
    judged = ask("vonage_identity", None, account)
    assert (judged.verdict, judged.reason) == (Verdict.UNKNOWN, "the private key cannot be read")


# --- CAMARA ----------------------------------------------------------------------------------------------------------


def operator(url):
    return RiskAccount(camara_url=f"{url}/sim-swap/v2", camara_token_url=f"{url}/token", camara_client="shop",
                   camara_secret="hush")  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ({"swapped": True}, Verdict.DENY),
        ({"swapped": False}, Verdict.ALLOW),
        ({"swapped": "false"}, Verdict.UNKNOWN),
        ((422, {"status": 422, "code": "SERVICE_NOT_APPLICABLE", "message": "…"}), Verdict.UNKNOWN),
    ],
)
def test_the_operators_answer_decides(answer, verdict):
    with RiskService({"access_token": "t0ken", "token_type": "Bearer"}, answer) as network:
        assert ask("camara_sim_swap", network, operator(network.url)).verdict is verdict
        token, check = network.asked
    assert token.body == b"grant_type=client_credentials&scope=sim-swap%3Acheck"
    assert token.headers["authorization"] == "Basic " + base64.b64encode(b"shop:hush").decode()
    assert (check.target, check.headers["authorization"]) == ("/sim-swap/v2/check", "Bearer t0ken")
    assert check.json() == {"phoneNumber": NUMBER, "maxAge": 72}


def test_without_a_token_there_is_no_verdict():
    with RiskService((401, {"error": "invalid_client"})) as network:
        judged = ask("camara_sim_swap", network, operator(network.url))
    assert (judged.verdict, judged.reason) == (Verdict.UNKNOWN, "it returned no access token (HTTP 401)")


# --- the owner's server ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"),
    [
        ({"verdict": "allow"}, Verdict.ALLOW, ""),
        ({"verdict": "challenge", "reason": "a new device"}, Verdict.CHALLENGE, "a new device"),
        ({"verdict": "deny", "reason": 7}, Verdict.DENY, ""),
        ({"verdict": "no"}, Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 200)"),
        ([], Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 200)"),
        ((500, {"verdict": "allow"}), Verdict.UNKNOWN, "its answer says nothing about the number (HTTP 500)"),
    ],
)
def test_the_owners_server_decides(answer, verdict, reason):
    with RiskService(answer) as shop:
        account = RiskAccount(callback_url=f"{shop.url}/risk")
        judged = ask("callback", shop, account, sign=lambda text: {"webhook-id": str(len(text))})
        request = shop.asked[0]
    assert (judged.verdict, judged.reason) == (verdict, reason)
    body = {"to": NUMBER, "channel": "sms", "country": "DE", "network": "198.51.100.0/24", "known": False}
    assert request.json() == body
    assert request.headers["webhook-id"] == str(len(json.dumps(body, separators=(",", ":"))))


def test_who_does_not_answer_in_time_says_nothing():
    with RiskService(None) as shop:
        judged = ask("callback", shop, RiskAccount(callback_url=shop.url), seconds=0.2)
    assert judged.verdict is Verdict.UNKNOWN and judged.reason
