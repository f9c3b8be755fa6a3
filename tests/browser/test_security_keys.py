"""A security key in a real browser, by Chromium's own virtual authenticator: added, refused twice, used, removed."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.browser.test_access import AXE
from tests.browser.test_admin import PASSWORD, log_in
from tests.browser.test_people import look
from verification.models import SecurityKey

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]


def plug_in(page):
    tool = page.context.new_cdp_session(page)
    tool.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "usb", "hasResidentKey": True, "isUserVerified": True}
    return tool, tool.send(
        "WebAuthn.addVirtualAuthenticator",
        {"options": options | {"hasUserVerification": True, "automaticPresenceSimulation": True}},
    )["authenticatorId"]


def test_a_key_is_added_opens_the_panel_and_is_removed(live_server, browser_page, settings):
    User.objects.create_user("owner", password=PASSWORD, is_staff=True)
    page, complaints = browser_page
    found = {}

    def see(name):
        found[name] = look(page, name) if AXE.exists() else []

    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:second_factor"))
    see("second-factor-none")
    tool, authenticator = plug_in(page)
    page.fill("[name=name]", "Blue key")
    page.get_by_role("button", name="Add a security key").click()
    page.get_by_text("They are not shown again").wait_for()
    page.get_by_role("link", name="I have saved them").click()
    page.fill("[name=name]", "The same again")
    page.get_by_role("button", name="Add a security key").click()
    page.get_by_text("This key is already added.").wait_for()
    see("second-factor-one")

    page.context.clear_cookies()
    settings.IS_SECOND_FACTOR_REQUIRED = True
    log_in(page, live_server, leads_to="second_step")
    see("log-in-by-key")
    page.get_by_role("button", name="Use a security key").click()
    page.wait_for_url(live_server.url + reverse("admin:index"))
    key = SecurityKey.objects.get()
    assert (key.host, key.signatures > 0, key.used_at is not None) == ("localhost", True, True)

    page.goto(live_server.url + reverse("admin:second_factor"))
    assert page.get_by_role("button", name="Remove Blue key").count() == 0  # the only factor, and one is demanded
    settings.IS_SECOND_FACTOR_REQUIRED = False
    page.reload()
    page.get_by_role("button", name="Remove Blue key").click()
    page.get_by_text("Blue key was removed").wait_for()

    page.context.clear_cookies()
    settings.IS_SECOND_FACTOR_REQUIRED = True
    log_in(page, live_server, leads_to="enrol")
    see("enrol")
    tool.send("WebAuthn.clearCredentials", {"authenticatorId": authenticator})
    page.fill("[name=name]", "Another key")
    page.get_by_role("button", name="Add a security key").click()
    page.get_by_role("link", name="I have saved them").click()
    page.wait_for_url(live_server.url + reverse("admin:index"))
    assert {name: rules for name, rules in found.items() if rules} == {}
    assert complaints == []
