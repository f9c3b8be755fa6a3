"""Each system's calls, from the signed request to the text at the gateway."""

import json

import pytest

from tests.contrib.connections.payloads import (
    CODE,
    FAR,
    MAIL,
    OTHER_PHONE,
    PHONE,
    Sent,
    fusionauth_before_1_67,
    supabase_email,
    webhook_headers,
)
from tests.fakes.http_server import FakeHttpServer
from verification.contrib.connections import registry
from verification.core import caching
from verification.core.errors import UserError
from verification.models import Decision, Message, Provider
from verification.services.delivery import dispatch
from verification.services.providers import accounts

pytestmark = pytest.mark.django_db
every_system = pytest.mark.parametrize("name", FAR)
every_phone_system = pytest.mark.parametrize("name", [name for name, far in FAR.items() if far.to == PHONE])
OF_ARKANSAS = "4794567890"  # as it is written there; behind a plus it is somebody's in Norway

SUCCESS = {  # what each takes for success beyond a 2xx
    "okta": lambda message: {
        "commands": [
            {
                "type": "com.okta.telephony.action",
                "value": [{"status": "SUCCESSFUL", "provider": "Watchword", "transactionId": str(message.pk)}],
            }
        ]
    }
}
REFUSAL = {
    "supabase_sms": {"error": {"http_code": 403, "message": "The code could not be sent."}},
    "supabase_email": {"error": {"http_code": 403, "message": "The code could not be sent."}},
    "authentik": None,
    "okta": {
        "error": {
            "errorSummary": "The code could not be sent.",
            "errorCauses": [{"reason": "The code could not be sent."}],
        }
    },
}


def test_every_system_has_its_calls_here():
    assert {far.system for far in FAR.values()} == set(registry.all_systems()) - {"entra_email"}


@every_system
def test_a_code_goes_from_the_signed_call_to_the_gateway(connect, name, settings):
    far = FAR[name]
    connected = connect(far)
    with FakeHttpServer() as gateway:
        Provider.objects.filter(project=connected.project.row).delete()
        for channel in ("sms", "email"):
            accounts.add_provider(
                project=connected.project.row,
                channel=channel,
                provider_type="http",
                name=f"Gateway for {channel}",
                values={"url": f"http://127.0.0.1:{gateway.port}/send"},
            )
        caching.clear_all()
        answered = connected.call()
        assert answered.status_code == 200
        assert answered.data == SUCCESS.get(far.system, lambda message: {})(connected.message)
        assert not gateway.requests  # nothing is sent within the request
        dispatch.deliver(connected.message.pk)
        [sent] = [request.json() for request in gateway.requests]
    assert (sent["to"], sent["code"]) == (far.to, far.code)
    assert far.code in sent["text"]
    assert connected.message.status == "success"


@every_system
def test_a_second_try_answers_the_same_and_sends_nothing(connect, outbox, name):
    connected = connect(FAR[name])
    first, again = connected.call(), connected.call()
    assert (again.status_code, again.content) == (first.status_code, first.content) == (200, first.content)
    assert len(outbox.messages) == 1


@every_system
def test_a_call_with_another_secret_is_refused_and_noted(connect, outbox, name):
    connected = connect(FAR[name])
    answered = connected.call(secret=registry.system_class(FAR[name].system).new_secret())
    assert answered.status_code == 401
    assert outbox.messages == []
    noted = Decision.objects.get(rule="connection_proof")
    assert noted.subject.startswith(connected.row.name) and noted.project == connected.project.row


@every_system
def test_a_refusal_has_the_systems_form_and_no_reason(connect, name):
    far = FAR[name]
    connected = connect(far)
    connected.project.set(countries=["FR"])
    if far.to == MAIL:
        from verification.models import ListEntry

        ListEntry.objects.create(project=connected.project.row, kind="block", subject="domain", value="example.com")
        caching.clear_all()
    answered = connected.call()
    assert answered.status_code == 403
    assert answered.data == REFUSAL.get(far.system, {"message": "The code could not be sent."})
    assert b"The code could not be sent." in answered.content
    assert "Retry-After" not in answered.headers
    assert not Message.objects.exists()


