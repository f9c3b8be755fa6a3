"""The panel's kill switches: a button is called what it does."""

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.urls import reverse

from verification.models import KillSwitch


def test_the_page_of_a_kill_switch_resumes_and_does_not_delete(panel):
    switch = KillSwitch.objects.create(subject="voice")
    address = reverse("admin:verification_killswitch_change", args=(switch.pk,))
    page = panel.as_("root").get(address).content.decode()
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
