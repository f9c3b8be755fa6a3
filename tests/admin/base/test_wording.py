"""The panel's words: a button is called what it does, a cause is a sentence, and no field tells of nothing."""

import re

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.urls import reverse
from django.utils import timezone

from verification.models import (
    Alert,
    CircuitBreaker,
    DeliveryAttempt,
    KillSwitch,
    Message,
    MessageStatus,
    Session,
    WebhookAttempt,
    WebhookEvent,
)

CAUSE = "the number is barred"


def page_of(client, row):
    return client.get(reverse(f"admin:verification_{row._meta.model_name}_change", args=(row.pk,))).content.decode()


def test_the_page_of_a_kill_switch_resumes_and_does_not_delete(panel):
    page = page_of(panel.as_("root"), KillSwitch.objects.create(subject="voice"))
    assert "Resume" in page and "Delete" not in page


def test_the_list_of_kill_switches_resumes_the_selected_after_asking(panel):
    switch, client = KillSwitch.objects.create(subject="voice"), panel.as_("root")
    address = reverse("admin:verification_killswitch_changelist")
    assert "delete_selected" not in client.get(address).content.decode()
    chosen = {"action": "resume_selected", ACTION_CHECKBOX_NAME: switch.pk}
    assert "Sending resumes" in client.post(address, chosen).content.decode()
    assert KillSwitch.objects.exists()
    client.post(address, {**chosen, "confirmed": "yes"})
    assert not KillSwitch.objects.exists()


@pytest.mark.parametrize(("ended_at", "is_told"), [(None, False), (timezone.now(), True)])
def test_an_alert_tells_its_end_where_it_has_one(panel, ended_at, is_told):
    alert = panel.rows[Alert]
    Alert.objects.filter(pk=alert.pk).update(ended_at=ended_at)
    assert ("Ended" in page_of(panel.as_("owner"), alert)) is is_told


@pytest.mark.parametrize("model", [Message, Session, WebhookEvent])
def test_a_cause_begins_with_a_capital_on_its_page(panel, model):
    Message.objects.update(error=CAUSE, status=MessageStatus.FAILED)
    DeliveryAttempt.objects.update(error=CAUSE)
    WebhookAttempt.objects.update(error=CAUSE)
    page = page_of(panel.as_("owner"), panel.rows[model])
    told = re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)  # the body of an event stands there as it is sent
    told = told.replace(f"rejected the message: {CAUSE}", "")  # where it goes on in a sentence
    assert CAUSE.capitalize() in told and CAUSE not in told


def test_a_cause_begins_with_a_capital_on_the_overview(panel):
    Message.objects.update(error=CAUSE, status=MessageStatus.FAILED)
    aside = {"open_until": timezone.now(), "reason": CAUSE}
    CircuitBreaker.objects.update_or_create(provider=panel.project.providers.first(), defaults=aside)
    page = panel.as_("owner").get(reverse("admin:index")).content.decode()
    assert page.count(CAUSE.capitalize()) == 2 and CAUSE not in page
