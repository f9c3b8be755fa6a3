"""The keyboard leads from any page to the story of a code."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.admin.rows import ADDRESS, make_panel
from tests.browser.test_admin import PASSWORD, log_in
from verification.models import Session

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_slash_and_a_number_lead_to_what_happened(live_server, browser_page, width):
    panel = make_panel()
    owner = User.objects.get(username="owner")
    owner.set_password(PASSWORD)
    owner.save()
    page, complaints = browser_page
    page.set_viewport_size({"width": width, "height": 800})
    log_in(page, live_server)
    page.keyboard.press("/")
    if width < 1280:  # where the menu is closed the key opens the search's page
        page.wait_for_url(live_server.url + reverse("admin:verification_find"))
    page.wait_for_function("document.activeElement.matches('input')")
    page.keyboard.type(ADDRESS)
    page.keyboard.press("Enter")
    session = reverse("admin:verification_session_change", args=(panel.rows[Session].pk,))
    page.wait_for_url(live_server.url + session)
    assert page.get_by_role("heading", name="What happened").is_visible()
    assert page.get_by_text("Gateway rejected the recipient").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []


@pytest.fixture
def owner(live_server, browser_page):
    panel = make_panel()
    user = User.objects.get(username="owner")
    user.set_password(PASSWORD)
    user.save()
    page, _ = browser_page
    page.set_viewport_size({"width": 1280, "height": 800})
    log_in(page, live_server)
    return panel


def test_letters_lead_to_a_page_and_the_arrows_choose_among_several(live_server, browser_page, owner):
    page, complaints = browser_page
    page.keyboard.press("Control+k")
    page.keyboard.type("alert")
    options = page.get_by_role("option")
    options.first.wait_for()
    assert options.first.inner_text().endswith("Alerts")
    page.keyboard.press("ArrowDown")
    chosen = page.get_by_role("option", selected=True)
    assert "Alert destinations" in chosen.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/alertservice/**")
    assert complaints == []


def test_a_number_is_looked_for_and_escape_closes_what_is_offered(live_server, browser_page, owner):
    page, complaints = browser_page
    page.keyboard.press("/")
    page.keyboard.type("Quiet hours")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("option").first.wait_for(state="hidden")
    page.locator("[data-find]").fill(ADDRESS)
    page.keyboard.press("Enter")
    page.wait_for_url(live_server.url + reverse("admin:verification_session_change", args=(owner.rows[Session].pk,)))
    assert complaints == []
