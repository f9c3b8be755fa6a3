"""Against answers byte for byte: moto, which answers as Amazon does, has not this service."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.x509.oid import NameOID

from providers import registry
from providers.base import HookRequest, MessagePrice, Outcome, ReceiptStatus, ReportsEnded
from providers.errors import AddressBlocked, HookForged, HookUnreadable, ProviderError, SettingsInvalid
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms
from tests.fakes.store import FakeStore

TYPE = "aws_sms"
LOOPBACK = ("127.0.0.0/8",)
TOPIC = "arn:aws:sns:eu-central-1:123456789012:codes"
SNS = "https://sns.eu-central-1.amazonaws.com"
CERTIFICATE_URL = f"{SNS}/SimpleNotificationService-7ff5318490ec183fbaddaa2a969abfda.pem"
ID = "862a8790-60c0-4430-9b2b-658b00000000"
SETTINGS = {
    "region": "eu-central-1",
    "access_key_id": "AKIA1234567890",
    "secret_access_key": "hush-hush",
    "configuration_set": "codes",
    "topic_arn": TOPIC,
}


def make_certificate(key):
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CERTIFICATE = make_certificate(PRIVATE)


class Door(HttpClient):
    """The door, behind which SNS is the test's server."""

    def __init__(self, server):
        super().__init__(LOOPBACK)
        self.server, self.asked = server, []

    def request(self, method, url, **options):
        self.asked.append(url)
        return super().request(method, url.replace(SNS, self.server.url), **options)


@pytest.fixture
def adapter(server):
    """An adapter whose certificate and confirmations come from the test's server."""
    settings = registry.clean_settings(TYPE, SETTINGS)
    return registry.build(TYPE, settings, http=Door(server), store=FakeStore())


def failure(status, name, reason="", **more):
    body = {"__type": f"com.amazonaws.smsvoice#{name}", "Message": "about +4915112345678", **more}
    return fake.answer(
        status, body | ({"Reason": reason} if reason else {}), {"Content-Type": "application/x-amz-json-1.0"}
    )


def taken(**body):
    return fake.answer(200, body or {"MessageId": ID}, {"Content-Type": "application/x-amz-json-1.0"})


def event(kind="TEXT_DELIVERED", **changes):
    return {
        "eventType": kind,
        "eventVersion": "1.0",
        "eventTimestamp": 1686975103470,
        "isFinal": True,
        "originationPhoneNumber": "+12065550152",
        "destinationPhoneNumber": "+4915112345678",
        "messageId": ID,
        "messageStatus": kind.removeprefix("TEXT_"),
        "messageStatusDescription": "Message has been accepted by phone",
        "context": {"message": "42"},
        "totalMessageParts": 1,
        "totalMessagePrice": 0.00581,
        "totalCarrierFee": 0.003,
        **changes,
    }


def notice(message, **changes):
    content = message if isinstance(message, str) else json.dumps(message)
    return {
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": TOPIC,
        "Message": content,
        "Timestamp": "2026-11-21T12:00:00.000Z",
        "SigningCertURL": CERTIFICATE_URL,
        "SignatureVersion": "2",
        **changes,
    }


def confirmation(**changes):
    return {
        **notice("You have chosen to subscribe"),
        "Type": "SubscriptionConfirmation",
        "Token": "2336412f37",
        "SubscribeURL": f"{SNS}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37",
        **changes,
    }


SIGNED = {
    "Notification": ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
    "SubscriptionConfirmation": ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
    "UnsubscribeConfirmation": ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
}


