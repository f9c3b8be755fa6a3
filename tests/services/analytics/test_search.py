"""The search of traffic: every writing of an address, every id, and nothing of another project."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import factories
from tests.factories import a_message, a_session
from verification.core.addresses import mask
from verification.models import Decision, DeliveryAttempt, Recipient
from verification.services.analytics.search import MOST, addresses_of, search

pytestmark = pytest.mark.django_db

ADDRESS = "+4915112345678"


@pytest.fixture
def shop(project):
    """A project with one session, its message, and a manual message to somebody else."""
    project.set(countries=["DE", "AT"])
    recipient = Recipient.objects.create(project=project.row, address=ADDRESS)
    project.session = a_session(recipient)
    project.message = a_message(recipient, session=project.session)
    DeliveryAttempt.objects.create(
        message=project.message,
        provider_name="Gateway",
        outcome="accepted",
        latency_ms=40,
        provider_message_id="wamid.17",
    )
    other = Recipient.objects.create(project=project.row, address="a.person@example.com")
    project.manual = a_message(other, channel="email")
    return project


@pytest.mark.parametrize(
    "term",
    [
        ADDRESS,
        "+49 151 12345678",
        " +49-151/123 456 78 ",
        "+49 (0)151 12345678",
        "+49\u00a0151\u2011123\u202f456\u00a078",
        "\u202a+49 151 12345678\u202c",
        "0049 151 12345678",
        "4915112345678",
        "0151 12345678",
        "(0151) 123-456-78",
    ],
)
def test_a_number_is_found_in_every_writing(shop, term):
    assert search(term, [shop.id]).only == shop.session


def test_a_number_without_its_country_is_tried_where_the_project_sends(shop):
    assert addresses_of("0151 12345678", [shop.id])[0] == ADDRESS
    shop.set(countries=["US"])
    Recipient.objects.all().delete()
    assert ADDRESS not in addresses_of("0151 12345678", [shop.id])
    assert addresses_of("(201) 555-0123", [shop.id])[0] == "+12015550123"


def test_the_countries_of_recent_recipients_count_too(shop):
    shop.set(countries=[])
    assert search("0151 12345678", [shop.id]).only == shop.session


def test_every_id_leads_to_the_story(shop):
    for term in (shop.session.pk, shop.session.pk.lower(), str(shop.message.pk), "wamid.17"):
        assert search(term, [shop.id]).only == shop.session, term
    for term in (str(shop.manual.pk), f"msg_{shop.manual.pk}", "A.Person@Example.com"):
        assert search(term, [shop.id]).only == shop.manual, term


def test_an_id_that_a_receipt_alone_named_is_found(shop):
    provider = shop.row.providers.first()
    type(shop.manual).objects.filter(pk=shop.manual.pk).update(provider=provider, provider_message_id="late-id")
    assert search("late-id", [shop.id]).only == shop.manual


@pytest.mark.requirement(81)
def test_nothing_of_another_project_is_found(shop):
    other = factories.project()
    Decision.objects.create(
        project=shop.row, rule="too_many_sends", subject=mask(ADDRESS), hour=timezone.now(), refused=1
    )
    for term in (ADDRESS, shop.session.pk, str(shop.message.pk), "wamid.17", "a.person@example.com", mask(ADDRESS)):
        found = search(term, [other.id])
        assert (found.sessions, found.messages, found.refusals) == ([], [], []), term


@pytest.mark.parametrize(
    "term", ["", "  ", "x", "\0", "15112345678\0", "%", "+49", "a@", "@", "9" * 300, "+49x151", "²³"]
)
def test_what_names_nothing_finds_nothing(shop, term):
    found = search(term, [shop.id])
    assert not (found.sessions or found.messages or found.refusals)


def test_the_newest_of_many_are_found_and_it_says_that_there_are_more(shop):
    recipient = shop.session.recipient
    for _ in range(MOST + 1):
        a_session(recipient, is_open=False)
    found = search(ADDRESS, [shop.id])
    assert (len(found.sessions), found.is_cut, found.only) == (MOST, True, None)
    assert found.sessions[0].created_at >= found.sessions[-1].created_at
    assert shop.session not in found.sessions


@pytest.mark.parametrize(
    ("rule", "subject"),
    [("too_many_sends", mask("+447400123456")), ("prefix", "+44740012…"), ("country", "GB"), ("conversion", "GB")],
)
def test_of_a_number_without_a_story_the_refusals_are_told(shop, rule, subject):
    made = Decision.objects.create(project=shop.row, rule=rule, subject=subject, hour=timezone.now(), refused=1)
    Decision.objects.create(project=shop.row, rule="country", subject="FR", hour=timezone.now(), refused=1)
    assert search("+447400123456", [shop.id]).refusals == [made]


def test_a_refusal_beside_the_one_story_is_shown_with_it(shop):
    Decision.objects.create(
        project=shop.row, rule="too_many_sends", subject=mask(ADDRESS), hour=timezone.now(), refused=1
    )
    found = search(ADDRESS, [shop.id])
    assert found.only is None and found.sessions == [shop.session] and len(found.refusals) == 1


def test_old_refusals_are_left_out(shop):
    long_ago = timezone.now() - timedelta(days=40)
    about = {"project": shop.row, "rule": "country", "subject": "GB", "hour": long_ago}
    Decision.objects.create(**about, first_at=long_ago, last_at=long_ago)
    assert search("+447400123456", [shop.id]).refusals == []


def test_an_id_that_others_messages_have_too_is_found_among_ours(shop):
    theirs = factories.project()
    recipient = Recipient.objects.create(project=theirs.row, address=ADDRESS)
    for _ in range(MOST + 1):
        DeliveryAttempt.objects.create(
            message=a_message(recipient),
            provider_name="Gateway",
            outcome="accepted",
            latency_ms=40,
            provider_message_id="17",
        )
    DeliveryAttempt.objects.create(
        message=shop.message, provider_name="Gateway", outcome="accepted", latency_ms=40, provider_message_id="17"
    )
    assert search("17", [shop.id]).only == shop.session
