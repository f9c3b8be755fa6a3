"""The services' requests and reports are shaped as in anymail's own tests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from functools import partial

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from providers import registry
from providers.base import Outcome, ReceiptStatus, ReportsEnded
from providers.errors import HookForged, HookUnreadable, ProviderError
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import error_of, make_sms
from tests.fakes.store import FakeStore
from tests.providers.vendors import Vendor

TYPE = "anymail"
SETTINGS = {
    "service": "postmark",
    "api_key": "hush-key",
    "from_email": "codes@example.com",
    "from_name": "Shop",
    "has_webhook": True,
    "webhook_login": "anymail:hush-login",
}
RESEND_SECRET = "whsec_" + base64.b64encode(b"hush-resend-secret-of-24b").decode()
SIGNER = ec.generate_private_key(ec.SECP256R1())
PUBLIC_KEY = base64.b64encode(
    SIGNER.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
).decode()
MAILGUN = {"service": "mailgun", "sender_domain": "mg.example.com", "webhook_key": "hush-signing", "webhook_login": ""}
SENDGRID = {"service": "sendgrid", "webhook_key": PUBLIC_KEY, "webhook_login": ""}
RESEND = {"service": "resend", "webhook_key": RESEND_SECRET, "webhook_login": ""}
BREVO = {"service": "brevo"}
SES = {"service": "amazon_ses", "api_key": "AKIA1234567890", "secret_key": "hush-secret", "region": "eu-central-1"}
BASIC = "Basic " + base64.b64encode(b"anymail:hush-login").decode()


def make_mail(**changes):
    values = {"channel": "email", "to": "ada@example.net", "html": "<p>4711</p>"}
    return make_sms(**{**values, **changes})


# Settings


VENDOR = Vendor(
    type=TYPE,
    settings=SETTINGS,
    secrets="api_key secret_key webhook_key webhook_login",
    wrong={
        "service": ["pigeon"],
        "api_key": ["", "a\u00e4"],
        "from_email": ["Shop <codes@example.com>"],
        "sender_domain": [
            {"service": "mailgun", "webhook_key": "x"},
            {"service": "mailgun", "sender_domain": "a.b/../c", "webhook_key": "x"},
        ],
        "webhook_key": [{"service": "mailgun", "sender_domain": "a.b"}],
        "base_url": [
            {"service": "postal", "webhook_key": "x"},
            *("https://127.0.0.1/", "http://api.example.com/", "https://api.example.com/{region.__class__}"),
        ],
        "has_webhook": [{"service": "scaleway", "project_id": "p", "region": "fr-par"}],
        "secret_key": [{"service": "amazon_ses", "region": "eu-central-1"}],
        "webhook_login": ["no colon", {**SES, "webhook_login": ""}],
    },
)


# Sending


@pytest.mark.parametrize(
    ("settings", "answered", "target", "login", "identity"),
    [
        (
            {},
            {"To": "ada@example.net", "MessageID": "0a26", "ErrorCode": 0, "Message": "OK"},
            "/email",
            ("x-postmark-server-token", "hush-key"),
            "0a26",
        ),
        (SENDGRID, b"", "/mail/send", ("authorization", "Bearer hush-key"), None),
        (
            MAILGUN,
            {"id": "<2026@mg.example.com>", "message": "Queued. Thank you."},
            "/mg.example.com/messages",
            ("authorization", "Basic " + base64.b64encode(b"api:hush-key").decode()),
            "<2026@mg.example.com>",
        ),
        (BREVO, {"messageId": "<2026@relay>"}, "/smtp/email", ("api-key", "hush-key"), "<2026@relay>"),
        (RESEND, {"id": "ed43-11"}, "/emails", ("authorization", "Bearer hush-key"), "ed43-11"),
        (SES, {"MessageId": "0101-77"}, "/v2/email/outbound-emails", ("content-type", "application/json"), "0101-77"),
    ],
    ids=["postmark", "sendgrid", "mailgun", "brevo", "resend", "amazon_ses"],
)
def test_it_sends_a_mail(build, server, settings, answered, target, login, identity):
    server.script(fake.answer(200, answered))
    result = build(**settings).send(make_mail())
    [request] = server.requests
    assert (request.method, request.target, request.headers[login[0]]) == ("POST", target, login[1])
    body = request.body
    if settings is SES:
        body = base64.b64decode(request.json()["Content"]["Raw"]["Data"])
    assert b"4711" in body and b"auto-generated" in body and b"codes" in body
    assert result.outcome is Outcome.ACCEPTED and not result.is_delivered
    assert result.provider_message_id if identity is None else result.provider_message_id == identity


def test_a_mail_is_not_tracked_and_carries_our_number(build, server):
    server.script(fake.answer(200, {"To": "ada@example.net", "MessageID": "0a26", "ErrorCode": 0, "Message": "OK"}))
    build().send(make_mail(subject="4711 is\r\nBcc: eve@example.com"))
    sent = server.requests[0].json()
    assert (sent["TrackOpens"], sent["TrackLinks"], sent["Metadata"]) == (False, "None", {"message": "42"})
    assert sent["Subject"] == "4711 is Bcc: eve@example.com"


def test_without_reports_acceptance_is_the_end(build, server):
    server.script(fake.answer(200, {"id": "ed43-11"}))
    assert build(**RESEND, has_webhook=False).send(make_mail()).is_delivered


@pytest.mark.parametrize(
    ("settings", "status", "body", "outcome"),
    [
        ({}, 422, {"ErrorCode": 406, "Message": "about ada@example.net"}, Outcome.REFUSED),
        ({}, 422, {"ErrorCode": 300, "Message": "x"}, Outcome.REFUSED),
        ({}, 422, {"ErrorCode": 400, "Message": "x"}, Outcome.MISCONFIGURED),
        ({}, 422, {"ErrorCode": 405, "Message": "x"}, Outcome.OUT_OF_FUNDS),
        ({}, 401, {"ErrorCode": 10, "Message": "x"}, Outcome.MISCONFIGURED),
        (SENDGRID, 401, {"errors": [{"message": "Maximum credits exceeded"}]}, Outcome.OUT_OF_FUNDS),
        (SENDGRID, 401, {"errors": [{"message": "bad grant"}]}, Outcome.MISCONFIGURED),
        (SENDGRID, 400, {"errors": [{"field": "from.email", "message": "x"}]}, Outcome.MISCONFIGURED),
        (BREVO, 400, {"code": "not_enough_credits"}, Outcome.OUT_OF_FUNDS),
        (BREVO, 402, {}, Outcome.OUT_OF_FUNDS),
        (RESEND, 429, {"name": "daily_quota_exceeded"}, Outcome.OUT_OF_FUNDS),
        (RESEND, 429, {"name": "rate_limit_exceeded"}, Outcome.RATE_LIMITED),
        (RESEND, 422, {"name": "invalid_from_address"}, Outcome.MISCONFIGURED),
        (MAILGUN, 500, b"<html>", Outcome.TEMPORARY),
        (SES, 400, {"__type": "MessageRejected", "message": "x"}, Outcome.MISCONFIGURED),
        (SES, 429, {"__type": "TooManyRequestsException"}, Outcome.RATE_LIMITED),
        (SES, 500, b"<html>", Outcome.TEMPORARY),
    ],
)
def test_it_reads_an_error(build, server, settings, status, body, outcome):
    server.script(fake.answer(status, body))
    error = error_of(build(**settings), make_mail())
    assert (error.outcome, len(server.requests)) == (outcome, 1)
    assert "ada@" not in str(error)


@pytest.mark.parametrize(
    ("status", "reason", "outcome", "is_suppressed"),
    [
        ("rejected", "hard-bounce", Outcome.REFUSED, True),
        ("rejected", "unsub", Outcome.OPTED_OUT, False),
        ("rejected", "soft-bounce", Outcome.REFUSED, False),
        ("invalid", None, Outcome.REFUSED, False),
        ("rejected", "unsigned", Outcome.MISCONFIGURED, False),
        ("rejected", "invalid-sender", Outcome.MISCONFIGURED, False),
        ("rejected", "custom", Outcome.DECLINED, False),
    ],
)
def test_a_refusal_of_mandrills_is_read_by_its_reason(build, server, status, reason, outcome, is_suppressed):
    told = {"email": "ada@example.net", "status": status, "reject_reason": reason, "_id": "a1"}
    server.script(fake.answer(200, [told]))
    error = error_of(build(service="mandrill", webhook_key="hush-key"), make_mail())
    assert (error.outcome, error.is_suppressed) == (outcome, is_suppressed)


def test_a_mail_that_failed_for_no_reason_told_ends_no_message(build, server):
    message = {"Status": "error", "Errors": [{"ErrorCode": "send-0008"}]}
    server.script(fake.answer(200, {"Messages": [message]}))
    error = error_of(build(service="mailjet", secret_key="hush-second"), make_mail())
    assert error.outcome is Outcome.DECLINED


def test_a_recipient_that_the_service_refuses_in_a_good_answer_is_refused(build, server):
    server.script(fake.answer(200, {"ErrorCode": 406, "Message": "inactive: ada@example.net"}))
    assert error_of(build(), make_mail()).outcome is Outcome.REFUSED


def test_a_service_s_address_is_judged_when_it_is_connected_to():
    door = HttpClient(resolver=lambda *_: ["10.0.0.7"])
    adapter = registry.build(TYPE, registry.clean_settings(TYPE, SETTINGS), http=door, store=FakeStore())
    with pytest.raises(ProviderError, match=r"api\.postmarkapp\.com is not a public address"):
        adapter.send(make_mail())


# Check


@pytest.mark.parametrize(
    ("settings", "status", "body", "is_ok", "balance"),
    [
        ({}, 200, {"ID": 1, "Name": "Shop"}, True, None),
        (BREVO, 200, {"plan": [{"type": "free", "credits": 290}]}, True, "290 credits"),
        (RESEND, 401, {"name": "restricted_api_key"}, True, None),
        (SENDGRID, 200, [], False, None),
        (SES, 200, {"SendQuota": {"Max24HourSend": 200, "SentLast24Hours": 200}, "SendingEnabled": True}, False, None),
    ],
)
def test_check_asks_something_that_sends_nothing(build, server, settings, status, body, is_ok, balance):
    server.script(fake.answer(status, body))
    health = build(**settings).check()
    assert (health.is_ok, health.balance) == (is_ok, balance)
    assert [request.method for request in server.requests] == ["GET"]


def test_check_tells_of_a_wrong_key(build, server):
    server.script(fake.answer(401, {"ErrorCode": 10}))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Reports


def postmark(**event):
    said = {
        "RecordType": "Delivery",
        "MessageID": "0a26",
        "Recipient": "ada@example.net",
        "Metadata": {"message": "42"},
    }
    return call(json.dumps({**said, **event}).encode(), authorization=BASIC)


def brevo(event, **changes):
    said = {"event": event, "email": "ada@example.net", "message-id": "<2026@relay>", "ts_epoch": 1604933619000}
    return call(json.dumps({**said, **changes}).encode(), authorization=BASIC)


def mailgun(event, *, key=b"hush-signing", **changes):
    timestamp, token = "1534108637", "a" * 50
    signature = hmac.new(key, f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    data = {
        "event": event,
        "timestamp": 1534108637.5,
        "recipient": "ada@example.net",
        "message": {"headers": {"message-id": "2026@mg.example.com"}},
        "user-variables": {"message": "42"},
        **changes,
    }
    signed = {"timestamp": timestamp, "token": token, "signature": signature}
    return call(json.dumps({"signature": signed, "event-data": data}).encode())


def sendgrid(*events, key=SIGNER):
    made = [{"email": "ada@example.net", "timestamp": 1461095246, "smtp-id": "<x>", **event} for event in events]
    body, timestamp = json.dumps(made).encode(), "1761095246"
    signature = base64.b64encode(key.sign(timestamp.encode() + body, ec.ECDSA(hashes.SHA256()))).decode()
    headers = {
        "x_twilio_email_event_webhook_signature": signature,
        "x_twilio_email_event_webhook_timestamp": timestamp,
    }
    return call(body, **headers)


def resend(kind, *, secret=RESEND_SECRET, **data):
    body = json.dumps({"type": kind, "created_at": "2026-11-21T12:00:00Z", "data": {"email_id": "ed43-11", **data}})
    timestamp = str(int(time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signature = base64.b64encode(hmac.new(key, f"msg_1.{timestamp}.{body}".encode(), hashlib.sha256).digest()).decode()
    return call(body.encode(), svix_id="msg_1", svix_timestamp=timestamp, svix_signature=f"v1,{signature}")


def ses(kind="Notification", message=None, login=BASIC, **changes):
    said = {
        "Type": kind,
        "MessageId": "19ba9823",
        "TopicArn": "arn:aws:sns:eu-central-1:1234:ses",
        "Timestamp": "2026-11-21T12:00:00.000Z",
        "Message": json.dumps(message) if message else "x",
        **changes,
    }
    headers = {"x_amz_sns_message_type": kind, "x_amz_sns_message_id": "19ba9823", "authorization": login}
    return call(json.dumps(said).encode(), **headers)


def ses_event(kind, **details):
    mail = {"messageId": "0101-77", "destination": ["ada@example.net"], "headers": []}
    return ses(message={"eventType": kind, "mail": mail, kind.lower(): details})


def wrapped(report):
    """The report as it comes where EventBridge stands between."""
    said = json.loads(report.body)
    event = {"detail-type": "Email Delivered", "source": "aws.ses", "detail": json.loads(said["Message"])}
    return ses(message=event)


def bounced(kind):
    return ses_event("Bounce", bounceType=kind, bounceSubType="General", bouncedRecipients=[{"emailAddress": "a@b"}])


SUCCESS, FAILED = ReceiptStatus.SUCCESS, ReceiptStatus.FAILED


@pytest.mark.parametrize(
    ("settings", "report", "identity", "status", "is_suppressed"),
    [
        ({}, postmark(), "0a26", SUCCESS, False),
        ({}, postmark(RecordType="Open"), "0a26", SUCCESS, False),
        ({}, postmark(RecordType="Bounce", Type="HardBounce", Email="a@b"), "0a26", FAILED, True),
        ({}, postmark(RecordType="Bounce", Type="SoftBounce", Email="a@b"), "0a26", FAILED, False),
        ({}, postmark(RecordType="SpamComplaint", Type="SpamComplaint", Email="a@b"), "0a26", SUCCESS, True),
        (BREVO, brevo("delivered"), "<2026@relay>", SUCCESS, False),
        (BREVO, brevo("hard_bounce"), "<2026@relay>", FAILED, True),
        (BREVO, brevo("soft_bounce"), "<2026@relay>", FAILED, False),
        (BREVO, brevo("unsubscribe"), "<2026@relay>", SUCCESS, False),
        (MAILGUN, mailgun("delivered"), "<2026@mg.example.com>", SUCCESS, False),
        (
            MAILGUN,
            mailgun("failed", severity="permanent", reason="bounce"),
            "<2026@mg.example.com>",
            FAILED,
            True,
        ),
        (MAILGUN, mailgun("complained"), "<2026@mg.example.com>", SUCCESS, True),
        (SENDGRID, sendgrid({"event": "delivered", "anymail_id": "sg-1"}), "sg-1", SUCCESS, False),
        (SENDGRID, sendgrid({"event": "bounce", "type": "bounce", "anymail_id": "sg-1"}), "sg-1", FAILED, True),
        (SENDGRID, sendgrid({"event": "bounce", "type": "blocked", "anymail_id": "sg-1"}), "sg-1", FAILED, False),
        (SENDGRID, sendgrid({"event": "unsubscribe", "anymail_id": "sg-1"}), "sg-1", SUCCESS, False),
        (RESEND, partial(resend, "email.delivered", to=["a@b"]), "ed43-11", SUCCESS, False),
        (RESEND, partial(resend, "email.bounced", to=["a@b"], bounce={"type": "Permanent"}), "ed43-11", FAILED, True),
        (RESEND, partial(resend, "email.bounced", to=["a@b"], bounce={"type": "Transient"}), "ed43-11", FAILED, False),
        (RESEND, partial(resend, "email.complained", to=["a@b"]), "ed43-11", SUCCESS, True),
        (SES, ses_event("Delivery", recipients=["a@b"]), "0101-77", SUCCESS, False),
        (SES, bounced("Permanent"), "0101-77", FAILED, True),
        (SES, bounced("Transient"), "0101-77", FAILED, False),
        (
            SES,
            ses_event(
                "Complaint",
                complaintSubType="OnAccountSuppressionList",
                complainedRecipients=[{"emailAddress": "a@b"}],
            ),
            "0101-77",
            FAILED,
            True,
        ),
        (SES, wrapped(ses_event("Delivery", recipients=["a@b"])), "0101-77", SUCCESS, False),
        (RESEND, partial(resend, "email.failed", failed={"reason": "reached_daily_quota"}), "ed43-11", FAILED, False),
        (RESEND, partial(resend, "email.suppressed", suppressed={"message": "x"}), "ed43-11", FAILED, True),
        (SES, ses_event("Complaint", complainedRecipients=[{"emailAddress": "a@b"}]), "0101-77", SUCCESS, True),
    ],
)
def test_it_reads_a_verified_report(build, settings, report, identity, status, is_suppressed):
    signed = report() if isinstance(report, partial) else report  # a signature with a time lasts five minutes
    [found] = receipts_of(build(**settings), signed)
    assert (found.provider_message_id, found.status, found.is_suppressed) == (identity, status, is_suppressed)
    assert bool(found.error) == (status is FAILED)
    assert found.is_opted_out is (found.provider_status == "unsubscribed")


@pytest.mark.parametrize("report", [postmark(RecordType="Bounce", Type="Transient"), postmark(RecordType="Other")])
def test_it_passes_over_what_changes_nothing(build, report):
    assert receipts_of(build(), report) == ()


def test_one_call_brings_many_reports(build):
    events = [{"event": "delivered", "anymail_id": f"sg-{number}"} for number in range(3)]
    assert [one.provider_message_id for one in receipts_of(build(**SENDGRID), sendgrid(*events))] == [
        "sg-0",
        "sg-1",
        "sg-2",
    ]


def test_our_number_comes_back(build):
    assert receipts_of(build(), postmark())[0].message_id == 42


@pytest.mark.parametrize(
    ("settings", "report"),
    [
        ({}, call(b"{}")),
        ({}, call(b"{}", authorization="Basic " + base64.b64encode(b"anymail:wrong").decode())),
        (MAILGUN, mailgun("delivered", key=b"wrong")),
        (SENDGRID, sendgrid({"event": "delivered"}, key=ec.generate_private_key(ec.SECP256R1()))),
        (SENDGRID, call(b"[]")),
        (RESEND, resend("email.delivered", secret="whsec_" + base64.b64encode(b"another-secret-of-24-bytes").decode())),
        (RESEND, call(b"{}")),
        (SES, ses(login="")),
        ({"has_webhook": False}, postmark()),
    ],
)
def test_a_forged_report_is_not_read(build, settings, report):
    with pytest.raises(HookForged):
        receipts_of(build(**settings), report)


def test_a_body_that_is_changed_after_signing_is_forged(build):
    report = sendgrid({"event": "delivered", "anymail_id": "sg-1"})
    changed = call(report.body.replace(b"delivered", b"bounce"), **report.headers)
    with pytest.raises(HookForged):
        receipts_of(build(**SENDGRID), changed)


def test_the_end_of_amazon_s_subscription_is_told(build):
    assert receipts_of(build(**SES), ses("UnsubscribeConfirmation", Token="t-1")) == (ReportsEnded(),)
    with pytest.raises(HookForged):
        receipts_of(build(**SES), ses("UnsubscribeConfirmation", login="Basic x"))


@pytest.mark.parametrize(("origin", "status"), [("Recipient", SUCCESS), ("Customer", ReceiptStatus.SENT)])
def test_of_postmark_s_unsubscriptions_only_the_recipient_s_own_shows_that_they_read_it(build, origin, status):
    changed = postmark(
        RecordType="SubscriptionChange", SuppressSending=True, SuppressionReason="ManualSuppression", Origin=origin
    )
    [found] = receipts_of(build(), changed)
    assert (found.status, found.is_opted_out) == (status, True)


@pytest.mark.parametrize("body", [b"x", b"[]", b"5", b"\xff"])
def test_it_does_not_read_what_is_no_report(build, body):
    with pytest.raises(HookUnreadable):
        receipts_of(build(), call(body, authorization=BASIC))


def test_amazon_s_subscription_is_confirmed_through_the_door(build, server):
    answered = "<R><ConfirmSubscriptionResult><SubscriptionArn>arn:x</SubscriptionArn></ConfirmSubscriptionResult></R>"
    server.script(fake.answer(200, answered.encode(), {"Content-Type": "text/xml"}))
    assert receipts_of(build(**SES), ses("SubscriptionConfirmation", Token="t-1")) == ()
    assert b"Action=ConfirmSubscription" in server.requests[0].body and b"Token=t-1" in server.requests[0].body


def test_a_topic_in_no_region_is_not_confirmed(build, server):
    arn = "arn:aws:sns:evil.example/:1234:ses"
    with pytest.raises(HookUnreadable):
        receipts_of(build(**SES), ses("SubscriptionConfirmation", Token="t-1", TopicArn=arn))
    assert server.requests == []
