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
from providers.base import MessagePrice, Outcome, ReceiptStatus, ReportsEnded
from providers.errors import AddressBlocked, HookForged, HookUnreadable
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import make_sms
from tests.fakes.store import FakeStore
from tests.providers.vendors import NO_WAY_TO_REPORT, Told, Vendor, each, grouped, statuses

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


VENDOR = Vendor(
    type=TYPE,
    settings=SETTINGS,
    secrets="secret_access_key",
    door=Door,
    wrong={
        "region": ["evil.example/"],
        "access_key_id": ["a b"],
        "secret_access_key": [""],
        "sender": ["a name"],
        "configuration_set": ["a b", ""],
        "topic_arn": ["arn:aws:sns:evil.example:1:x"],
        "max_price": ["a lot"],
        "base_url": ["http://127.0.0.1:5000"],
    },
    taken=taken(),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": "/",
                "header x-amz-target": "PinpointSMSVoiceV2.SendTextMessage",
                "header content-type": "application/x-amz-json-1.0",
                "header authorization": Told("Credential=AKIA1234567890/"),
                "body": b'{"DestinationPhoneNumber": "+4915112345678", "MessageBody": "Your code is 4711", '
                b'"MessageType": "TRANSACTIONAL", "TimeToLive": 180, "Context": {"message": "42"}, '
                b'"ConfigurationSetName": "codes"}',
                "provider_message_id": ID,
                "is_delivered": False,
            },
        ),
        (
            {"sender": "Shop", "max_price": "0.25"},
            {"text": "Код", "dlt_entity_id": "11", "dlt_template_id": "22"},
            {
                "header authorization": Told("/eu-central-1/sms-voice/aws4_request"),
                "OriginationIdentity": "Shop",
                "MaxPrice": "0.25",
                "MessageBody": "Код",
                "DestinationCountryParameters": {"IN_ENTITY_ID": "11", "IN_TEMPLATE_ID": "22"},
            },
        ),
        *[
            (
                {},
                {"expires_in": seconds, "sender": "4930123456"},
                {"TimeToLive": ttl, "OriginationIdentity": "4930123456"},
            )
            for seconds, ttl in [(-5, 5), (179, 179), (300_000, 259_200)]
        ],
        ({"topic_arn": ""}, {}, {"is_delivered": True}),
        *[({}, {"hook_url": url}, {"is_delivered": True}) for url in NO_WAY_TO_REPORT],
    ],
    not_applicable=[({"text": ""},), ({"text": "x" * 1_601},)],
    refusals=[
        *[
            (failure(400, name, reason), outcome, reason)
            for name, reason, outcome in [
                ("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT", Outcome.OPTED_OUT),
                ("ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED", Outcome.DECLINED),
                ("ConflictException", "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION", Outcome.DECLINED),
                ("ConflictException", "NO_ORIGINATION_IDENTITIES_FOUND", Outcome.DECLINED),
                ("ConflictException", "RESOURCE_NOT_ACTIVE", Outcome.MISCONFIGURED),
                ("ValidationException", "DESTINATION_COUNTRY_BLOCKED", Outcome.DECLINED),
                ("ValidationException", "SENDER_ID_NOT_REGISTERED", Outcome.DECLINED),
                ("ValidationException", "PRICE_OVER_THRESHOLD", Outcome.DECLINED),
                ("ValidationException", "INVALID_ARN", Outcome.MISCONFIGURED),
                ("ServiceQuotaExceededException", "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT", Outcome.OUT_OF_FUNDS),
                ("AccessDeniedException", "ACCOUNT_DISABLED", Outcome.MISCONFIGURED),
            ]
        ],
        *grouped(
            {
                Outcome.MISCONFIGURED: "CANNOT_PARSE CHANNEL_NOT_ENABLED INSUFFICIENT_ACCOUNT_REPUTATION"
                " MISSING_PARAMETER MESSAGE_TYPE_MISMATCH NUMBER_CAPABILITIES_MISMATCH RESOURCE_NOT_ACCESSIBLE",
                Outcome.DECLINED: "COUNTRY_CODE_MISMATCH COUNTRY_NOT_ENABLED INTERNATIONAL_SENDING_NOT_SUPPORTED"
                " DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE SENDER_ID_NOT_SUPPORTED"
                " INVALID_IDENTITY_FOR_DESTINATION_COUNTRY SENDER_ID_REQUIRES_REGISTRATION",
            },
            lambda reason: failure(400, "ValidationException", reason),
        ),
        (failure(400, "ConflictException", "SOMETHING_NEW"), Outcome.DECLINED, "ConflictException"),
        (failure(400, "ValidationException", "FIELD_VALIDATION_FAILED"), Outcome.DECLINED, "ValidationException"),
        *grouped(
            {
                Outcome.RATE_LIMITED: "ServiceQuotaExceededException ThrottlingException",
                Outcome.MISCONFIGURED: "AccessDeniedException ResourceNotFoundException UnrecognizedClientException"
                " InvalidSignatureException",
            },
            lambda name: failure(400, name),
        ),
        (failure(500, "InternalServerException"), Outcome.TEMPORARY, "InternalServerException"),
        (failure(400, "SomethingNew"), Outcome.DECLINED, "400"),
        (failure(503, "SomethingNew"), Outcome.TEMPORARY, "503"),
        (taken(MessageId=None), Outcome.UNCLEAR),
    ],
    check_request="POST /",
    checks=[
        (
            taken(
                SpendLimits=[
                    {"Name": "VOICE_MESSAGE_MONTHLY_SPEND_LIMIT", "EnforcedLimit": 1},
                    {"Name": "TEXT_MESSAGE_MONTHLY_SPEND_LIMIT", "EnforcedLimit": 50},
                ]
            ),
            True,
            "50 USD a month",
        ),
        (taken(SpendLimits=[]), True, "no spend limit"),
        (failure(400, "UnrecognizedClientException"), Outcome.MISCONFIGURED, "access key is not accepted"),
    ],
    sign=lambda message: signed(notice(message)),
    hook_answer=fake.answer(200, CERTIFICATE),
    forged=[
        *each(
            [
                signed(notice(event(), TopicArn=f"{TOPIC}-other")),
                signed(notice(event()), TopicArn=f"{TOPIC}-other"),
                signed(notice(event()), Message=json.dumps(event("TEXT_BLOCKED"))),
                signed(notice(event()), Timestamp="2026-11-22T12:00:00.000Z"),
                signed(notice(event()), Subject="new"),
                signed(notice(event()), Signature="x"),
                signed(notice(event()), Signature=None),
                signed(notice(event()), Type="UnsubscribeConfirmation"),
                signed(notice(event(), SignatureVersion="3")),
                signed(notice(event()), digest=hashes.SHA1()),
                signed(notice(event()), key=rsa.generate_private_key(public_exponent=65537, key_size=2048)),
                call(json.dumps(notice(event())).encode()),
                call(b"[]"),
            ]
        ),
        *[
            (event(), {}, None, said)
            for said in [
                fake.answer(200, b"no certificate"),
                fake.answer(404, CERTIFICATE),
                fake.hang_up(),
                fake.answer(200, make_certificate(ec.generate_private_key(ec.SECP256R1()))),
            ]
        ],
        (event(), {"topic_arn": ""}),
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "TEXT_SENT",
                ReceiptStatus.SUCCESS: "TEXT_SUCCESSFUL TEXT_DELIVERED",
                ReceiptStatus.EXPIRED: "TEXT_TTL_EXPIRED",
                ReceiptStatus.FAILED: "TEXT_INVALID TEXT_INVALID_MESSAGE TEXT_UNREACHABLE TEXT_CARRIER_UNREACHABLE"
                " TEXT_BLOCKED TEXT_CARRIER_BLOCKED TEXT_SPAM TEXT_PROTECT_BLOCKED",
            },
            event,
            provider_message_id=ID,
            message_id=42,
        ),
        (event("TEXT_BLOCKED"), {"error": Told("TEXT_BLOCKED")}),
        (event("TEXT_TTL_EXPIRED"), {"error": Told("TEXT_TTL_EXPIRED")}),
        *[
            (event(kind, isFinal=False), {"status": ReceiptStatus.SENT, "provider_status": kind, "error": ""})
            for kind in ("TEXT_CARRIER_UNREACHABLE", "TEXT_TTL_EXPIRED", "TEXT_SUCCESSFUL")
        ],
        (
            {"detail-type": "Text Message", "source": "aws.sms-voice", "detail": event()},  # EventBridge wrapped it
            {"status": ReceiptStatus.SUCCESS, "message_id": 42},
        ),
        (signed(confirmation(Type="UnsubscribeConfirmation")), (ReportsEnded(),)),
        *[
            (event() | {"eventType": kind}, ())
            for kind in ("TEXT_QUEUED", "TEXT_PENDING", "TEXT_UNKNOWN", "VOICE_COMPLETED", "", None)
        ],
        *[
            (event(context=context), {"message_id": None, "provider_message_id": ID})
            for context in (None, {}, [], {"message": 42}, {"message": "x"})
        ],
        *each(["no", "[]", event(messageId=None), event(messageId="9" * 201)], HookUnreadable),
        *[
            (event(totalMessagePrice=price, totalCarrierFee=fee), {"price": told})
            for price, fee, told in [
                (0.00581, 0.003, MessagePrice(Decimal("0.00881"), "USD")),
                (0.06087, None, MessagePrice(Decimal("0.06087"), "USD")),
                (None, 0.003, None),
            ]
        ],
    ],
)


