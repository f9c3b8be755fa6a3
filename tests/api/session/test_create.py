"""Creating a session."""

from datetime import datetime, timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from tests import clock, factories
from tests.api.calls import WRONG, problem
from verification.core import caching
from verification.models import Message, Recipient, Session, TestLogin

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


# --- a session and its code ------------------------------------------------------------------------------------------


def test_it_sends_a_code_that_checks(api, outbox):
    session = api.create().data
    checked = api.check(session["session_id"], outbox.code)
    assert checked.status_code == 200
    assert checked.data["is_test"] is False
    assert api.verify(checked.data["verify_token"]).data == {"phone": "+4915112345678"}


def test_a_session_lives_180_seconds_and_says_so_in_utc(api):
    session = api.create().data
    row = Session.objects.get(pk=session["session_id"])
    assert row.expires_at - row.created_at == timedelta(seconds=180)
    assert session["session_expired_at"].endswith("Z")
    assert abs(datetime.fromisoformat(session["session_expired_at"]) - row.expires_at) < timedelta(milliseconds=1)


@pytest.mark.requirement(23)
def test_the_code_stands_in_no_answer(api, outbox):
    answer = api.create().content.decode()
    assert outbox.code not in answer


@pytest.mark.parametrize(
    ("length", "digits", "letters", "characters"),
    [
        (6, True, False, "0123456789"),
        (4, True, False, "0123456789"),
        (6, False, True, "ABCDEFGHJKMNPQRSTUVWXYZ"),
        (4, True, True, "ABCDEFGHJKMNPQRSTUVWXYZ23456789"),
    ],
)
def test_the_code_is_of_the_projects_kind(api, outbox, project, length, digits, letters, characters):
    project.set(code_length=length, code_digits=digits, code_letters=letters)
    api.create()
    assert len(outbox.code) == length
    assert set(outbox.code) <= set(characters)


def test_the_code_leaves_the_database_only_encrypted(api, outbox):
    session_id = api.create().data["session_id"]
    row = Session.objects.get(pk=session_id)
    assert outbox.code.encode() not in bytes(row.code_digest) + bytes(row.code_encrypted)


# --- the recipient's live session ------------------------------------------------------------------------------------


@pytest.mark.requirement(43)
def test_it_returns_the_live_session_and_sends_nothing_within_the_block(api, outbox):
    first = api.create().data
    second = api.create("+49 (151) 1234-5678").data
    assert second["session_id"] == first["session_id"]
    assert second["session_expired_at"] == first["session_expired_at"]
    assert len(outbox.messages) == 1


@pytest.mark.requirement(60)
@pytest.mark.parametrize(
    "writing",
    ["+49 151 12345678", "+49(151)12345678", "+49-151-1234.5678", "+49 (0)151/12345678", "  +4915112345678  "],
)
def test_every_writing_of_a_number_is_one_recipient(api, writing):
    first = api.create(PHONE).data
    assert api.create(writing).data["session_id"] == first["session_id"]
    assert Recipient.objects.get().address == PHONE


@pytest.mark.parametrize(
    ("writing", "canonical"),
    [
        (" Jane@Example.COM ", "jane@example.com"),
        ("jane@BÜCHER.example", "jane@xn--bcher-kva.example"),
    ],
)
def test_every_writing_of_an_email_address_is_one_recipient(api, writing, canonical):
    first = api.create(canonical).data
    assert api.create(writing).data["session_id"] == first["session_id"]
    assert Recipient.objects.get().address == canonical


@pytest.mark.requirement(62)
def test_addresses_that_only_look_alike_are_different_recipients(api):
    assert api.create("jane@example.com").data["session_id"] != api.create("jane+a@example.com").data["session_id"]


def test_after_180_seconds_there_is_a_new_session(api):
    first = api.create().data
    clock.forward(180)
    assert api.create().data["session_id"] != first["session_id"]


def test_a_verified_session_is_not_handed_out_again(api, outbox):
    first = api.create().data
    api.check(first["session_id"], outbox.code)
    assert api.create().data["session_id"] != first["session_id"]


@pytest.mark.requirement(43)
def test_a_locked_session_is_not_handed_out_again(api):
    first = api.create().data
    for _ in range(5):
        api.check(first["session_id"], WRONG)
    assert api.create().data["session_id"] != first["session_id"]


@pytest.mark.requirement(43)
def test_a_session_that_was_tried_is_handed_out_with_its_attempts_spent(api):
    first = api.create().data
    api.check(first["session_id"], WRONG)
    assert api.create().data["session_id"] == first["session_id"]
    assert api.check(first["session_id"], WRONG).data["attempts_left"] == 3


