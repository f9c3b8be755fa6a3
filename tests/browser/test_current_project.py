"""The switcher of projects by keyboard, beside a wide page and in the menu of a phone."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests import factories
from tests.admin.rows import make_panel
from tests.browser.test_admin import PASSWORD, log_in
from verification.models import Membership

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_keyboard_chooses_a_project(live_server, browser_page, width):
    make_panel()
    owner = User.objects.get(username="owner")
    owner.set_password(PASSWORD)
    owner.save()
    second = factories.project("Second", channels=("sms",)).row
    Membership.objects.create(project=second, user=owner)
    page, complaints = browser_page
    page.set_viewport_size({"width": width, "height": 800})
    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:verification_channel_changelist"))
    if width < 1280:
        page.get_by_role("button", name="Menu", exact=True).focus()
        page.keyboard.press("Enter")
    switcher = page.get_by_role("button", name="Project: All projects")
    switcher.focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Second").wait_for()
    page.keyboard.press("Escape")
    assert switcher.evaluate("each => each === document.activeElement && each.ariaExpanded === 'false'")
    page.keyboard.press("Enter")
    page.locator("#ww-projects [aria-current]:focus").wait_for()  # all projects, where the focus begins
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(live_server.url + reverse("admin:verification_channel_changelist", query={"project": second.pk}))
    assert page.locator("#result_list tbody tr").count() == 1
    if width < 1280:
        page.get_by_role("button", name="Menu", exact=True).click()
    assert page.get_by_role("button", name="Project: Second").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert complaints == []