@pytest.fixture
def adapter(server):
    return VENDOR.build(server)


def test_check_asks_for_the_limits(adapter, server):
    server.script(taken(SpendLimits=[]))
    adapter.check()
    assert server.requests[0].headers["x-amz-target"] == "PinpointSMSVoiceV2.DescribeSpendLimits"


def test_without_a_topic_nobody_is_asked_back(server):
    assert not VENDOR.build(server, topic_arn="").asks_back()


@pytest.mark.parametrize("version", ["1", "2"])
def test_it_accepts_a_call_of_the_topic_and_keeps_the_certificate(adapter, server, version):
    server.script(fake.answer(200, CERTIFICATE))
    for _ in range(2):
        adapter.verify_hook(signed(notice(event(), SignatureVersion=version, Subject="Amazon")))
    assert adapter.http.asked == [CERTIFICATE_URL]
    assert adapter.asks_back()


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


# The guard


def test_amazon_s_own_address_is_judged_when_it_is_connected_to():
    door = HttpClient(resolver=lambda *_: ["10.0.0.7"])
    adapter = registry.build(TYPE, registry.clean_settings(TYPE, SETTINGS), http=door, store=FakeStore())
    with pytest.raises(AddressBlocked, match=r"sms-voice\.eu-central-1\.amazonaws\.com is not a public address"):
        adapter.send(make_sms())