def signed(content, *, key=PRIVATE, digest=None, **after):
    """Sign as Amazon's guide says; ``after`` changes what was signed."""
    digest = digest or (hashes.SHA1() if content["SignatureVersion"] == "1" else hashes.SHA256())
    text = "".join(f"{name}\n{content[name]}\n" for name in SIGNED[content["Type"]] if name in content)
    signature = base64.b64encode(key.sign(text.encode(), PKCS1v15(), digest)).decode()
    body = json.dumps({**content, "Signature": signature, **after}).encode()
    return call(body, kind="text/plain; charset=UTF-8", x_amz_sns_message_type=content["Type"])


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"region": "evil.example/"}, "region"),
        ({"access_key_id": "a b"}, "access_key_id"),
        ({"secret_access_key": ""}, "secret_access_key"),
        ({"sender": "a name"}, "sender"),
        ({"configuration_set": "a b"}, "configuration_set"),
        ({"configuration_set": ""}, "configuration_set"),
        ({"topic_arn": "arn:aws:sns:evil.example:1:x"}, "topic_arn"),
        ({"max_price": "a lot"}, "max_price"),
        ({"base_url": "http://127.0.0.1:5000"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


# Sending


def test_it_signs_and_asks_once(build, server):
    server.script(taken())
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/")
    assert request.headers["x-amz-target"] == "PinpointSMSVoiceV2.SendTextMessage"
    assert request.headers["content-type"] == "application/x-amz-json-1.0"
    assert "Credential=AKIA1234567890/" in request.headers["authorization"]
    assert "/eu-central-1/sms-voice/aws4_request" in request.headers["authorization"]
    assert request.body == (
        b'{"DestinationPhoneNumber": "+4915112345678", "MessageBody": "Your code is 4711", '
        b'"MessageType": "TRANSACTIONAL", "TimeToLive": 180, "Context": {"message": "42"}, '
        b'"ConfigurationSetName": "codes"}'
    )
    assert (result.outcome, result.provider_message_id, result.is_delivered) == (Outcome.ACCEPTED, ID, False)


def test_what_the_settings_and_the_country_ask_for_goes_along(build, server):
    server.script(taken())
    build(sender="Shop", max_price="0.25").send(make_sms(text="Код", dlt_entity_id="11", dlt_template_id="22"))
    body = server.requests[0].json()
    assert (body["OriginationIdentity"], body["MaxPrice"], body["MessageBody"]) == ("Shop", "0.25", "Код")
    assert body["DestinationCountryParameters"] == {"IN_ENTITY_ID": "11", "IN_TEMPLATE_ID": "22"}


@pytest.mark.parametrize(("seconds", "ttl"), [(-5, 5), (179, 179), (300_000, 259_200)])
def test_the_time_to_live_keeps_its_bounds(build, server, seconds, ttl):
    server.script(taken())
    build().send(make_sms(expires_in=seconds, sender="4930123456"))
    body = server.requests[0].json()
    assert (body["TimeToLive"], body["OriginationIdentity"]) == (ttl, "4930123456")


@pytest.mark.parametrize(
    ("settings", "hook_url"), [({"topic_arn": ""}, HOOK_URL), ({}, None), ({}, "https://10.0.0.5/hooks/1/2")]
)
def test_without_a_way_to_report_acceptance_is_the_end(build, server, settings, hook_url):
    server.script(taken())
    assert build(**settings).send(make_sms(hook_url=hook_url)).is_delivered


@pytest.mark.parametrize("text", ["", "x" * 1_601])
def test_a_text_that_is_empty_or_too_long_is_not_applicable(build, server, text):
    assert error_of(build(), make_sms(text=text)).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("status", "name", "reason", "outcome", "told"),
    [
        (400, "ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT", Outcome.OPTED_OUT, None),
        (400, "ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED", Outcome.DECLINED, None),
        (400, "ConflictException", "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION", Outcome.DECLINED, None),
        (400, "ConflictException", "NO_ORIGINATION_IDENTITIES_FOUND", Outcome.DECLINED, None),
        (400, "ConflictException", "RESOURCE_NOT_ACTIVE", Outcome.MISCONFIGURED, None),
        (400, "ConflictException", "SOMETHING_NEW", Outcome.DECLINED, "ConflictException"),
        (400, "ValidationException", "DESTINATION_COUNTRY_BLOCKED", Outcome.DECLINED, None),
        (400, "ValidationException", "SENDER_ID_NOT_REGISTERED", Outcome.DECLINED, None),
        (400, "ValidationException", "PRICE_OVER_THRESHOLD", Outcome.DECLINED, None),
        (400, "ValidationException", "INVALID_ARN", Outcome.MISCONFIGURED, None),
        (400, "ValidationException", "FIELD_VALIDATION_FAILED", Outcome.DECLINED, "ValidationException"),
        (400, "ServiceQuotaExceededException", "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT", Outcome.OUT_OF_FUNDS, None),
        (400, "ServiceQuotaExceededException", "", Outcome.RATE_LIMITED, "ServiceQuotaExceededException"),
        (400, "AccessDeniedException", "ACCOUNT_DISABLED", Outcome.MISCONFIGURED, None),
        (400, "AccessDeniedException", "", Outcome.MISCONFIGURED, "AccessDeniedException"),
        (400, "ResourceNotFoundException", "", Outcome.MISCONFIGURED, "ResourceNotFoundException"),
        (400, "ThrottlingException", "", Outcome.RATE_LIMITED, "ThrottlingException"),
        (400, "UnrecognizedClientException", "", Outcome.MISCONFIGURED, "UnrecognizedClientException"),
        (400, "InvalidSignatureException", "", Outcome.MISCONFIGURED, "InvalidSignatureException"),
        (500, "InternalServerException", "", Outcome.TEMPORARY, "InternalServerException"),
        (400, "SomethingNew", "", Outcome.DECLINED, "400"),
        (503, "SomethingNew", "", Outcome.TEMPORARY, "503"),
    ],
)
def test_it_reads_a_refusal_by_its_reason_and_never_tries_again(build, server, status, name, reason, outcome, told):
    server.script(failure(status, name, reason))
    error = error_of(build())
    assert (error.outcome, len(server.requests)) == (outcome, 1)
    assert error.provider_status == (told or reason)
    assert not error.is_suppressed


def test_an_answer_without_an_id_is_unclear(build, server):
    server.script(taken(MessageId=None))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (
            [
                {"Name": "VOICE_MESSAGE_MONTHLY_SPEND_LIMIT", "EnforcedLimit": 1},
                {"Name": "TEXT_MESSAGE_MONTHLY_SPEND_LIMIT", "EnforcedLimit": 50},
            ],
            "50 USD a month",
        ),
        ([], "no spend limit"),
    ],
)
def test_check_tells_the_spend_limit(build, server, limits, words):
    server.script(taken(SpendLimits=limits))
    health = build().check()
    assert health.is_ok and words in health.detail and health.balance is None
    assert server.requests[0].headers["x-amz-target"] == "PinpointSMSVoiceV2.DescribeSpendLimits"


