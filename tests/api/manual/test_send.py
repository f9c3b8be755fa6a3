"""Sending a message by hand: a customer's server gives the recipient, the channel and perhaps the code."""

import base64
import hashlib
from datetime import timedelta

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests import clock, factories
from tests.api.calls import WRONG, problem, wrong_fields
from verification.core import caching
from verification.models import KeyKind, Message, Provider, Session
from verification.services.projects.keys import issue_key
from verification.services.providers import accounts

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


def segments(envelope):
    label, *encoded = envelope.split(":")
    assert label == "aes256"
    return [base64.b64decode(segment, validate=True) for segment in encoded]


def unseal(envelope, secret_key):
    """Open the envelope as the documentation tells a customer to."""
    iv, ciphertext, tag = segments(envelope)
    return AESGCM(hashlib.sha256(secret_key.encode()).digest()).decrypt(iv, ciphertext + tag, None).decode()


# --- the message -----------------------------------------------------------------------------------------------------


def test_it_sends_the_code_that_was_given(api, outbox):
    api.manual_send(code="0042")
    assert [(message.to, message.channel, message.code) for message in outbox.messages] == [(PHONE, "sms", "0042")]


def test_without_a_code_it_draws_digits_in_the_projects_length(api, outbox, project):
    project.set(code_length=4, code_digits=False, code_letters=True)
    api.manual_send()
    assert len(outbox.code) == 4
    assert set(outbox.code) <= set("0123456789")


def test_the_message_lives_ten_minutes(api):
    api.manual_send()
    message = Message.objects.get()
    assert message.expires_at - message.created_at == timedelta(minutes=10)


def test_the_id_is_a_number_that_every_json_reader_keeps(api):
    message_id = api.manual_send().data["message_id"]
    assert isinstance(message_id, int)
    assert 0 < message_id < 2**53


@pytest.mark.requirement(13)
def test_ids_do_not_count(api):
    ids = [api.manual_send().data["message_id"] for _ in range(3)]
    assert all(abs(first - second) > 1_000 for first, second in zip(ids, ids[1:], strict=False))


def test_there_is_no_session(api):
    api.manual_send()
    assert not Session.objects.exists()


def test_it_comes_in_the_projects_language(api, outbox, project):
    project.set(language="de")
    api.manual_send()
    assert outbox.messages[0].language == "de"


def test_it_comes_in_the_recipients_language_where_it_is_known(api, outbox):
    session_id = api.create(headers={"accept-language": "de"}).data["session_id"]
    api.check(session_id, outbox.code)
    api.manual_send()
    assert outbox.last.language == "de"


# --- the envelope ----------------------------------------------------------------------------------------------------


def test_the_answer_carries_the_code_encrypted_under_the_secret_key(api):
    assert unseal(api.manual_send(code="0042").data["code"], api.secret_key) == "0042"


def test_a_drawn_code_is_in_the_envelope_too(api, outbox):
    assert unseal(api.manual_send().data["code"], api.secret_key) == outbox.code


def test_the_segments_are_an_iv_of_12_bytes_the_ciphertext_and_a_tag_of_16(api):
    assert [len(part) for part in segments(api.manual_send(code="0042").data["code"])] == [12, 4, 16]


@pytest.mark.requirement(24)
def test_the_envelope_is_for_the_key_of_the_request(api, project):
    first_key = api.secret_key
    api.secret_key = issue_key(project=project.row, kind=KeyKind.SECRET).text
    envelope = api.manual_send(code="0042").data["code"]
    assert unseal(envelope, api.secret_key) == "0042"
    with pytest.raises(InvalidTag):
        unseal(envelope, first_key)


def test_the_same_code_twice_gives_two_envelopes(api):
    assert api.manual_send(code="0042").data["code"] != api.manual_send(code="0042").data["code"]


def test_the_code_itself_stands_nowhere_in_the_answer(api):
    assert "918273" not in api.manual_send(code="918273").content.decode()


def test_the_row_holds_the_code_only_encrypted(api):
    api.manual_send(code="918273")
    assert b"918273" not in bytes(Message.objects.get().code_encrypted)


# --- limits ----------------------------------------------------------------------------------------------------------


def test_it_does_not_obey_the_block_of_60_seconds(api, outbox):
    api.create()
    assert api.manual_send().status_code == 200
    assert len(outbox.messages) == 2


def test_it_does_not_take_the_block_of_60_seconds(api, outbox):
    api.manual_send()
    assert api.create().data["sent_to"] == "sms"
    assert len(outbox.messages) == 2


def test_it_counts_in_the_recipients_limits(api, project):
    project.set(sends_per_10_minutes=2)
    api.create()
    api.manual_send()
    refused = api.manual_send()
    assert problem(refused) == (429, "too_many_sends")
    assert refused["Retry-After"] == str(refused.data["retry_after"])


def test_what_it_sent_counts_for_sessions(api, project):
    project.set(sends_per_10_minutes=1)
    api.manual_send()
    assert problem(api.create()) == (429, "too_many_sends")


@pytest.mark.requirement(56)
def test_a_refused_message_is_not_written(api, project):
    project.set(sends_per_10_minutes=1)
    api.manual_send()
    api.manual_send()
    assert Message.objects.count() == 1


def test_wrong_codes_do_not_matter_to_it(api, project):
    project.set(wrong_codes_per_15_minutes=1)
    api.check(api.create().data["session_id"], WRONG)
    assert api.manual_send().status_code == 200


# --- recipients, channels, providers ---------------------------------------------------------------------------------


def test_a_recipient_that_may_not_be_sent_to_is_refused(api):
    assert problem(api.manual_send("+499001234567")) == (403, "recipient_not_allowed")
    assert problem(api.manual_send("+49301234567", "sms")) == (403, "recipient_not_allowed")