@every_system
@pytest.mark.parametrize(
    ("change", "reason"),
    [({"code": "12 45"}, "4 to 10 letters"), ({"code": "12345678901"}, "4 to 10"), ({"to": "+49"}, "neither")],
)
def test_what_cannot_be_sent_is_refused_and_the_log_says_why(connect, outbox, name, change, reason):
    far = FAR[name]
    if (far.system == "keycloak" or far.body is fusionauth_before_1_67) and "code" in change:
        reason = "the text contains no code"
    connected = connect(far)
    answered = connected.call(**change)
    assert answered.status_code == 400
    assert b"The code could not be sent." in answered.content
    assert reason in Decision.objects.get(rule="connection").subject
    assert outbox.messages == []


@every_phone_system
def test_a_number_without_a_plus_is_nobodys_unless_the_system_leaves_it_out(connect, outbox, name):
    connected = connect(FAR[name])
    is_international = registry.system_class(FAR[name].system).leaves_plus_out
    assert connected.call(to=OF_ARKANSAS).status_code == (200 if is_international else 400)
    assert [sent.to for sent in outbox.messages] == ([f"+{OF_ARKANSAS}"] if is_international else [])


@every_phone_system
@pytest.mark.parametrize(("to", "sent_to"), [(OF_ARKANSAS, f"+1{OF_ARKANSAS}"), (PHONE, PHONE), ("0049 30 901820", "")])
def test_a_number_without_a_plus_is_one_of_the_country_that_the_owner_names(connect, outbox, name, to, sent_to):
    if registry.system_class(FAR[name].system).leaves_plus_out:
        with pytest.raises(UserError, match="has no option 'country'"):
            connect(FAR[name], country="US")
    else:
        assert connect(FAR[name], country="US").call(to=to).status_code == (200 if sent_to else 400)
        assert [sent.to for sent in outbox.messages] == ([sent_to] if sent_to else [])


@every_phone_system
def test_invisible_characters_around_a_number_make_it_no_other(connect, outbox, name):
    connect(FAR[name]).call(to="\u202d+49 1511\u200b 2345678\u202c")
    assert [sent.to for sent in outbox.messages] == [PHONE]


@every_phone_system
@pytest.mark.parametrize("to", ["٤٧٩٤٥٦٧٨٩٠", "\uff0b4794567890", "00+4794567890", "tel:+4794567890", "004794567890"])
def test_no_other_writing_of_a_number_is_repaired(connect, outbox, name, to):
    assert connect(FAR[name]).call(to=to).status_code == 400


@every_system
def test_without_its_recipient_a_call_sends_to_nobody_else(connect, outbox, name):
    assert connect(FAR[name]).call(to="").status_code == 400
    assert outbox.messages == []


@every_system
def test_a_recipient_of_another_kind_gets_no_code(connect, outbox, name):
    far = FAR[name]
    if len(registry.system_class(far.system).recipients) == 1:
        assert connect(far).call(to=MAIL if far.to == PHONE else PHONE).status_code == 400
        assert outbox.messages == []


def test_a_bare_plus_in_a_form_is_one(connect, outbox):
    far = FAR["keycloak form"]
    connected = connect(far)
    body = f"phone_number=+4915112345678&message=Your+code+is+{CODE}.".encode()
    assert connected.post(far.signed(body, connected.secret)).status_code == 200
    assert outbox.last.to == PHONE