def test_check_tells_of_a_wrong_key(build, server):
    server.script(failure(400, "UnrecognizedClientException"))
    with pytest.raises(ProviderError, match="access key is not accepted"):
        build().check()


# Verifying receipts


@pytest.mark.parametrize("version", ["1", "2"])
def test_it_accepts_a_call_of_the_topic_and_keeps_the_certificate(adapter, server, version):
    server.script(fake.answer(200, CERTIFICATE))
    for _ in range(2):
        adapter.verify_hook(signed(notice(event(), SignatureVersion=version, Subject="Amazon")))
    assert adapter.http.asked == [CERTIFICATE_URL]
    assert adapter.asks_back()


@pytest.mark.parametrize(
    "make_request",
    [
        lambda: signed(notice(event(), TopicArn=f"{TOPIC}-other")),
        lambda: signed(notice(event()), TopicArn=f"{TOPIC}-other"),
        lambda: signed(notice(event()), Message=json.dumps(event("TEXT_BLOCKED"))),
        lambda: signed(notice(event()), Timestamp="2026-11-22T12:00:00.000Z"),
        lambda: signed(notice(event()), Subject="new"),
        lambda: signed(notice(event()), Signature="x"),
        lambda: signed(notice(event()), Signature=None),
        lambda: signed(notice(event()), Type="UnsubscribeConfirmation"),
        lambda: signed(notice(event()), SignatureVersion="3"),
        lambda: signed(notice(event()), digest=hashes.SHA1()),
        lambda: signed(notice(event()), key=rsa.generate_private_key(public_exponent=65537, key_size=2048)),
        lambda: call(json.dumps(notice(event())).encode()),
        lambda: call(b"[]"),
    ],
)
def test_it_refuses_a_forged_call(adapter, server, make_request):
    server.script(fake.answer(200, CERTIFICATE))
    with pytest.raises(HookForged):
        adapter.verify_hook(make_request())


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/SimpleNotificationService-1.pem",
        "https://sns.eu-central-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem",
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-1.pem",
        f"{SNS}/SimpleNotificationService-1.pem?x=1",
        f"{SNS}@evil.example/SimpleNotificationService-1.pem",
        "http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem",
        None,
    ],
)
def test_a_certificate_from_elsewhere_is_not_even_asked_for(adapter, url):
    with pytest.raises(HookForged):
        adapter.verify_hook(signed(notice(event(), SigningCertURL=url)))
    assert adapter.http.asked == []


