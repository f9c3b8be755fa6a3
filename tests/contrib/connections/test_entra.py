"""Microsoft Entra's passcodes, from the call with its token to the mail at the server."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from providers.http.client import Timeouts
from tests.contrib.connections.calls import Connected
from tests.contrib.connections.payloads import MAIL, USER_ADDRESS, Far, Sent
from tests.fakes import http_server as fake
from tests.fakes.http_server import FakeHttpServer
from tests.live import wait_until
from verification.contrib.connections import connections, published_keys
from verification.contrib.connections.systems.entra_email import CALLER
from verification.core import bulkhead, caching
from verification.core.errors import UserError
from verification.models import Decision, Message

pytestmark = pytest.mark.django_db
TENANT = "5d3f2b6e-1c2a-4b7e-9a55-3f6f1c1f2f10"
APPLICATION = "0f5a9e0c-77f1-4a2e-8b44-2a1f9d3c6b21"
CODE = "12345678"
THREADS = 8  # of a web process
SECONDS = 30.0  # for an answer; longer fails
KEY, OTHER_KEY = (RSAKey.generate_key(2048, {"kid": name, "use": "sig"}) for name in ("first", "second"))
SUCCESS = {
    "data": {
        "@odata.type": "microsoft.graph.OnOtpSendResponseData",
        "actions": [{"@odata.type": "microsoft.graph.OtpSend.continueWithDefaultBehavior"}],
    }
}


def event(to=MAIL, code=CODE, **context):
    """The payload of Microsoft's reference."""
    return {
        "type": "microsoft.graph.authenticationEvent.emailOtpSend",
        "source": f"/tenants/{TENANT}/applications/{APPLICATION}",
        "data": {
            "@odata.type": "microsoft.graph.onOtpSendCalloutData",
            "otpContext": {"identifier": to, "oneTimeCode": code} | context,
            "tenantId": TENANT,
            "authenticationEventListenerId": "00001111-aaaa-2222-bbbb-3333cccc4444",
            "customAuthenticationExtensionId": "11112222-bbbb-3333-cccc-4444dddd5555",
            "authenticationContext": {
                "correlationId": "aaaa0000-bb11-2222-33cc-444444dddddd",
                "client": {"ip": USER_ADDRESS, "locale": "de-de", "market": "de-de"},
                "requestType": "signUp",
            },
        },
    }


def token(*, key=KEY, **claims):
    now = int(time.time())
    usual = {
        "aud": APPLICATION,
        "iss": f"https://login.microsoftonline.com/{TENANT}/v2.0",
        "iat": now,
        "nbf": now,
        "exp": now + 3600,
        "azp": CALLER,
        "tid": TENANT,
        "ver": "2.0",
    }
    told = {name: value for name, value in (usual | claims).items() if value is not None}
    return jwt.encode({"alg": "RS256", "kid": key.kid}, told, key)


@pytest.fixture
def microsoft():
    """The tenant's keys at an address of its own."""
    published = KeySet([KEY])
    with FakeHttpServer(
        default=lambda server, connection: fake.answer(200, published.as_dict(private=False))(server, connection)
    ) as server:
        server.published = published
        yield server


@pytest.fixture
def connected(client, project, microsoft):
    options = {"tenant": TENANT, "application": APPLICATION, "keys_url": f"{microsoft.url}/keys"}
    far = Far("entra_email", event, lambda body, secret: {}, to=MAIL, code=CODE, options=options)
    return Connected(client, project, far)


@pytest.fixture
def call(connected):
    def made(body=None, bearer=None):
        headers = {"authorization": f"Bearer {token() if bearer is None else bearer}"}
        return connected.post(Sent(json.dumps(event() if body is None else body).encode(), headers))

    return made


def test_a_passcode_goes_from_the_signed_call_to_the_mail(call, outbox):
    answered = call()
    assert (answered.status_code, answered.data) == (200, SUCCESS)
    [sent] = outbox.messages
    assert (sent.to, sent.code, sent.channel, sent.language) == (MAIL, CODE, "email", "de")
    assert CODE in sent.text
    assert Message.objects.get().subnet == "203.0.113.0/24"


def test_a_second_try_answers_the_same_and_sends_nothing(call, outbox):
    assert call().content == call().content
    assert len(outbox.messages) == 1


def test_a_new_passcode_of_the_same_login_is_sent(call, outbox):
    call()
    call(event(code="87654321"))
    assert [sent.code for sent in outbox.messages] == [CODE, "87654321"]


def test_the_samples_other_writing_of_the_code_is_read(call, outbox):
    assert call(event(onetimecode=CODE, oneTimeCode=None)).status_code == 200
    assert outbox.last.code == CODE


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": f"api://codes.example/{APPLICATION}", "azp": None, "appid": CALLER, "ver": "1.0",
         "iss": f"https://sts.windows.net/{TENANT}/"},
        {"iss": f"https://shop.ciamlogin.com/{TENANT}/v2.0"},
    ],
)  # fmt: skip
def test_tokens_of_either_version_and_of_either_host_are_taken(call, claims):
    assert call(bearer=token(**claims)).status_code == 200


