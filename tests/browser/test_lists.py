"""A list in the browser: its filters are one form, a view is saved and opened again, columns are chosen."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.admin.rows import make_panel
from tests.browser.test_admin import PASSWORD, log_in

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]
LISTS = (
    "project",
    "channel",
    "apikey",
    "alertservice",
    "routingrule",
    "alert",
    "auditentry",
    "decision",
    "webhookevent",
)
LISTS += ("guardblock", "listentry", "suppression", "testlogin", "provider", "message", "recipient", "session")
LIST = reverse("admin:verification_message_changelist")


@pytest.fixture
def page(live_server, browser_page):
    make_panel()
    owner = User.objects.get(username="owner")
    owner.set_password(PASSWORD)
    owner.save()
    page, complaints = browser_page
    page.set_viewport_size({"width": 1600, "height": 900})
    log_in(page, live_server)
    page.goto(live_server.url + LIST)
    yield page
    assert complaints == []


def covers(page, upper, lower):
    """Return whether one element lies over another."""
    above, below = page.locator(upper).bounding_box(), page.locator(lower).bounding_box()
    return above["y"] + above["height"] > below["y"]


def test_the_filters_cover_no_row_and_a_view_keeps_them(page):
    page.get_by_role("button", name="Filters").click()
    page.locator("#changelist-filter [name=status]").select_option(label="Failed")
    assert not covers(page, "#changelist-filter", "#result_list")
    page.get_by_role("button", name="Apply").first.click()
    page.wait_for_url("**?status=failed")
    page.get_by_text("Save view").click()
    page.get_by_label("Name", exact=True).fill("Failed ones")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Failed ones").wait_for()
    page.get_by_label("Saved views").get_by_role("link", name="All").click()
    page.wait_for_url(f"**{LIST}?")
    page.get_by_role("link", name="Failed ones").click()
    page.get_by_text("Status: Failed").wait_for()


def test_columns_are_chosen_and_stay(page, live_server):
    page.locator("summary", has_text="Columns").click()
    page.locator(".ww-pop [value=kind]").uncheck()
    page.locator(".ww-pop [value=language_label]").check()
    page.locator(".ww-pop").get_by_role("button", name="Apply").click()
    page.get_by_role("columnheader", name="Language").wait_for()
    page.goto(live_server.url + LIST)
    assert page.get_by_role("columnheader", name="Language").is_visible()
    assert not page.get_by_role("columnheader", name="Kind").is_visible()


@pytest.mark.parametrize(
    "name", ["message", "provider", "channel", "alert", "auditentry", "recipient", "apikey", "webhookevent"]
)
def test_on_a_phone_a_row_has_two_lines_that_lead_to_its_page(page, live_server, name):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(live_server.url + reverse(f"admin:verification_{name}_changelist"))
    row = page.locator("#result_list .data-row").first
    assert row.bounding_box()["height"] < 90
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    row.click(position={"x": 60, "y": 6})
    page.wait_for_url(f"**/{name}/*/change/**")


def test_on_a_phone_every_row_says_something(page, live_server):
    page.set_viewport_size({"width": 390, "height": 844})
    said = {}
    for name in LISTS:
        page.goto(live_server.url + reverse(f"admin:verification_{name}_changelist"))
        rows = page.locator("#result_list .data-row")
        if rows.count():
            said[name] = rows.first.inner_text().strip()
    assert "routingrule" in said and all(said.values()), said


def test_on_a_phone_the_buttons_of_a_page_open_above_its_fields(page, live_server):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(live_server.url + reverse("admin:verification_webhookevent_changelist"))
    page.locator("#result_list .data-row").first.click()
    page.wait_for_url("**/webhookevent/*/change/**")
    page.get_by_role("link", name="More actions").click()
    page.get_by_role("link", name="Send again").click()  # which waits until nothing covers it
    page.wait_for_url("**/send-again/")