@pytest.mark.parametrize(
    "behaviour",
    [
        fake.answer(200, b"no certificate"),
        fake.answer(404, CERTIFICATE),
        fake.hang_up(),
        fake.answer(200, make_certificate(ec.generate_private_key(ec.SECP256R1()))),
    ],
)
def test_without_a_certificate_nothing_is_believed(adapter, server, behaviour):
    server.script(behaviour)
    with pytest.raises(HookForged):
        adapter.verify_hook(signed(notice(event())))


def test_without_a_topic_nothing_is_believed(build):
    adapter = build(topic_arn="")
    assert not adapter.asks_back()
    with pytest.raises(HookForged):
        adapter.verify_hook(signed(notice(event())))
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("GET", HOOK_URL, "", {}, b""))


# The subscription


def test_it_confirms_the_subscription_of_its_topic_at_amazon_alone(adapter, server):
    server.script(fake.answer(200, CERTIFICATE), fake.answer(200, b"<ConfirmSubscriptionResponse/>"))
    request = signed(confirmation(SubscribeURL="https://evil.example/"))
    assert receipts_of(adapter, request) == ()
    asked = f"{SNS}/?Action=ConfirmSubscription&TopicArn=arn%3Aaws%3Asns%3Aeu-central-1%3A123456789012%3Acodes"
    assert adapter.http.asked == [CERTIFICATE_URL, f"{asked}&Token=2336412f37"]


@pytest.mark.parametrize("behaviour", [fake.answer(400, b"expired"), fake.hang_up()])
def test_a_confirmation_that_failed_is_answered_with_an_error(adapter, server, behaviour):
    server.script(behaviour)
    with pytest.raises(HookUnreadable):
        adapter.parse_hook(signed(confirmation()))


# Reading receipts


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        ("TEXT_SENT", ReceiptStatus.SENT),
        ("TEXT_SUCCESSFUL", ReceiptStatus.SUCCESS),
        ("TEXT_DELIVERED", ReceiptStatus.SUCCESS),
        ("TEXT_TTL_EXPIRED", ReceiptStatus.EXPIRED),
        ("TEXT_INVALID", ReceiptStatus.FAILED),
        ("TEXT_INVALID_MESSAGE", ReceiptStatus.FAILED),
        ("TEXT_UNREACHABLE", ReceiptStatus.FAILED),
        ("TEXT_CARRIER_UNREACHABLE", ReceiptStatus.FAILED),
        ("TEXT_BLOCKED", ReceiptStatus.FAILED),
        ("TEXT_CARRIER_BLOCKED", ReceiptStatus.FAILED),
        ("TEXT_SPAM", ReceiptStatus.FAILED),
        ("TEXT_PROTECT_BLOCKED", ReceiptStatus.FAILED),
    ],
)
def test_it_reads_an_event(adapter, server, kind, ours):
    server.script(fake.answer(200, CERTIFICATE))
    [found] = receipts_of(adapter, signed(notice(event(kind))))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, ID, 42)
    assert found.provider_status == kind and not found.is_suppressed
    assert (kind in found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))


