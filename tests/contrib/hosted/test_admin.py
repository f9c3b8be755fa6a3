"""Project › Hosted page: its settings, its logo, and who may change them."""

from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.contrib.hosted.pictures import png
from verification.admin.auth.session import CONFIRMED
from verification.models import ApiKey, AuditEntry, HostedPage
from verification.services.projects import keys

pytestmark = pytest.mark.django_db
BACK = "https://shop.example/verified"
GIVEN = {"is_enabled": "on", "return_addresses": BACK, "hand_over": "form", "title": "", "accent": "#0F766E"}


def address(panel, name="show_hosted_page", project=None):
    return reverse(f"admin:verification_project_{name}", args=((project or panel.project).pk,))


def test_it_is_off_until_its_owner_switches_it_on(panel):
    client = panel.as_("owner")
    assert "The page is active" not in client.get(address(panel)).content.decode()
    shown = client.post(address(panel), GIVEN, follow=True).content.decode()
    assert "The page is active" in shown and str(panel.project.public_id) in shown
    page = HostedPage.objects.get(project=panel.project)
    assert (page.return_addresses, page.accent) == ([BACK], "#0f766e")
    assert page.key_text not in shown
    assert AuditEntry.objects.filter(action="Changed the hosted page", who="owner").exists()


def test_the_address_that_is_shown_to_copy_works(panel):
    client = panel.as_("owner")
    shown = client.post(address(panel), GIVEN, follow=True)
    copied = shown.content.decode().partition('id="hosted-link">')[2].partition("</code>")[0]
    assert unescape(copied) == shown.context["link"] and "return_to=" in copied and "state=" in copied
    assert client.get(unescape(copied)).status_code == 200


def test_the_audit_log_tells_the_new_addresses_and_not_the_key(panel):
    panel.as_("owner").post(address(panel), GIVEN)
    text = str(list(AuditEntry.objects.values_list("changes", flat=True)))
    assert BACK in text and HostedPage.objects.get().key_text not in text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("return_addresses", "http://shop.example/", "cannot be used as a return URL"),
        ("return_addresses", "", "needs a return URL"),
        ("accent", "red;}", "Enter a colour as"),
        ("hand_over", "query", "Select a valid choice"),
    ],
)
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_saved(panel, field, value, said):
    shown = panel.as_("owner").post(address(panel), {**GIVEN, field: value}).content.decode()
    assert said in shown
    assert not HostedPage.objects.exists()


def test_a_page_whose_key_was_revoked_says_so(panel):
    client = panel.as_("owner")
    client.post(address(panel), GIVEN)
    keys.revoke_key(HostedPage.objects.get().key_id)
    assert "Its API key was revoked" in client.get(address(panel)).content.decode()


def test_a_logo_is_taken_and_taken_away_and_one_that_is_none_is_refused(panel):
    client, to = panel.as_("owner"), address(panel, "set_logo")
    svg = SimpleUploadedFile("logo.png", b"<svg onload=alert(1)>", content_type="image/png")
    assert "must be a PNG" in client.post(to, {"logo": svg}).content.decode()
    assert "Choose a file" in client.post(to, {}).content.decode()
    client.post(to, {"logo": SimpleUploadedFile("a.png", png())})
    assert HostedPage.objects.get().logo is not None
    client.post(to, {"remove": ""})
    assert HostedPage.objects.get().logo is None


def test_others_projects_are_out_of_reach(panel):
    client = panel.as_("owner")
    for name in ("show_hosted_page", "set_logo"):
        client.post(address(panel, name, panel.other), GIVEN)
    assert not HostedPage.objects.exists()


def test_new_addresses_are_asked_about_again(panel):
    client = panel.as_("owner")
    session = client.session
    session.pop(CONFIRMED, None)
    session.save()
    assert "Confirm it's you" in client.post(address(panel), GIVEN).content.decode()
    assert not HostedPage.objects.exists()


def test_the_pages_of_keys_mark_the_one_that_the_hosted_page_uses_and_offer_no_way_to_rotate_it(panel):
    client = panel.as_("owner")
    client.post(address(panel), GIVEN)
    key = HostedPage.objects.get().key
    change = reverse("admin:verification_project_change", args=(panel.project.pk,), query={"section": "keys"})
    for page in (reverse("admin:verification_apikey_changelist"), change):
        shown = client.get(page).content.decode()
        assert shown.count("Used by the hosted page") == 1
        rotate = "admin:verification_apikey_rotate"
        assert reverse(rotate, args=(panel.rows[ApiKey].pk,)) in shown and reverse(rotate, args=(key.pk,)) not in shown


def test_the_example_code_has_no_key_that_only_the_hosted_page_knows(panel):
    client = panel.as_("owner")
    client.post(address(panel), GIVEN)
    shown = client.get(address(panel, "show_code"))
    assert shown.context["key"] != HostedPage.objects.get().key
    assert str(HostedPage.objects.get().key) not in shown.content.decode()