@pytest.mark.parametrize(
    ("bearer", "reason"),
    [
        (lambda: "", "there is no token"),
        (lambda: "nonsense", "not signed by the system"),
        (lambda: token(key=OTHER_KEY), "not signed by the system"),
        (lambda: "eyJhbGciOiJub25lIn0.e30.", "not signed by the system"),  # pragma: allowlist secret
        (lambda: token(exp=int(time.time()) - 120), "no longer good"),
        (lambda: token(exp=None), "no longer good"),
        (lambda: token(nbf=int(time.time()) + 120), "no longer good"),
        (lambda: token(aud="another"), "for another application"),
        (lambda: token(aud=[APPLICATION]), "for another application"),
        (lambda: token(tid="another"), "of another tenant"),
        (lambda: token(iss="https://login.microsoftonline.com/another/v2.0"), "of another tenant"),
        (lambda: token(azp="another"), "not given to Microsoft's"),
    ],
)
def test_another_token_is_no_proof_and_the_log_says_why(call, outbox, bearer, reason):
    answered = call(bearer=bearer())
    assert answered.status_code == 401
    assert answered.data == {"message": "The code could not be sent."}
    assert reason in Decision.objects.get(rule="connection_proof").subject
    assert outbox.messages == []


def test_the_keys_are_fetched_once_and_again_when_microsoft_changes_them(call, microsoft):
    assert call().status_code == call(event(code="11112222")).status_code == 200
    assert len(microsoft.requests) == 1
    microsoft.published.keys.append(OTHER_KEY)
    assert call(event(code="33334444"), bearer=token(key=OTHER_KEY)).status_code == 200
    assert len(microsoft.requests) == 2
    stranger = RSAKey.generate_key(2048, {"kid": "third"})
    assert call(bearer=token(key=stranger)).status_code == 401
    assert len(microsoft.requests) == 2  # whoever names keys that do not exist has us ask no more


def test_while_the_keys_cannot_be_fetched_the_system_is_told_to_wait(call, microsoft, outbox):
    microsoft.script(fake.answer(500))
    answered = call()
    assert answered.status_code == 503
    assert answered.data == {"message": "The code could not be sent."}
    assert call().status_code == 200 and len(outbox.messages) == 1


def test_keys_that_are_known_serve_on_while_newer_ones_cannot_be_fetched(call, microsoft):
    assert call().status_code == 200
    microsoft.script(fake.answer(500))
    stranger = RSAKey.generate_key(2048, {"kid": "third"})
    assert call(bearer=token(key=stranger)).status_code == 503
    assert call(event(code="11112222")).status_code == 200
    assert len(microsoft.requests) == 2


@pytest.mark.requirement(14)
def test_one_projects_hanging_server_does_not_keep_another_from_its_keys(call, microsoft, project, monkeypatch):
    monkeypatch.setattr(bulkhead, "_threads", THREADS)
    monkeypatch.setattr(published_keys, "TIMEOUTS", Timeouts(connect=SECONDS, total=SECONDS))
    places, _ = bulkhead.limits(bulkhead.Wait.TENANTS_SERVER, THREADS)
    with FakeHttpServer(default=fake.hang()) as hanging, ThreadPoolExecutor(places) as pool:
        for number in range(places):
            pool.submit(published_keys.keys_at, f"{hanging.url}/{number}", "key", project_id=project.row.pk + 1)
        wait_until(lambda: len(hanging.requests) == places, "all of its places are waiting")
        assert call().status_code == 200
        hanging.close()
    assert len(microsoft.requests) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (event() | {"type": "microsoft.graph.authenticationEvent.tokenIssuanceStart"}, "not an event of a passcode"),
        (event(oneTimeCode=None), "there is no code at"),
        (event(to="nobody"), "neither a phone number nor"),
        ({}, "not an event of a passcode"),
    ],
)
def test_what_is_no_passcode_is_refused(call, outbox, body, reason):
    assert call(body).status_code == 400
    assert reason in Decision.objects.get(rule="connection").subject
    assert outbox.messages == []


@pytest.mark.parametrize("options", [{"tenant": TENANT}, {"tenant": "shop", "application": APPLICATION}])
def test_a_connection_with_half_of_the_ids_is_not_made(project, options):
    with pytest.raises(UserError):
        connections.add_connection(project=project.row, system="entra_email", options=options)


def test_the_page_shows_the_address_alone(connected):
    caching.clear_all()
    lines = connections.lines_of(connected.row, "the secret")
    assert [line.name for line in lines] == ["Target Url"]


def test_without_the_ids_a_gateway_in_between_shows_the_connections_secret(client, project, outbox):
    far = Far("entra_email", event, lambda body, secret: {"authorization": f"Bearer {secret}"}, to=MAIL, code=CODE)
    connected = Connected(client, project, far)
    assert connected.call(secret="another-secret-of-entra").status_code == 401
    assert connected.call().data == SUCCESS
    assert outbox.last.code == CODE
    assert len(connections.lines_of(connected.row, connected.secret)) == 2