@pytest.mark.parametrize(
    ("kind", "is_final", "ours"),
    [
        ("TEXT_CARRIER_UNREACHABLE", False, ReceiptStatus.SENT),
        ("TEXT_TTL_EXPIRED", False, ReceiptStatus.SENT),
        ("TEXT_CARRIER_UNREACHABLE", True, ReceiptStatus.FAILED),
        ("TEXT_DELIVERED", True, ReceiptStatus.SUCCESS),
        ("TEXT_SUCCESSFUL", True, ReceiptStatus.SUCCESS),
        ("TEXT_SUCCESSFUL", False, ReceiptStatus.SENT),
    ],
)
def test_only_what_is_final_ends_a_message(adapter, kind, is_final, ours):
    [found] = adapter.parse_hook(signed(notice(event(kind, isFinal=is_final)))).events
    assert (found.status, found.provider_status) == (ours, kind)
    assert bool(found.error) == (ours is ReceiptStatus.FAILED)


def test_an_event_that_eventbridge_wrapped_is_read(adapter):
    wrapped = {"detail-type": "Text Message", "source": "aws.sms-voice", "detail": event("TEXT_DELIVERED")}
    [found] = adapter.parse_hook(signed(notice(wrapped))).events
    assert (found.status, found.message_id) == (ReceiptStatus.SUCCESS, 42)


def test_the_end_of_the_subscription_is_believed_and_told(adapter, server):
    server.script(fake.answer(200, CERTIFICATE))
    request = signed(confirmation(Type="UnsubscribeConfirmation"))
    assert receipts_of(adapter, request) == (ReportsEnded(),)


@pytest.mark.parametrize("kind", ["TEXT_QUEUED", "TEXT_PENDING", "TEXT_UNKNOWN", "VOICE_COMPLETED", "", None])
def test_it_passes_over_what_changes_nothing(adapter, kind):
    message = event() | {"eventType": kind}
    assert adapter.parse_hook(signed(notice(message))).events == ()


@pytest.mark.parametrize("context", [None, {}, [], {"message": 42}, {"message": "x"}])
def test_an_id_that_is_not_ours_is_left_out(adapter, context):
    [found] = adapter.parse_hook(signed(notice(event(context=context)))).events
    assert (found.message_id, found.provider_message_id) == (None, ID)


@pytest.mark.parametrize("message", ["no", "[]", event(messageId=None), event(messageId="9" * 201)])
def test_it_does_not_read_a_report_that_names_no_message(adapter, message):
    with pytest.raises(HookUnreadable):
        adapter.parse_hook(signed(notice(message)))


# Prices


@pytest.mark.parametrize(
    ("price", "fee", "told"),
    [
        (0.00581, 0.003, MessagePrice(Decimal("0.00881"), "USD")),
        (0.06087, None, MessagePrice(Decimal("0.06087"), "USD")),
        (None, 0.003, None),
    ],
)
def test_a_report_tells_the_price_with_the_carrier_s_fee(adapter, price, fee, told):
    [found] = adapter.parse_hook(signed(notice(event(totalMessagePrice=price, totalCarrierFee=fee)))).events
    assert found.price == told


# The guard


def test_amazon_s_own_address_is_judged_when_it_is_connected_to():
    door = HttpClient(resolver=lambda *_: ["10.0.0.7"])
    adapter = registry.build(TYPE, registry.clean_settings(TYPE, SETTINGS), http=door, store=FakeStore())
    with pytest.raises(AddressBlocked, match=r"sms-voice\.eu-central-1\.amazonaws\.com is not a public address"):
        adapter.send(make_sms())
