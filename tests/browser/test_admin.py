"""The panel in a real Chromium, under its own Content-Security-Policy."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests import factories
from verification.admin.base.current_project import section_address
from verification.models import Membership

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]
PASSWORD = "correct horse battery"


def log_in(page, server, *, leads_to="index"):
    page.goto(server.url + reverse("admin:login"))
    page.fill("#id_username", "owner")
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(server.url + reverse(f"admin:{leads_to}"))


def test_an_owner_adds_a_provider_and_issues_a_key(live_server, browser_page):
    project = factories.project("Shop", channels=("sms",)).row
    owner = User.objects.create_user("owner", password=PASSWORD, is_staff=True)
    Membership.objects.create(project=project, user=owner)
    page, complaints = browser_page
    log_in(page, live_server)

    page.get_by_role("link", name="Providers", exact=True).click()
    page.goto(live_server.url + reverse("admin:verification_provider_add"))
    page.get_by_role("button", name=re.compile("^SMTP")).click()
    page.fill("#id_name", "Mail server")
    page.fill("#id_setting_host", "127.0.0.1")
    page.fill("#id_setting_from_email", "login@example.com")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(live_server.url + reverse("admin:verification_provider_changelist"))
    assert project.providers.get(name="Mail server").settings["from_email"] == "login@example.com"

    page.goto(live_server.url + section_address(project, "keys"))
    page.get_by_role("link", name="Create a key").click()
    page.get_by_role("button", name="Create the key").click()
    assert page.locator(".ww-secret-text").inner_text().startswith("ww_api_")
    page.get_by_role("button", name="Copy").click()
    page.get_by_text(re.compile("Copied|Press Ctrl")).wait_for()

    names = ("project", "channel", "provider", "apikey", "testlogin", "session", "message", "recipient")
    for name in (*names, "messagetemplate", "suppression", "webhookevent", "auditentry"):
        page.goto(live_server.url + reverse(f"admin:verification_{name}_changelist"))
    adds = ("verification_channel_add", "verification_messagetemplate_add", "verification_testlogin_add")
    for name in ("verification_inbox", "index", *adds):
        page.goto(live_server.url + reverse(f"admin:{name}"))
    assert complaints == []


def test_whoever_saves_finds_the_same_section_open(live_server, browser_page):
    project = factories.project("Shop").row
    Membership.objects.create(project=project, user=User.objects.create_user("owner", password=PASSWORD, is_staff=True))
    page, complaints = browser_page
    page.set_viewport_size({"width": 1280, "height": 800})
    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:verification_project_change", args=(project.pk,)))
    sections = page.get_by_role("navigation", name="Project settings")
    sections.get_by_role("link", name="Limits").click()
    page.fill("#id_sends_per_day", "7")
    assert not page.locator("#id_requests_per_second").is_visible()
    page.get_by_text("Advanced", exact=True).click()
    page.fill("#id_requests_per_second", "70")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("was changed successfully").wait_for()
    assert sections.locator("[aria-current=page]").inner_text() == "Limits"
    project.refresh_from_db()
    assert (project.sends_per_day, project.requests_per_second, complaints) == (7, 70, [])


def test_the_sections_are_a_row_on_a_phone_that_begins_at_the_open_one(live_server, browser_page):
    project = factories.project("Shop").row
    Membership.objects.create(project=project, user=User.objects.create_user("owner", password=PASSWORD, is_staff=True))
    page, _ = browser_page
    page.set_viewport_size({"width": 390, "height": 844})
    log_in(page, live_server)
    page.goto(live_server.url + section_address(project, "retention"))
    current = page.locator(".ww-sections [aria-current=page]")
    box = current.bounding_box()
    assert current.inner_text() == "Retention" and box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.requirement(110)
def test_nothing_comes_from_elsewhere(live_server, browser_page):
    User.objects.create_user("owner", password=PASSWORD, is_staff=True)
    page, _ = browser_page
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    log_in(page, live_server)
    page.wait_for_load_state("networkidle")
    assert [url for url in asked if not url.startswith((live_server.url, "data:"))] == []