@pytest.mark.requirement(21)
def test_nothing_prolongs_a_session(api):
    first = api.create().data
    clock.forward(100)
    again = api.create().data
    sent = api.send(first["session_id"], "voice").data
    age = datetime.fromisoformat(first["session_expired_at"]) - datetime.fromisoformat(again["session_expired_at"])
    assert age == timedelta(seconds=100)
    assert sent["session_expired_at"] == again["session_expired_at"]


# --- send ------------------------------------------------------------------------------------------------------------


def test_with_send_false_nothing_is_sent(api, outbox):
    session = api.create(send=False).data
    assert session["sent_to"] is None
    assert outbox.messages == []
    assert [channel["timeout"] for channel in session["channels"]] == [0, 0]


def test_a_session_made_without_sending_is_sent_by_the_next_create(api, outbox):
    first = api.create(send=False).data
    second = api.create().data
    assert (second["session_id"], second["sent_to"]) == (first["session_id"], "sms")
    assert len(outbox.messages) == 1


def test_with_send_false_the_answer_tells_where_the_code_went_before(api):
    api.create(type="voice")
    assert api.create(send=False).data["sent_to"] == "voice"


# --- the block of 60 seconds -----------------------------------------------------------------------------------------


@pytest.mark.requirement(102)
def test_unknown_fields_are_ignored(api, outbox):
    api.create(code="ABCDEF", project=7, attempts=-9, is_test=True)
    assert outbox.code != "ABCDEF"
    assert Session.objects.values_list("is_test", "attempts").get() == (False, 0)


def test_the_block_is_told_in_whole_seconds_rounded_up(api):
    api.create()
    clock.set_age(Message.objects.all(), 30.1)
    channels = {channel["type"]: channel["timeout"] for channel in api.create().data["channels"]}
    assert channels == {"sms": 30, "voice": 0}


def test_after_the_block_the_same_code_goes_out_again(api, outbox):
    first = api.create().data
    clock.forward(60)
    second = api.create().data
    codes = [message.code for message in outbox.messages]
    assert second["session_id"] == first["session_id"]
    assert len(codes) == 2 and codes[0] == codes[1]


def test_the_block_belongs_to_the_channel(api, outbox):
    api.create()
    assert api.create(type="voice").data["sent_to"] == "voice"
    assert [message.channel for message in outbox.messages] == ["sms", "voice"]


def test_the_block_belongs_to_the_recipient(api, outbox):
    api.create(PHONE)
    api.create("+4915112345679")
    assert len(outbox.messages) == 2


@pytest.mark.requirement(47)
def test_the_block_outlives_the_session(api, outbox):
    first = api.create().data
    assert len(outbox.messages) == 1
    for _ in range(5):
        api.check(first["session_id"], WRONG)
    second = api.create().data
    assert second["session_id"] != first["session_id"]
    assert (second["sent_to"], second["channels"][0]["timeout"]) == (None, 60)
    assert len(outbox.messages) == 1


def test_within_the_block_the_answer_is_200_even_at_the_send_limit(api, outbox, project):
    project.set(sends_per_10_minutes=1)
    first = api.create()
    second = api.create()
    assert (first.status_code, second.status_code) == (200, 200)
    assert len(outbox.messages) == 1


def test_a_project_can_choose_a_new_code_on_every_send(api, outbox, project):
    project.set(new_code_on_send=True, code_letters=True)
    session_id = api.create().data["session_id"]
    old = outbox.code
    clock.forward(60)
    assert api.create().data["session_id"] == session_id
    new = outbox.code
    assert problem(api.check(session_id, old)) == (400, "invalid_code")
    assert api.check(session_id, new).status_code == 200


def test_a_new_code_on_every_send_obeys_the_block(api, outbox, project):
    project.set(new_code_on_send=True)
    session_id = api.create().data["session_id"]
    assert api.create().status_code == 200
    assert len(outbox.messages) == 1
    assert api.check(session_id, outbox.code).status_code == 200


# --- channels --------------------------------------------------------------------------------------------------------


def test_a_channel_that_is_switched_off_is_not_available(api, project):
    project.channel("sms", is_active=False)
    refused = api.create(type="sms")
    assert problem(refused) == (409, "channel_not_available")
    assert "no active channel sms for phone numbers" in refused.data["detail"]
    assert not Session.objects.exists()


