"""The calls of each system, byte for byte as it makes them, proof included."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

PHONE = "+4915112345678"
OTHER_PHONE = "+4915187654321"  # of the same user, or of somebody else
MAIL = "user@example.com"
CODE = "314159"
USER_ADDRESS = "203.0.113.7"
JSON = "application/json"


@dataclass
class Sent:
    body: bytes
    headers: dict
    content_type: str = JSON


@dataclass
class Far:
    """One system's end: the body for a recipient and a code, and the proof for a body."""

    system: str
    body: object
    proof: object
    to: str = PHONE
    code: str = CODE
    options: dict = field(default_factory=dict)
    content_type: str = JSON
    has_id: bool = False  # whether it names its call, the same on each try

    def call(self, secret, **changes):
        content = {"to": self.to, "code": self.code, **changes}
        made = self.body(**content)
        text = urlencode(made) if self.content_type != JSON else json.dumps(made)
        return self.signed(text.encode(), secret)

    def signed(self, body, secret):
        return Sent(body, self.proof(body, secret), self.content_type)


def webhook_headers(body, secret, *, message_id="", at=None):
    """Sign as Standard Webhooks says. The id is another on each try, as Supabase's is."""
    message_id = message_id or f"msg_{time.monotonic_ns()}"
    at = str(int(time.time() if at is None else at))
    key = base64.b64decode(secret.removeprefix("v1,whsec_"))
    signature = base64.b64encode(hmac.digest(key, f"{message_id}.{at}.".encode() + body, "sha256")).decode()
    return {"webhook-id": message_id, "webhook-timestamp": at, "webhook-signature": f"v1,{signature}"}


def rotating(body, secret):
    """Sign as Supabase does while two secrets are live: both in one header, joined by a comma and a space."""
    headers = webhook_headers(body, secret)
    other = base64.b64encode(b"of another secret, 32 bytes long").decode()
    return headers | {"webhook-signature": f"v1,{other}, {headers['webhook-signature']}"}


def zitadel_signature(body, secret, *, at=None):
    at = int(time.time() if at is None else at)
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return {"zitadel-signature": f"t={at},v1={signed}"}


def basic(body, secret):
    return {"authorization": "Basic " + base64.b64encode(f"watchword:{secret}".encode()).decode()}


def bearer(body, secret):
    return {"authorization": f"Bearer {secret}"}


def bare(body, secret):
    return {"authorization": secret}


def supabase_sms(to, code, uuid="7b5c1a4e-0d1f-4a7e-9a55-3f6f1c1f2f10", user=None, sms=None):
    return {
        "metadata": {
            "uuid": uuid,
            "time": "2026-11-25T04:00:00.000000Z",
            "name": "send-sms",
            "ip_address": USER_ADDRESS,
        },
        "user": {
            "id": "6481a5c1-3d37-4a56-9f6a-bee08c554965",
            "aud": "authenticated",
            "role": "authenticated",
            "email": "",
            "phone": to.removeprefix("+"),  # kept without its plus there
            "app_metadata": {"provider": "phone", "providers": ["phone"]},
            "user_metadata": {},
            "identities": [],
            "is_anonymous": False,
            **(user or {}),
        },
        "sms": {"otp": code, "phone": to.removeprefix("+"), **(sms or {})},
    }


def supabase_email(to, code, kind="magiclink", uuid="0c2f9b9e-58e3-4a5d-9a3e-2f9d0f0a7c11", **more):
    return {
        "metadata": {"uuid": uuid, "time": "2026-11-25T04:00:00Z", "name": "send-email", "ip_address": USER_ADDRESS},
        "user": {"id": "8484b834-f29e-4af2-bf42-80644d154f76", "email": to, "phone": "", **more.pop("user", {})},
        "email_data": {
            "token": code,
            "token_hash": "7d5b7b1964cf5d388340a7f04f1dbb5eeb6c7b52ef8270e1737a58d0",
            "redirect_to": "http://localhost:3000/",
            "email_action_type": kind,
            "site_url": "http://localhost:9999",
            "token_new": "",
            "token_hash_new": "",
            "old_email": "",
            "old_phone": "",
            "provider": "email",
            "factor_type": "",
            **more,
        },
    }


def logto(to, code, kind="SignIn", ip=USER_ADDRESS, **payload):
    return {
        "to": to,
        "type": kind,
        "payload": {"code": code, "locale": "de-AT", "uiLocales": "de-AT de", **payload},
        "ip": ip,
    }


