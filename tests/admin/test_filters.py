"""The filters of past traffic by any range of time, by provider and by country, and a recipient's last stories."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from tests import factories
from tests.admin.rows import ADDRESS
from tests.factories import a_message
from verification.models import Membership, Message, NumberArea, Provider, Recipient, Session

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 10, 12, 12, tzinfo=UTC)


def listed(name, **query):
    return reverse(f"admin:verification_{name}_changelist", query=query)


def field_of(page, name):
    return next(each for each in page.context["cl"].filter_form.fields if each.name == name)


def number_area():
    with connection.cursor() as cursor:
        cursor.execute("SELECT number_area(%s)", [ADDRESS])
        return cursor.fetchone()[0]


def found(page):
    return [row.pk for row in page.context["cl"].result_list]


@pytest.fixture
def old(panel):
    """A message of a noon of weeks ago."""
    message = panel.rows[Message]
    Message.objects.filter(pk=message.pk).update(created_at=NOON + timedelta(minutes=20))
    return message


def test_a_range_is_typed_in_the_readers_zone(panel, old):
    client = panel.as_("owner")
    client.cookies[settings.TIME_ZONE_COOKIE_NAME] = "Asia/Kolkata"
    typed = {"from": "2026-10-12T17:45", "to": "2026-10-12T17:51", "status": "failed"}
    page = client.get(listed("message", **typed), follow=True)
    assert page.redirect_chain == [
        (listed("message", status="failed", between="2026-10-12T12:15..2026-10-12T12:21"), 302)
    ]
    assert found(page) == [old.pk]
    with timezone.override(ZoneInfo("Asia/Kolkata")):
        shown = field_of(page, "between").range
    assert (shown["first"], shown["last"], shown["zone"]) == ("2026-10-12T17:45", "2026-10-12T17:51", "IST")
    assert field_of(page, "status").value == "failed"
    assert found(client.get(listed("message", between="2026-10-12T12:21..2026-10-12T13:00"))) == []


def test_a_range_may_be_open_at_either_end(panel, old):
    client = panel.as_("owner")
    for typed, finds in (
        ({"from": "2026-10-12T12:00", "to": ""}, True),
        ({"from": "", "to": "2026-10-12T13:00"}, True),
        ({"from": "2026-10-12T12:21", "to": ""}, False),
        ({"from": "", "to": "2026-10-12T12:00"}, False),
    ):
        assert (old.pk in found(client.get(listed("message", **typed), follow=True))) is finds, typed
    assert client.get(listed("message", **{"from": "", "to": ""})).url == listed("message")


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (("2026-10-13T12:00", "2026-10-12T12:00"), "The end is before the start."),
        (("yesterday", "2026-10-12T12:00"), "This is not a valid period."),
        (("2026-10-12T12:00", "9" * 500), "This is not a valid period."),
        (("0001-01-01T00:00+05:00", "2026-10-12T12:00"), "This is not a valid period."),
        (("2026-10-12T12:00", "9999-12-31T23:59-05:00"), "This is not a valid period."),
        (("9999-12-31T23:59-05:00", ""), "This is not a valid period."),
    ],
)
def test_a_range_that_is_none_is_refused_beside_the_fields(panel, old, typed, why):
    page = panel.as_("owner").get(listed("message", **{"from": typed[0], "to": typed[1]}), follow=True)
    assert found(page) == []
    assert field_of(page, "between").range["wrong"] == why
    assert why in page.content.decode()


@pytest.mark.parametrize("who", ["owner", "root"])  # whose list is in the order of the time, and of the ids
def test_a_range_from_the_first_year_on_has_every_session(panel, who):
    page = panel.as_(who).get(listed("session", between="1970-01-01T00:00..2100-01-01T00:00"))
    assert found(page) == [panel.rows[Session].pk]


def test_providers_are_offered_of_the_users_projects(panel):
    second = factories.project("Second", channels=("sms",)).row
    Membership.objects.create(project=second, user=User.objects.get(username="owner"))
    ours = Provider.objects.filter(project=panel.project)
    client = panel.as_("owner")
    offered = [value for value, _ in field_of(client.get(listed("message")), "provider").options]
    assert {str(each.pk) for each in ours} < set(offered)
    assert not {str(each.pk) for each in Provider.objects.filter(project=panel.other)} & set(offered)
    alone = client.get(listed("message", project=panel.project.pk))
    offered = [value for value, _ in field_of(alone, "provider").options]
    assert not {str(each.pk) for each in Provider.objects.filter(project=second)} & set(offered)


@pytest.mark.parametrize("name", ["message", "session"])
def test_countries_are_offered_and_filter(panel, name):
    client = panel.as_("owner")
    options = field_of(client.get(listed(name)), "country").options
    assert ("DE", "DE") in options and len(options) > 100
    NumberArea.objects.create(area=number_area(), country="DE")  # the rollups note them
    page = client.get(listed(name, country="DE"))
    assert len(found(page)) == 1 and field_of(page, "country").shown == "DE"
    assert found(client.get(listed(name, country="BR"))) == []
    assert ("XX", "XX") in field_of(client.get(listed(name, country="XX")), "country").options


def test_a_recipients_page_shows_their_last_stories(panel):
    recipient = panel.rows[Recipient]
    a_message(recipient, created_at=timezone.now() - timedelta(hours=1))
    page = panel.as_("owner").get(reverse("admin:verification_recipient_change", args=(recipient.pk,)))
    session = reverse("admin:verification_session_change", args=(panel.rows[Session].pk,))
    assert [hit.link for hit in page.context["hits"]][0] == session and len(page.context["hits"]) == 2
    html = page.content.decode()
    assert f'<a href="{session}">' in html and ADDRESS not in html