def test_a_channel_without_an_enabled_provider_is_not_available(api, project):
    project.row.providers.filter(channel="sms").update(is_enabled=False)
    caching.clear_all()
    assert problem(api.create(type="sms")) == (409, "channel_not_available")


def test_without_any_channel_for_the_recipient_there_is_no_session(api, project):
    project.channel("email", is_active=False)
    refused = api.create("jane@example.com")
    assert problem(refused) == (409, "channel_not_available")
    assert "no active channel for e-mail addresses" in refused.data["detail"]
    assert not Session.objects.exists()


# --- who may be sent to ----------------------------------------------------------------------------------------------


@pytest.mark.requirement(55)
@pytest.mark.parametrize(
    "number",
    [
        pytest.param("+499001234567", id="premium"),
        pytest.param("+498001234567", id="toll-free"),
        pytest.param("+491801234567", id="shared cost"),
        pytest.param("+80012345678", id="international toll-free"),
        pytest.param("+881631234567", id="satellite"),
    ],
)
def test_numbers_that_are_no_persons_phone_are_refused_everywhere(api, outbox, number):
    assert problem(api.create(number)) == (403, "recipient_not_allowed")
    assert problem(api.create(number, type="voice")) == (403, "recipient_not_allowed")
    assert not Session.objects.exists() and outbox.messages == []


def test_a_personal_number_gets_a_code_where_the_project_allows_it(api, project):
    assert problem(api.create("+447012345678", type="sms")) == (403, "recipient_not_allowed")
    project.set(allow_voip=True)
    assert api.create("+447012345678", type="sms").data["sent_to"] == "sms"


@pytest.mark.requirement(46)
def test_the_refusal_of_a_recipient_does_not_tell_the_rule(api):
    detail = api.create("+499001234567").data["detail"].lower()
    assert not any(word in detail for word in ("premium", "type", "country", "block", "guard"))


# --- limits (their windows: tests/services/protection/test_limits.py) ---


def test_at_the_send_limit_it_writes_nothing(api, project):
    project.set(sends_per_10_minutes=1)
    api.create()
    clock.forward(181)
    before = Session.objects.count(), Message.objects.count(), Recipient.objects.count()
    refused = api.create()
    assert problem(refused) == (429, "too_many_sends")
    assert refused["Retry-After"] == str(refused.data["retry_after"])
    assert (Session.objects.count(), Message.objects.count(), Recipient.objects.count()) == before


def test_with_send_false_no_send_limit_applies(api, project):
    project.set(sends_per_10_minutes=1)
    api.create()
    clock.forward(181)
    assert api.create(send=False).status_code == 200


def test_with_the_wrong_codes_used_up_there_is_no_session(api, project):
    project.set(wrong_codes_per_15_minutes=2)
    session_id = api.create().data["session_id"]
    for _ in range(2):
        api.check(session_id, WRONG)
    refused = api.create(type="voice")
    assert problem(refused) == (429, "too_many_attempts")
    assert refused["Retry-After"] == str(refused.data["retry_after"])


# --- language --------------------------------------------------------------------------------------------------------


def language_of(api, session):
    return api.settings(session["session_id"]).data["language"]


def test_the_code_comes_in_the_language_of_the_request(api, outbox):
    session = api.create(headers={"accept-language": "eo, de-AT;q=0.8, en;q=0.5"}).data
    assert language_of(api, session) == "de"
    assert "dein Code" in outbox.messages[0].text


def test_without_a_match_it_is_the_language_last_verified_in(api, outbox):
    session = api.create(headers={"accept-language": "de"}).data
    api.check(session["session_id"], outbox.code)
    assert language_of(api, api.create(headers={"accept-language": "xx"}).data) == "de"


def test_a_session_that_was_not_verified_says_nothing_of_the_language(api):
    api.create(headers={"accept-language": "de"})
    clock.forward(181)
    assert language_of(api, api.create().data) == "en"


def test_without_any_knowledge_it_is_the_projects_language(api, project):
    project.set(language="de")
    assert language_of(api, api.create().data) == "de"


def test_only_the_projects_languages_are_offered(api, project):
    project.set(languages=["en"], language="en")
    assert language_of(api, api.create(headers={"accept-language": "de"}).data) == "en"


# --- test logins -----------------------------------------------------------------------------------------------------


def test_a_test_login_has_its_fixed_code_and_nothing_is_sent(api, outbox, project):
    project.test_login(PHONE, "424242")
    session = api.create().data
    assert (session["sent_to"], session["channels"][0]["timeout"]) == ("sms", 60)
    assert outbox.messages == []
    assert api.check(session["session_id"], "424242").data["is_test"] is True