def zitadel_sms(to, code, event="user.human.phone.code.added", **args):
    return {
        "contextInfo": {
            "eventType": event,
            "provider": {"id": "285181292935381355", "description": "Watchword"},
            "recipientPhoneNumber": to,
        },
        "templateData": {
            "title": "Zitadel - Verify phone",
            "subject": "Verify phone",
            "greeting": "Hello Gigi,",
            "text": f"A new phone number has been added. Please use the following code to verify it {code}.",
            "buttonText": "Verify phone",
        },
        "args": {
            "changeDate": "2026-11-25T04:00:00Z",
            "code": code,
            "creationDate": "2026-11-25T03:00:00Z",
            "displayName": "Gigi Giraffe",
            "preferredLanguage": "de",
            "lastEmail": "gigi@example.com",
            "lastPhone": to,
            "verifiedPhone": "",
            "loginNames": ["gigi@zitadel.example"],
            "userName": "gigi",
            **args,
        },
    }


def zitadel_email(to, code):
    made = zitadel_sms(PHONE, code)
    made["contextInfo"] = {
        "eventType": "user.human.email.code.added",
        "provider": {"id": "285181014567813483", "description": "Watchword"},
        "recipientEmailAddress": to,
    }
    return made


def zitadel_otp(to, code):
    made = zitadel_sms(to, code)
    made["contextInfo"]["eventType"] = "session.otp.sms.challenged"
    del made["args"]["code"]
    made["args"] |= {
        "OTP": code,
        "Domain": "zitadel.example",
        "Origin": "https://zitadel.example",
        "Expiry": 300000000000,
    }
    return made


def authentik(to, code):
    return {"From": "Example", "To": to, "Body": code, "Message": f"Use this code to authenticate in authentik: {code}"}


def fusionauth(to, code):
    return {
        "code": code,
        "phoneNumber": to,
        "textMessage": f"Two Factor Code: {code}",
        "type": "SMS",
        "userId": "00000000-0000-0001-0000-000000000000",
    }


def fusionauth_before_1_67(to, code):
    return {name: value for name, value in fusionauth(to, code).items() if name != "code"}


def okta(to, code, channel="SMS"):
    return {
        "eventId": "uS5871kJThSaU8qlA1LTcg",
        "eventTime": "2026-11-25T04:00:00.000Z",
        "eventType": "com.okta.telephony.provider",
        "eventTypeVersion": "1.0",
        "contentType": "application/json",
        "cloudEventVersion": "0.1",
        "source": "https://org.okta.example/api/v1/inlineHooks/cal4egvp1mbMldrYN0g7",
        "requestType": "com.okta.user.telephony.pre-enrollment",
        "data": {
            "context": {"request": {"id": "reqRgSk8IBBRhuo0YdlEDTmUw", "method": "POST"}},
            "userProfile": {
                "firstName": "test",
                "lastName": "user",
                "login": "test.user@okta.example",
                "mobilePhone": OTHER_PHONE,
            },
            "messageProfile": {
                "msgTemplate": f"Your code is {code}",
                "phoneNumber": to,
                "otpExpires": "2026-11-25T04:05:00.000Z",
                "deliveryChannel": channel,
                "otpCode": code,
                "locale": "EN-US",
            },
        },
    }


def keycloak(to, code):
    return {"phone_number": to, "message": f"Your SMS code is {code} and is valid for 5 minutes.", "sender": "Shop"}


def generic(to, code):
    return {"user": {"phone": to}, "otp": code, "request": {"id": "r-17", "ip": USER_ADDRESS}}


FAR = {
    "supabase_sms": Far("supabase_sms", supabase_sms, rotating, has_id=True),
    "supabase_email": Far("supabase_email", supabase_email, webhook_headers, to=MAIL, has_id=True),
    "logto sms": Far("logto", logto, bearer),
    "logto email": Far("logto", logto, bare, to=MAIL),
    "zitadel sms": Far("zitadel", zitadel_sms, zitadel_signature, code="0M53RF"),
    "zitadel email": Far("zitadel", zitadel_email, zitadel_signature, to=MAIL, code="0M53RF"),
    "zitadel otp": Far("zitadel", zitadel_otp, zitadel_signature, code="72910385"),
    "authentik": Far("authentik", authentik, basic),
    "fusionauth": Far("fusionauth", fusionauth, basic),
    "fusionauth before 1.67": Far("fusionauth", fusionauth_before_1_67, basic),
    "okta": Far("okta", okta, bare, has_id=True),
    "keycloak json": Far("keycloak", keycloak, bearer),
    "keycloak form": Far("keycloak", keycloak, basic, content_type="application/x-www-form-urlencoded"),
    "generic": Far(
        "generic",
        generic,
        lambda body, secret: {"x-hook-secret": secret},
        has_id=True,
        options={
            "to": "user.phone",
            "code": "otp",
            "id": "request.id",
            "client_address": "request.ip",
            "header": "X-Hook-Secret",
        },
    ),
}
