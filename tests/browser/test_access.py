"""The panel for those who use the keyboard, hear the page, or have a small screen."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import make_panel
from tests.browser.test_admin import PASSWORD, log_in
from tests.live import wait_until
from verification.admin.base.current_project import section_address
from verification.admin.projects.sections import SECTIONS
from verification.models import (
    BreakerOpening,
    Channel,
    GuardBlock,
    HourlyFigures,
    Message,
    Project,
    Provider,
    Recipient,
    Session,
    WebhookEvent,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]
AXE = Path(__file__).parents[2] / "var/npm/node_modules/axe-core/axe.min.js"
JUDGE = """
async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
    found => `${found.id}: ${found.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`
)
"""
# The same page by the other colours, as the theme makes it when it loads. What depends on colours is judged again: all
# else on it is the same.
IN_DARK = "document.documentElement.classList.add('dark')"
JUDGE_COLOURS = JUDGE.replace(
    "axe.run(document, {", 'axe.run(document, {runOnly: ["color-contrast", "link-in-text-block"], '
)
WITH_ROWS = (WebhookEvent, Channel, GuardBlock, Message, Project, Provider, Recipient, Session)
MAX_TABS = 80  # on the way to anything on a page


@pytest.fixture
def panel(browser_page):
    panel = make_panel()
    for user in User.objects.all():
        user.set_password(PASSWORD)
        user.save()
    return panel


def focused(page):
    return page.evaluate("document.activeElement.ariaLabel || document.activeElement.innerText || ''").strip()


def add_figures(panel):
    """Let the pages of figures have charts and tables to show."""
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for ago in range(1, 40):
        HourlyFigures.objects.create(
            project=panel.project, hour=hour - timedelta(hours=ago), channel="sms", country="DE", language="en",
            provider_id=panel.rows[Provider].pk, is_manual=False, sessions=9, sessions_sent=8, sessions_verified=6,
            messages=9, attempts=9, attempts_accepted=8, verify_times=[1] * 40,
        )  # fmt: skip
    BreakerOpening.objects.create(provider=panel.rows[Provider], reason="HTTP 503")


def tab_to(page, text):
    """Press Tab until what has the focus shows this text."""
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if text in focused(page):
            return
    raise AssertionError(f"{text!r} is not reached by Tab")


def pages_of(panel):
    yield reverse("admin:index")
    for model in WITH_ROWS:
        name = model._meta.model_name
        yield reverse(f"admin:verification_{name}_changelist")
        yield reverse(f"admin:verification_{name}_change", args=(panel.rows[model].pk,))
    for name in (
        "apikey",
        "testlogin",
        "messagetemplate",
        "suppression",
        "decision",
        "listentry",
        "alert",
        "auditentry",
        "routingrule",
        "alertservice",
    ):
        yield reverse(f"admin:verification_{name}_changelist")
    for step in ("settings", "test"):
        yield reverse(f"admin:verification_alert_{step}", args=(panel.project.pk, "mail"))
    yield reverse("admin:verification_message_changelist", query={"status": "failed", "channel__exact": "sms"})
    yield reverse("admin:verification_find")
    yield reverse("admin:verification_find", query={"q": "+447700900123"})
    yield reverse("admin:verification_figures")
    yield reverse("admin:verification_costs")
    yield reverse("admin:verification_invoice")
    proposed = {"project": panel.project.pk, "provider": panel.rows[Provider].pk, "country": "BR", "percent": 5}
    yield reverse("admin:verification_routingrule_propose", query=proposed)
    yield reverse("admin:verification_provider_scorecard", args=(panel.rows[Provider].pk,))
    for name in (
        "project_issue_key",
        "project_test_event",
        "project_webhook_secret",
        "project_show_file",
        "project_show_hosted_page",
        "project_show_connections",
    ):
        yield reverse(f"admin:verification_{name}", args=(panel.project.pk,))
    for system in ("entra_email", "generic", "zitadel"):
        address = reverse("admin:verification_project_add_connection", args=(panel.project.pk,))
        yield f"{address}?system={system}"
    for section in SECTIONS:
        yield section_address(panel.project, section.slug)
    yield reverse("admin:verification_project_show_people", args=(panel.project.pk,))
    yield reverse("admin:verification_provider_show_prices", args=(panel.rows[Provider].pk,))
    for channel in ("sms", "email", "voice"):
        query = {"project": panel.project.pk, "channel": channel, "language": "en"}
        yield reverse("admin:verification_messagetemplate_add", query=query)
    for name in ("text_variant", "text_send"):
        yield reverse(f"admin:verification_{name}", query=query)
    for name in ("provider_add", "channel_add", "messagetemplate_add", "testlogin_add"):
        yield reverse(f"admin:verification_{name}")


@pytest.mark.timeout(300)  # more than fifty pages
def test_axe_finds_nothing_on_the_pages(live_server, browser_page, panel):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix var/npm axe-core@4.10.3")
    page, _ = browser_page
    add_figures(panel)
    found = {}
    source = AXE.read_text()

    def judge(address):
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(live_server.url + address)
        page.evaluate(source)
        found[address] = page.evaluate(JUDGE)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.evaluate(IN_DARK)
        found[f"{address} in dark"] = page.evaluate(JUDGE_COLOURS)

    judge(reverse("admin:login"))
    log_in(page, live_server)
    for address in pages_of(panel):
        judge(address)
    assert {address: rules for address, rules in found.items() if rules} == {}


def test_the_keyboard_passes_the_menu_and_logs_out(live_server, browser_page, panel):
    page, _ = browser_page
    log_in(page, live_server)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id == 'main-content'")
    page.goto(live_server.url + reverse("admin:index"))
    tab_to(page, "owner")
    page.keyboard.press("Enter")
    page.locator("#account-menu").wait_for(state="visible")
    tab_to(page, "Log out")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.goto(live_server.url + reverse("admin:index"))
    assert reverse("admin:login") in page.url


def test_the_keyboard_sets_a_filter_and_closes_the_filters(live_server, browser_page, panel):
    page, _ = browser_page
    page.set_viewport_size({"width": 1280, "height": 800})
    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:verification_message_changelist"))
    tab_to(page, "Filters")
    page.keyboard.press("Enter")
    page.locator("#changelist-filter").wait_for(state="visible")
    page.keyboard.press("Escape")
    page.locator("#changelist-filter").wait_for(state="hidden")
    wait_until(lambda: "Filters" in focused(page), "the focus is back")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.name == 'from'")
    page.locator("#changelist-filter [name=status]").focus()
    page.keyboard.type("Failed")
    tab_to(page, "Apply")
    page.keyboard.press("Enter")
    page.wait_for_url("**status=failed*")
    assert "channel" not in page.url  # what was left empty is in no address
    assert page.get_by_text("Status: Failed").is_visible()


def test_the_keyboard_opens_the_menu_of_a_phone(live_server, browser_page, panel):
    page, _ = browser_page
    page.set_viewport_size({"width": 390, "height": 844})
    log_in(page, live_server)
    assert not page.get_by_role("link", name="Messages", exact=True).is_visible()
    tab_to(page, "Menu")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Messages", exact=True).wait_for(state="visible")
    page.wait_for_function("document.activeElement.ariaLabel == 'Close the menu'")


def test_no_table_of_the_overview_is_cut_off_on_a_phone(live_server, browser_page, panel):
    page, _ = browser_page
    page.set_viewport_size({"width": 390, "height": 844})
    log_in(page, live_server)
    page.locator(".ww-table").first.wait_for()
    widths = "[...document.querySelectorAll('.ww-wide')].map(each => each.scrollWidth - each.clientWidth)"
    assert set(page.evaluate(widths)) <= {0}


def test_icons_are_not_read_out(live_server, browser_page, panel):
    page, _ = browser_page
    log_in(page, live_server)
    assert page.get_by_role("link", name="Decision log", exact=True).count() == 1
    assert page.locator(".material-symbols-outlined:not([aria-hidden])").count() == 0
