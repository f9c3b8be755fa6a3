"""The block list and the allow list: who is never sent to, and who always may be."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import factories
from tests.api.calls import problem
from verification.core import caching
from verification.core.addresses import parse_address
from verification.core.errors import UserError
from verification.models import Decision, ListEntry, Recipient
from verification.services.projects import lists
from verification.services.projects.lists import Lists, add_entry, clean_value

PHONE, EMAIL = "+4915112345678", "jane@mail.example.com"


@pytest.mark.parametrize(
    "subject, value, to, client",
    [
        ("recipient", PHONE, PHONE, ""),
        ("recipient", EMAIL, EMAIL, ""),
        ("prefix", "+49151", PHONE, ""),
        ("prefix", "+4", PHONE, ""),
        ("country", "DE", PHONE, ""),
        ("domain", "mail.example.com", EMAIL, ""),
        ("domain", "example.com", EMAIL, ""),
        ("client", "203.0.113.7/32", PHONE, "203.0.113.7"),
        ("client", "203.0.113.0/24", EMAIL, "::ffff:203.0.113.9"),
        ("client", "2001:db8::/32", PHONE, "2001:db8:1::1"),
    ],
)
def test_an_entry_matches(subject, value, to, client):
    address = parse_address(to)
    assert Lists([("block", subject, value)]).blocked_by(address, client) == subject
    if subject in lists.SAFE_SUBJECTS:
        assert Lists([("safe", subject, value)]).is_safe(to)


@pytest.mark.parametrize(
    "subject, value, to, client",
    [
        ("recipient", "+4915112345679", PHONE, ""),
        ("prefix", "+49152", PHONE, ""),
        ("prefix", "+4", EMAIL, ""),
        ("country", "AT", PHONE, ""),
        ("domain", "ple.com", EMAIL, ""),
        ("domain", "a.mail.example.com", EMAIL, ""),
        ("client", "203.0.113.0/25", PHONE, "203.0.113.200"),
        ("client", "0.0.0.0/0", PHONE, ""),
        ("client", "0.0.0.0/0", PHONE, "unknown"),
    ],
)
def test_an_entry_leaves_others_alone(subject, value, to, client):
    assert Lists([("block", subject, value)]).blocked_by(parse_address(to), client) is None


@pytest.mark.parametrize(
    "subject, written, stored",
    [
        ("recipient", " +49 (0)151 12345678 ", PHONE),
        ("recipient", "Jane@Mail.Example.com", EMAIL),
        ("prefix", "49151", "+49151"),
        ("prefix", "+52155", "+5255"),
        ("domain", "@MÜNCHEN.de", "xn--mnchen-3ya.de"),
        ("country", "de", "DE"),
        ("country", "Morocco", "MA"),
        ("client", "203.0.113.7", "203.0.113.7/32"),
        ("client", "2001:DB8::/32", "2001:db8::/32"),
    ],
)
def test_a_value_is_stored_in_its_one_writing(subject, written, stored):
    assert clean_value("block", subject, written) == stored


@pytest.mark.parametrize(
    "kind, subject, value",
    [
        ("block", "recipient", "0151 12345678"),
        ("block", "prefix", "+49x"),
        ("block", "prefix", "+"),
        ("block", "prefix", "+1234567890123456"),
        ("block", "domain", "example"),
        ("block", "domain", "a@b.example"),
        ("block", "country", "XX"),
        ("block", "client", "203.0.113.7/24"),
        ("block", "client", "shop.example"),
        ("block", "colour", "red"),
        ("grey", "prefix", "+49"),
        ("safe", "country", "DE"),
        ("safe", "client", "203.0.113.7"),
    ],
)
def test_what_cannot_be_matched_is_refused(kind, subject, value):
    with pytest.raises(UserError):
        clean_value(kind, subject, value)


# --- in a project ------------------------------------------------------------------------------------------------


def block(project, subject, value, kind="block", **fields):
    entry = add_entry(project=project and project.row, kind=kind, subject=subject, value=value, **fields)
    caching.clear_all()
    return entry


def decided():
    return [(row.rule, row.subject, row.count) for row in Decision.objects.all()]


@pytest.mark.requirement(46)
@pytest.mark.parametrize("of_platform", [False, True])
@pytest.mark.parametrize(
    "subject, value, noted",
    [
        ("recipient", PHONE, "+4915******78"),
        ("prefix", "+49151", "+4915******78"),
        ("country", "DE", "DE"),
        ("client", "127.0.0.0/8", "127.0.0.1"),
    ],
)
def test_a_blocked_recipient_is_refused_like_any_other(api, project, outbox, subject, value, noted, of_platform):
    block(None if of_platform else project, subject, value)
    refused = [api.create(PHONE) for _ in range(2)]
    assert [problem(answer) for answer in refused] == [(403, "recipient_not_allowed")] * 2
    assert refused[0].data["detail"] == "Nothing can be sent to this recipient."
    assert not outbox.messages
    assert decided() == [("block_list", noted, 2)]


def test_a_resend_to_a_recipient_blocked_meanwhile_is_refused(api, project):
    session_id = api.create(PHONE).data["session_id"]
    block(project, "recipient", PHONE)
    assert problem(api.send(session_id, "voice")) == (403, "recipient_not_allowed")


def test_a_manual_send_is_refused_and_noted_also_under_an_idempotency_key(api, project):
    block(project, "domain", "example.com")
    answer = api.manual_send(EMAIL, "email", headers={"Idempotency-Key": "one"})
    assert problem(answer) == (403, "recipient_not_allowed")
    assert decided() == [("block_list", "j***@m***.com", 1)]
    assert not Recipient.objects.exists()


def test_another_project_is_not_concerned(api, project):
    block(factories.project(), "recipient", PHONE)
    assert api.create(PHONE).status_code == 200


def test_an_entry_ends_by_itself(api, project):
    entry = block(project, "recipient", PHONE, expires_at=timezone.now() + timedelta(minutes=1))
    assert api.create(PHONE).status_code == 403
    ListEntry.objects.filter(pk=entry.pk).update(expires_at=timezone.now() - timedelta(hours=1))
    caching.clear_all()
    assert api.create(PHONE).status_code == 200


def test_a_test_login_is_not_sent_to_and_so_not_stopped(api, project):
    project.test_login(PHONE, "123456")
    block(project, "recipient", PHONE)
    assert api.create(PHONE).status_code == 200


def test_a_safe_recipient_is_bound_by_no_limit_of_sends(api, project):
    project.set(sends_per_10_minutes=1)
    block(project, "prefix", "+49151", kind="safe")
    assert [api.manual_send(PHONE).status_code for _ in range(3)] == [200] * 3
    assert [api.manual_send("+4917612345678").status_code for _ in range(2)] == [200, 429]


def test_a_safe_recipient_is_bound_by_the_budget(api, project):
    project.channel("sms", daily_budget=1)
    block(project, "recipient", PHONE, kind="safe")
    assert [api.manual_send(PHONE).status_code for _ in range(2)] == [200, 429]


def test_the_block_list_wins(api, project):
    block(project, "recipient", PHONE, kind="safe")
    block(project, "prefix", "+49")
    assert api.create(PHONE).status_code == 403


def test_the_same_entry_again_replaces_the_first(project):
    block(project, "country", "KP", note="one")
    block(project, "country", "kp", note="two")
    block(None, "country", "KP")
    block(None, "country", "KP")
    assert [entry.note for entry in ListEntry.objects.filter(project=project.row)] == ["two"]
    assert ListEntry.objects.count() == 2


def test_a_project_has_so_many_entries_at_the_most(project, monkeypatch):
    monkeypatch.setattr(lists, "MAX_ENTRIES", 2)
    block(project, "country", "KP")
    block(project, "country", "IR")
    block(project, "country", "IR", note="again")
    with pytest.raises(UserError, match="at most 2"):
        block(project, "country", "CU")


# --- countries ---------------------------------------------------------------------------------------------------

AUSTRIAN, SATELLITE = "+436641234567", "+881612345678"


@pytest.mark.requirement(52)
def test_every_country_is_allowed_until_there_is_a_list(api, project):
    assert api.create(AUSTRIAN).status_code == 200
    project.set(countries=["DE"])
    assert api.create(PHONE).status_code == 200
    assert problem(api.create("+436641234568")) == (403, "recipient_not_allowed")
    assert decided() == [("country", "AT", 1)]


def test_a_list_of_countries_says_nothing_of_mail(api, project):
    project.set(countries=["DE"])
    assert api.create(EMAIL).status_code == 200


@pytest.mark.requirement(52)
def test_a_channel_can_be_narrower_than_its_project(api, project):
    project.set(countries=["DE", "AT"])
    project.channel("sms", countries=["DE"])
    assert api.create(PHONE).data["sent_to"] == "sms"
    assert api.create(AUSTRIAN).data["sent_to"] == "voice"
    assert problem(api.create(AUSTRIAN, type="sms")) == (403, "recipient_not_allowed")


def test_a_number_of_no_type_that_is_served_is_noted(api, project):
    assert problem(api.create("+448001111111")) == (403, "recipient_not_allowed")
    assert decided() == [("number_type", "+4480******11", 1)]


def test_an_entry_of_a_country_is_called_by_it_and_no_other_value_is_named():
    assert str(ListEntry(kind="block", subject="country", value="MA")) == "Block list, Morocco (MA)"
    assert str(ListEntry(kind="safe", subject="prefix", value="+49151")) == "Safe list, number prefix"