def test_every_writing_of_its_number_is_the_test_login(api, project):
    project.test_login("+49 151 12345678", "424242")
    session = api.create("+49 (0)151 12345678").data
    assert api.check(session["session_id"], "424242").status_code == 200


def test_a_test_login_needs_no_number_that_exists(api, project):
    project.test_login("+49 000 0000001", "4242")
    session = api.create("+490000000001")
    assert session.status_code == 200
    assert api.check(session.data["session_id"], "4242").data["is_test"] is True


def test_a_test_login_can_be_an_email_address(api, outbox, project):
    project.test_login("Reviewer@Example.com", "AB12CD")
    session = api.create("reviewer@example.com").data
    assert api.check(session["session_id"], "ab12cd").data["is_test"] is True
    assert outbox.messages == []


def test_a_test_login_spends_no_send_limit(api, project):
    project.set(sends_per_10_minutes=1)
    project.test_login(PHONE, "424242")
    session = api.create().data
    for _ in range(7):
        clock.set_age(Message.objects.all(), 61)
        assert api.send(session["session_id"]).status_code == 200


def test_the_block_of_a_test_login_looks_like_any_other(api, project):
    project.test_login(PHONE, "424242")
    session_id = api.create().data["session_id"]
    assert problem(api.send(session_id)) == (429, "channel_timeout")


@pytest.mark.requirement(41)
def test_the_attempt_limits_of_a_test_login_hold(api, project):
    project.test_login(PHONE, "4242")
    session_id = api.create().data["session_id"]
    assert [api.check(session_id, WRONG).data.get("attempts_left") for _ in range(3)] == [2, 1, 0]
    assert problem(api.check(session_id, "4242")) == (429, "too_many_attempts")


@pytest.mark.requirement(94)
def test_the_code_of_another_test_login_does_not_open(api, project):
    """An attacker who can write to the database, but holds no key, would else give anybody a code that they know."""
    theirs = project.test_login("+4915112345670", "424242")
    project.test_login(PHONE, "111111")
    TestLogin.objects.update(code_encrypted=theirs.code_encrypted)
    caching.clear_all()
    assert api.create().status_code == 500
    assert api.create("+4915112345670").status_code == 200
    assert Session.objects.count() == 1


def test_an_expired_test_login_is_an_ordinary_recipient(api, outbox, project):
    project.test_login(PHONE, "424242", expires_at=timezone.now() - timedelta(seconds=1))
    session = api.create().data
    assert len(outbox.messages) == 1
    assert api.check(session["session_id"], outbox.code).data["is_test"] is False


@pytest.mark.requirement(41)
def test_one_switch_turns_all_test_logins_off(api, outbox, project):
    project.test_login(PHONE, "424242")
    project.set(test_logins_enabled=False)
    api.create()
    assert len(outbox.messages) == 1
    assert Session.objects.get().is_test is False


def test_a_test_login_of_another_project_is_none_here(api, outbox):
    factories.project().test_login(PHONE, "424242")
    api.create()
    assert len(outbox.messages) == 1


# --- where things point to -------------------------------------------------------------------------------------------


@pytest.mark.requirement(105)
def test_no_address_is_built_from_the_requests_host(api):
    with override_settings(ALLOWED_HOSTS=["*"]):
        session = api.create(headers={"host": "evil.example", "x-forwarded-host": "evil.example"})
    assert "evil.example" not in session.content.decode()


def test_a_test_login_can_log_in_again_within_the_block(api, project):
    project.test_login("+4915112345678", "4711")
    for _ in range(2):
        session = api.create().data
        assert session["sent_to"] == "sms"
        assert api.check(session["session_id"], "4711").data["is_test"] is True


@pytest.mark.parametrize("channel", ["sms", "voice"])
def test_a_number_under_an_extra_prefix_of_the_project_gets_its_code_and_again(api, outbox, project, channel):
    assert problem(api.create("+1 861 234 5678")) == (400, "validation_error")
    project.set(extra_prefixes=["+1861"], countries=["US"])
    session_id = api.create("+1 861 234 5678", type=channel).data["session_id"]
    other = {"sms": "voice", "voice": "sms"}[channel]
    assert api.send(session_id, other).status_code == 200
    assert [message.to for message in outbox.messages] == ["+18612345678"] * 2


def test_both_writings_of_a_mexican_number_are_one_recipient(api):
    first = api.create("+52 55 1234 5678").data["session_id"]
    assert api.create("+52 1 55 1234 5678").data["session_id"] == first