@every_system
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff\xfe", b"null", b'{"to": 5}', b"[" * 3_000, b'{"a": NaN}'])
def test_a_body_without_sense_is_no_fault_of_ours(connect, name, body):
    connected = connect(FAR[name])
    answered = connected.post(FAR[name].signed(body, connected.secret))
    assert answered.status_code in (400, 401)  # what is no UTF-8 has no signature of Standard Webhooks


def test_supabases_change_of_an_address_brings_two_codes(connect, outbox):
    connected = connect(FAR["supabase_email"])
    more = {"kind": "email_change", "token_new": "271828", "user": {"new_email": "new@example.com"}}
    assert connected.call(**more).status_code == 200
    assert connected.call(**more).status_code == 200
    assert {(sent.to, sent.code) for sent in outbox.messages} == {(MAIL, CODE), ("new@example.com", "271828")}
    assert len(outbox.messages) == 2


def test_supabases_change_with_one_code_goes_to_the_new_address(connect, outbox):
    connect(FAR["supabase_email"]).call(kind="email_change", user={"new_email": "new@example.com"})
    assert [sent.to for sent in outbox.messages] == ["new@example.com"]


@pytest.mark.parametrize("kind", ["password_changed_notification", "something_new"])
def test_supabases_mail_without_a_code_is_refused(connect, outbox, kind):
    assert connect(FAR["supabase_email"]).call(kind=kind).status_code == 400
    assert outbox.messages == []
    assert "no code" in Decision.objects.get(rule="connection").subject


@pytest.mark.parametrize(("token", "token_new"), [(CODE, ""), ("", CODE)])
def test_supabases_user_without_an_address_gets_the_one_code_for_the_first(connect, outbox, token, token_new):
    change = {"kind": "email_change", "to": "", "code": token, "token_new": token_new}
    assert connect(FAR["supabase_email"]).call(**change, user={"new_email": MAIL}).status_code == 200
    assert [(sent.to, sent.code) for sent in outbox.messages] == [(MAIL, CODE)]


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "email_change"},
        {"kind": "email_change", "to": "", "token_new": "271828", "user": {"new_email": MAIL}},
        {"kind": "email_change", "code": "", "user": {"new_email": MAIL}},
        {"kind": "reauthentication", "to": "", "user": {"new_email": MAIL, "phone": PHONE}},
        {"kind": "signup", "to": "", "user": {"new_email": MAIL}},
    ],
)
def test_supabases_mail_that_names_nobody_goes_to_nobody_else(connect, outbox, change):
    assert connect(FAR["supabase_email"]).call(**change).status_code == 400
    assert outbox.messages == []


CHANGE = {"phone": PHONE[1:], "new_phone": OTHER_PHONE[1:]}


@pytest.mark.parametrize(
    ("user", "sms", "sent_to"),
    [
        (CHANGE, {"phone": OTHER_PHONE[1:]}, OTHER_PHONE),
        (CHANGE, {"phone": "", "sms_type": "phone_change"}, OTHER_PHONE),
        (CHANGE, {"phone": ""}, ""),
        (CHANGE, {"phone": "", "sms_type": "sms"}, ""),
        ({"new_phone": PHONE}, {"phone": ""}, PHONE),
        ({"phone": "", "new_phone": PHONE[1:]}, {"phone": ""}, PHONE),
        ({}, {"phone": ""}, PHONE),
        ({}, {"phone": "", "sms_type": "phone_change"}, ""),
        ({}, {"phone": "", "sms_type": "mfa"}, ""),
        ({}, {"phone": OTHER_PHONE[1:], "sms_type": "mfa"}, OTHER_PHONE),
    ],
)
def test_supabases_code_goes_to_the_number_that_it_is_for_or_to_none(connect, outbox, user, sms, sent_to):
    assert connect(FAR["supabase_sms"]).call(user=user, sms=sms).status_code == (200 if sent_to else 400)
    assert [sent.to for sent in outbox.messages] == ([sent_to] if sent_to else [])


@pytest.mark.parametrize(
    ("event", "args", "sent_to"),
    [
        ("user.human.phone.code.added", {"lastPhone": PHONE, "verifiedPhone": OTHER_PHONE}, PHONE),
        ("user.human.phone.code.added", {"lastPhone": "", "verifiedPhone": OTHER_PHONE}, ""),
        ("session.otp.sms.challenged", {"lastPhone": PHONE, "verifiedPhone": OTHER_PHONE}, ""),
        ("user.human.email.code.added", {"lastPhone": PHONE, "lastEmail": MAIL}, ""),
    ],
)
def test_zitadels_other_numbers_and_addresses_are_no_recipients(connect, outbox, event, args, sent_to):
    connect(FAR["zitadel sms"]).call(to="", event=event, **args)
    assert [sent.to for sent in outbox.messages] == ([sent_to] if sent_to else [])


def test_logtos_invitation_is_refused(connect, outbox):
    connected = connect(FAR["logto email"])
    body = {"to": MAIL, "type": "OrganizationInvitation", "payload": {"link": "https://shop.example/join/1"}}
    assert connected.post(FAR["logto email"].signed(json.dumps(body).encode(), connected.secret)).status_code == 400
    assert "there is no code at payload.code" in Decision.objects.get(rule="connection").subject


def test_logtos_language_is_that_of_the_message(connect, outbox):
    connect(FAR["logto sms"]).call()
    assert outbox.last.language == "de"


