"""The browser's time zone reaches the pages, and UTC can be chosen in the account menu."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.admin.rows import make_panel
from tests.browser.test_admin import PASSWORD, log_in
from verification.models import Message

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]


def test_times_are_the_browsers_until_utc_is_chosen(live_server, chromium):
    panel = make_panel()
    owner = User.objects.get(username="owner")
    owner.set_password(PASSWORD)
    owner.save()
    context = chromium.new_context(timezone_id="Asia/Kolkata")
    page = context.new_page()
    complaints = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:verification_message_change", args=(panel.rows[Message].pk,)))
    time = page.locator("main time").filter(has_text=re.compile(" IST$")).first
    assert re.fullmatch(r"\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC", time.get_attribute("title"))
    page.get_by_role("button", name="owner").click()
    assert page.get_by_role("button", name="Asia/Kolkata").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="UTC", exact=True).click()
    page.get_by_text(re.compile("clock times are in UTC")).wait_for()
    assert "IST" not in page.locator("main").inner_text()
    assert complaints == []
    context.close()