def test_a_bot_that_the_user_has_not_started_is_not_active(api, project):
    project.provider("messenger_a", name="bot", type="collector_bot")
    refused = api.manual_send(channel="messenger_a")
    assert problem(refused) == (409, "channel_not_active")
    assert refused.data["link"] == "https://t.example/bot"
    assert not Message.objects.exists()


def test_the_link_leads_to_the_bot_that_was_asked_for(api, project):
    values = {"token": f"123456:{'x' * 35}", "username": "FirstBot"}
    accounts.add_provider(
        project=project.row,
        channel="messenger_a",
        provider_type="telegram_bot",
        name="first",
        values=values,
        priority=1,
    )
    bot = project.provider("messenger_a", name="bot", type="collector_bot")
    assert api.manual_send(channel="messenger_a").data["link"] == "https://t.me/FirstBot"
    assert api.manual_send(channel="messenger_a", provider_id=bot.pk).data["link"] == "https://t.example/bot"


def test_a_bot_that_the_user_has_started_is_sent_to(api, outbox, project):
    factories.subscribe(PHONE, project.provider("messenger_a", name="bot", type="collector_bot"))
    assert api.manual_send(channel="messenger_a").status_code == 200
    assert outbox.names == ["bot"]


def test_a_named_provider_is_the_one_that_sends(api, outbox, project):
    second = project.provider("sms", name="second", priority=900)
    api.manual_send(provider_id=second.pk)
    assert outbox.names == ["second"]


def test_a_system_provider_can_be_named(api, outbox):
    system = accounts.add_provider(
        project=None, channel="sms", provider_type="collector", name="system", values={"name": "system"}
    )
    caching.clear_all()
    api.manual_send(provider_id=system.pk)
    assert outbox.names == ["system"]


def of_another_channel(project):
    return Provider.objects.get(project=project.row, channel="voice")


def of_another_project(project):
    return Provider.objects.get(project=factories.project().row, channel="sms")


def switched_off(project):
    return project.provider("sms", name="off", is_enabled=False)


@pytest.mark.requirement(11)
@pytest.mark.parametrize("provider", [of_another_channel, of_another_project, switched_off])
def test_a_provider_that_does_not_serve_here_is_a_wrong_field(api, outbox, project, provider):
    assert wrong_fields(api.manual_send(provider_id=provider(project).pk)) == ["provider_id"]
    assert not Message.objects.exists() and outbox.messages == []


def test_unknown_and_foreign_providers_are_told_the_same(api, project):
    foreign = api.manual_send(provider_id=of_another_project(project).pk)
    unknown = api.manual_send(provider_id=2**40)
    assert foreign.data["errors"] == unknown.data["errors"]


# --- the callback's address (the guard: tests/providers/http/test_ssrf.py) ---


def test_the_callback_url_is_kept_with_the_message(api):
    api.manual_send(callback_url="https://shop.example.com/hook?x=1")
    assert Message.objects.get().callback_url == "https://shop.example.com/hook?x=1"


@pytest.mark.requirement(72)
@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example.com/hook",
        "ftp://shop.example.com/hook",
        "//shop.example.com/hook",
        "https://user:password@shop.example.com/hook",
        "https://shop.example.com/hook#part",
        "https://shop/hook",
        "https://10.0.0.1/hook",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:10.0.0.1]/hook",
        "https://shop.example.com:22/hook",
        "javascript:alert(1)",
        "https://",
        "shop",
        "https://shop.example.com/" + "x" * 2048,
        "https://shop.example.com/\n",
    ],
)
def test_a_callback_url_that_is_no_public_https_address_is_a_wrong_field(api, settings, url):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    assert wrong_fields(api.manual_send(callback_url=url)) == ["callback_url"]
    assert not Message.objects.exists()


def test_a_callback_url_may_lead_to_an_allowed_network(api, settings):
    settings.OUTBOUND_ALLOWED_NETWORKS = ["10.1.0.0/16"]
    assert api.manual_send(callback_url="http://10.1.2.3:8080/hook").status_code == 200


# --- test logins -----------------------------------------------------------------------------------------------------


def test_a_test_login_is_a_success_at_once_and_nothing_is_sent(api, outbox, project):
    project.test_login(PHONE, "424242")
    sent = api.manual_send().data
    assert api.manual_message(sent["message_id"]).data["status"] == "success"
    assert outbox.messages == []


def test_a_test_login_gets_its_envelope_all_the_same(api, project):
    project.test_login(PHONE, "424242")
    assert unseal(api.manual_send(code="0042").data["code"], api.secret_key) == "0042"


def test_a_test_login_spends_no_limit(api, project):
    project.set(sends_per_10_minutes=1)
    project.test_login(PHONE, "424242")
    assert {api.manual_send().status_code for _ in range(3)} == {200}


def test_a_test_login_needs_no_bot_to_be_started(api, project):
    project.provider("messenger_a", name="bot", type="collector_bot")
    project.test_login(PHONE, "424242")
    assert api.manual_send(channel="messenger_a").status_code == 200


def test_the_message_of_a_test_login_keeps_no_code(api, project):
    project.test_login(PHONE, "424242")
    api.manual_send(code="0042")
    assert Message.objects.get().code_encrypted is None


# --- time ------------------------------------------------------------------------------------------------------------


def test_a_message_that_is_ten_minutes_old_is_not_sent(api, outbox):
    message_id = api.manual_send().data["message_id"]
    clock.forward(601)
    assert outbox.messages == []
    assert api.manual_message(message_id).data["status"] == "expired"
