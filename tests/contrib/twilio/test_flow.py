"""A verification from its start to its end, over Twilio's paths."""

import pytest

from tests import factories
from verification.models import Message, Session, VerifyToken

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
WRONG = "nope"


@pytest.mark.requirement(118)
def test_a_right_code_approves_and_redeems_its_token(twilio, outbox):
    started = twilio.start()
    assert started.status_code == 201
    checked = twilio.check(outbox.code)
    assert checked.status_code == 201
    assert (checked.data["sid"], checked.data["status"], checked.data["valid"]) == (
        started.data["sid"],
        "approved",
        True,
    )
    assert VerifyToken.objects.get().used_at is not None


def test_a_code_is_read_as_on_our_own_endpoint(twilio, outbox):
    twilio.start()
    assert twilio.check(f"\u200b{outbox.code[:3]}\u2013{outbox.code[3:]}\n").data["status"] == "approved"


def test_a_code_of_which_nothing_is_left_spends_no_try(twilio):
    twilio.start()
    assert twilio.check("\u200b - ").status_code == 400
    assert Session.objects.get().attempts == 0


def test_a_verification_has_the_members_of_twilios(twilio):
    body = twilio.start().data
    session, message = Session.objects.get(), Message.objects.get()
    at = session.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert body == {
        "sid": body["sid"],
        "service_sid": twilio.service,
        "account_sid": twilio.account,
        "to": PHONE,
        "channel": "sms",
        "status": "pending",
        "valid": False,
        "date_created": at,
        "date_updated": message.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lookup": {},
        "amount": None,
        "payee": None,
        "send_code_attempts": [{"attempt_sid": f"VL{message.pk:032x}", "channel": "sms", "time": at}],
        "sna": None,
        "url": f"http://testserver/v2/Services/{twilio.service}/Verifications/{body['sid']}",
    }
    assert twilio.fetch(body["sid"]).data == body


def test_a_check_has_the_members_of_twilios(twilio):
    sid = twilio.start().data["sid"]
    assert set(twilio.check(WRONG, VerificationSid=sid).data) == {
        *("sid", "service_sid", "account_sid", "to", "channel", "status", "valid", "amount", "payee"),
        *("date_created", "date_updated", "sna_attempts_error_codes"),
    }


@pytest.mark.parametrize(
    ("channel", "to"), [("sms", PHONE), ("call", PHONE), ("email", "a@example.com"), ("auto", PHONE)]
)
def test_channels_have_twilios_names(twilio, channel, to):
    answer = twilio.start(to=to, channel=channel)
    assert answer.status_code == 201
    assert answer.data["channel"] == ("sms" if channel == "auto" else channel)


def test_the_locale_chooses_the_language(twilio, outbox):
    twilio.start(Locale="de")
    assert Session.objects.get().language == "de"


def test_five_wrong_codes_are_pending_and_the_sixth_is_refused(twilio, outbox, problem):
    sid, right = twilio.start().data["sid"], outbox.code
    answers = [twilio.check(WRONG) for _ in range(5)]
    assert {(answer.status_code, answer.data["status"], answer.data["valid"]) for answer in answers} == {
        (201, "pending", False)
    }
    assert problem(twilio.check(right)) == (429, 60202)
    assert twilio.fetch(sid).data["status"] == "max_attempts_reached"


@pytest.mark.parametrize("named", ["sid", "recipient"])
def test_what_is_over_is_not_found(twilio, outbox, problem, named):
    name = {"sid": twilio.start().data["sid"], "recipient": PHONE}[named]
    twilio.check(outbox.code)
    of_check = {"VerificationSid": name} if named == "sid" else {"To": name}
    assert problem(twilio.check(outbox.code, **of_check)) == (404, 20404)
    assert problem(twilio.fetch(name)) == problem(twilio.update(name, "canceled")) == (404, 20404)


def test_an_expired_verification_is_not_found(twilio, problem):
    twilio.start()
    factories.expire_everything()
    assert problem(twilio.check(WRONG)) == problem(twilio.fetch(PHONE)) == (404, 20404)


@pytest.mark.requirement(118)
@pytest.mark.parametrize("status", ["canceled", "approved"])
def test_an_update_ends_it_and_wipes_its_code(twilio, outbox, problem, status):
    twilio.start()
    updated = twilio.update(PHONE, status)
    assert (updated.status_code, updated.data["status"]) == (200, status)
    session = Session.objects.get()
    assert (session.is_open, session.code_digest, session.code_encrypted, session.verified_at) == (False,) + (None,) * 3
    assert problem(twilio.check(WRONG, VerificationSid=updated.data["sid"])) == (404, 20404)
    outbox.deliver()
    assert Message.objects.get().status == "expired"


def test_another_start_of_a_verification_goes_on_with_it(twilio):
    first = twilio.start()
    again = twilio.start(channel="call")
    assert again.data["sid"] == first.data["sid"]
    assert [sent["channel"] for sent in again.data["send_code_attempts"]] == ["sms", "call"]


def test_a_test_login_is_verified_by_its_fixed_code(twilio):
    twilio.project.test_login("+46701740605", "493817")
    assert twilio.start(to="+46701740605").status_code == 201
    assert twilio.check("493817", To="+46701740605").data["status"] == "approved"


def test_a_new_code_for_every_send_counts_as_sent(twilio):
    twilio.project.set(new_code_on_send=True)
    twilio.start()
    assert twilio.start(channel="call").status_code == 201