@pytest.mark.parametrize(
    ("channel", "sent_over"),
    [("Voice", "voice"), ("CALL", "voice"), ("VOICE CALL", "voice"), ("sms", "sms"), ("", "sms")],
)
def test_okta_asks_for_a_call_by_all_that_is_no_sms(connect, outbox, channel, sent_over):
    connect(FAR["okta"]).call(channel=channel)
    assert outbox.last.channel == sent_over


def test_a_chosen_channel_counts_more_than_what_okta_asks_for(connect, outbox):
    connect(FAR["okta"], channel="sms").call(channel="Voice")
    assert outbox.last.channel == "sms"


def test_fusionauths_voice_message_is_a_call(connect, outbox):
    far = FAR["fusionauth"]
    connected = connect(far)
    body = {"code": CODE, "phoneNumber": PHONE, "message": f"Your code is {CODE}", "type": "Voice"}
    assert connected.post(far.signed(json.dumps(body).encode(), connected.secret)).status_code == 200
    assert outbox.last.channel == "voice"


@pytest.mark.parametrize(
    ("pattern", "text", "code"),
    [
        ("", "Your code is 123456.", "123456"),
        ("", "Code: A1B2C3 (5 min)", "A1B2C3"),
        ("code {code} for", "Order 77001 code 123456 for Shop", "123456"),
        ("", "Order 77001 code 123456 for Shop", None),
        ("", "No code here", None),
        ("(a+)+{code}", "a" * 1_900 + "!", None),
    ],
)
def test_keycloaks_code_is_taken_out_of_its_text(connect, outbox, pattern, text, code):
    far = FAR["keycloak json"]
    connected = connect(far, pattern=pattern)
    body = json.dumps({"phone_number": PHONE, "message": text}).encode()
    assert connected.post(far.signed(body, connected.secret)).status_code == (200 if code else 400)
    assert [sent.code for sent in outbox.messages] == ([code] if code else [])


@pytest.mark.parametrize("text", ["No code here", "Order 77001 code 123456", ""])
def test_fusionauths_text_without_one_code_is_refused(connect, outbox, text):
    far = FAR["fusionauth"]
    connected = connect(far)
    body = json.dumps({"phoneNumber": PHONE, "textMessage": text, "type": "SMS"}).encode()
    assert connected.post(far.signed(body, connected.secret)).status_code == 400
    assert outbox.messages == []


def test_fusionauths_call_without_a_field_for_the_code_is_one(connect, outbox):
    far = FAR["fusionauth"]
    connected = connect(far)
    body = json.dumps({"phoneNumber": PHONE, "message": f"Your code is {CODE}", "type": "Voice"}).encode()
    assert connected.post(far.signed(body, connected.secret)).status_code == 200
    assert (outbox.last.channel, outbox.last.code) == ("voice", CODE)


@pytest.mark.parametrize("name", ["keycloak json", "generic"])
@pytest.mark.parametrize("control", ["\n", "\r\n\t", "\x01\x1f"])
def test_control_characters_that_a_system_does_not_escape_are_read(connect, outbox, name, control):
    far = FAR[name]
    connected = connect(far)
    text = json.dumps(far.body(PHONE, CODE) | {"message": f"Code {CODE}@@shop.example #{CODE}"}).replace("@@", control)
    assert connected.post(far.signed(text.encode(), connected.secret)).status_code == 200
    assert outbox.last.code == CODE


def test_the_same_signature_serves_no_other_body(connect, outbox):
    far = FAR["supabase_sms"]
    connected = connect(far)
    sent = far.call(connected.secret)
    forged = Sent(sent.body.replace(CODE.encode(), b"999999"), sent.headers)
    assert connected.post(forged).status_code == 401


@pytest.mark.parametrize(
    "joined", ["v1,{other} {right}", "v1,{other}, {right}", "v1,{other},{right}", "{right} v1a,{other}"]
)
def test_one_right_signature_among_several_will_do(connect, joined):
    connected = connect(FAR["supabase_sms"])
    body = json.dumps(supabase_email(MAIL, CODE) | FAR["supabase_sms"].body(PHONE, CODE)).encode()
    headers = webhook_headers(body, connected.secret)
    headers["webhook-signature"] = joined.format(other="b3RoZXI=", right=headers["webhook-signature"])
    assert connected.post(Sent(body, headers)).status_code == 200
