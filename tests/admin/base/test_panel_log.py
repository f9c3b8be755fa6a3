"""The panel's own log of each step, and the vendors' ids that it shows, hold no whole address."""

import base64

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.urls import reverse

from tests.admin.rows import ADDRESS, values_on
from verification.models import DeliveryAttempt, Membership, Message, TestLogin
from verification.services.maintenance.retention import PANEL_LOG_KEPT, purge

pytestmark = pytest.mark.django_db

TO = "+15555550100"
VENDORS_ID = "wamid." + base64.b64encode(ADDRESS.removeprefix("+").encode()).decode()


def steps_of(panel):
    """Add a test login, change it, delete it."""
    client = panel.as_("owner")
    client.post(reverse("admin:verification_testlogin_add"), {"project": panel.project.pk, "to": TO, "code": "123456"})
    login = TestLogin.objects.get(to=TO)
    page = reverse("admin:verification_testlogin_change", args=(login.pk,))
    client.post(page, values_on(client, page) | {"code": "654321"})
    client.post(reverse("admin:verification_testlogin_delete", args=(login.pk,)), {"post": "yes"})
    assert not TestLogin.objects.filter(to=TO).exists()


@pytest.mark.requirement(91)
def test_the_panels_own_log_holds_no_address_of_a_test_login(panel):
    steps_of(panel)
    noted = list(LogEntry.objects.values_list("object_repr", "change_message"))
    assert len(noted) == 3
    assert TO not in str(noted) and TO[1:] not in str(noted)


def note_long_ago(days):
    entry = LogEntry.objects.create(
        user=User.objects.get(username="owner"),
        content_type=ContentType.objects.get_for_model(TestLogin),
        object_id="1",
        object_repr=TO,
        action_flag=CHANGE,
    )
    LogEntry.objects.filter(pk=entry.pk).update(action_time=entry.action_time - PANEL_LOG_KEPT / 30 * days)
    return entry


def test_the_panels_own_log_is_purged(panel):
    old, young = note_long_ago(31), note_long_ago(29)
    assert purge()["panel_log"] == 1
    assert list(LogEntry.objects.filter(pk__in=(old.pk, young.pk))) == [young]


@pytest.fixture
def reported(panel):
    message = panel.rows[Message]
    Message.objects.filter(pk=message.pk).update(provider_message_id=VENDORS_ID)
    DeliveryAttempt.objects.filter(message=message).update(provider_message_id=VENDORS_ID)
    return reverse("admin:verification_message_change", args=(message.pk,))


@pytest.mark.requirement(91)
def test_a_vendors_id_is_shown_to_who_may_see_addresses_alone(panel, reported):
    assert VENDORS_ID not in panel.as_("owner").get(reported).content.decode()
    assert VENDORS_ID in panel.as_("root").get(reported).content.decode()
    Membership.objects.filter(user__username="owner").update(sees_addresses=True)
    assert panel.as_("owner").get(reported).content.decode().count(VENDORS_ID) >= 2
