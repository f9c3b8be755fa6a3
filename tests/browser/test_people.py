"""The pages about people as a browser shows them: an invitation followed to the end, in both themes and on a phone."""

import os
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.urls import reverse

from tests.admin.rows import make_panel
from tests.browser.test_access import AXE, JUDGE
from tests.browser.test_admin import PASSWORD, log_in
from verification.models import Membership
from verification.services.users import invitations

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]
PICTURES = os.environ.get("PICTURES_OF_PAGES", "")  # a folder, for whoever wants to look at the pages


@pytest.fixture
def panel(browser_page):
    panel = make_panel()
    for name, role in (("mia.support", "support"), ("otto", "analyst")):
        user = User.objects.create_user(name, email=f"{name}@shop.example", is_staff=True)
        Membership.objects.create(project=panel.project, user=user, role=role)
    for user in User.objects.all():
        user.set_password(PASSWORD)
        user.save()
    return panel


def look(page, name):
    """Return what axe finds on the page and how far it is wider than a phone, and take its picture if asked to."""
    found = []
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()  # the theme is chosen as the page opens
        page.evaluate(AXE.read_text())
        found += page.evaluate(JUDGE)
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}-{width}.png", full_page=True)
    if page.evaluate("document.documentElement.scrollWidth") > 390:
        found.append("wider than a phone")
    return found


def test_an_invitation_is_followed_to_the_end(live_server, browser_page, panel):
    page, complaints = browser_page
    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:verification_project_show_people", args=(panel.project.pk,)))
    page.fill("[name=email]", "ann@shop.example")
    page.get_by_role("button", name="Send the invitation").click()
    page.get_by_text("An e-mail with a link was sent to").wait_for()  # the first view alone shows it
    found = {"people": look(page, "people")} if AXE.exists() else {}
    page.goto(live_server.url + reverse("admin:logins"))
    found |= {"logins": look(page, "logins")} if AXE.exists() else {}
    page.context.clear_cookies()
    for row in invitations.claim_due(limit=10):
        invitations.deliver(row)
    link = re.search(r"https?://[^/]+(/\S+)", mail.outbox[-1].body)[1]
    page.goto(live_server.url + link)
    found |= {"join": look(page, "join")} if AXE.exists() else {}
    page.fill("[name=username]", "ann")
    page.fill("[name=password]", PASSWORD)
    page.fill("[name=again]", PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    page.wait_for_url(live_server.url + reverse("admin:index"))
    assert panel.project.memberships.get(user__username="ann").role == "support"
    assert {name: rules for name, rules in found.items() if rules} == {}
    assert complaints == []
