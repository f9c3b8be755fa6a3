"""What the settings' pages do with scripts: pickers, presets, fields that others make relevant."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests import factories
from tests.browser.test_admin import PASSWORD, log_in
from verification.admin.base.current_project import section_address
from verification.contrib.hosted import colours
from verification.models import Membership
from verification.services.projects.protection_presets import preset_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]


@pytest.fixture
def project():
    project = factories.project("Shop", channels=("sms",)).row
    Membership.objects.create(project=project, user=User.objects.create_user("owner", password=PASSWORD, is_staff=True))
    return project


def save(page):
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("was changed successfully").wait_for()


def test_countries_are_found_ticked_pasted_and_taken_away(live_server, browser_page, project):
    page, complaints = browser_page
    log_in(page, live_server)
    page.goto(live_server.url + section_address(project, "countries"))
    picker = page.get_by_role("group", name="Countries")
    search = picker.get_by_role("searchbox")
    search.fill("moroc")
    picker.get_by_role("checkbox", name="Morocco").check()
    search.fill("+49")
    search.press("ArrowDown")
    page.keyboard.press("Space")
    assert page.locator("#id_countries").input_value() == "MA\nDE"
    page.get_by_text("Paste a list").click()
    page.fill("#id_countries", "Germany, fr")
    picker.get_by_role("button", name="Remove Germany").click()
    assert "Selected: 1" in picker.get_by_role("status").inner_text()
    save(page)
    project.refresh_from_db()
    assert (project.countries, complaints) == (["FR"], [])


def test_a_language_without_a_built_in_text_can_be_added(live_server, browser_page, project):
    page, _ = browser_page
    log_in(page, live_server)
    page.goto(live_server.url + section_address(project, "codes"))
    picker = page.get_by_role("group", name="Languages")
    picker.get_by_role("searchbox").fill("pt-BR")
    picker.get_by_role("checkbox").first.check()
    picker.get_by_role("searchbox").fill("german")
    picker.get_by_role("checkbox", name="German").check()
    save(page)
    project.refresh_from_db()
    assert project.languages == ["pt-BR", "de"]


def test_a_preset_fills_the_fields_and_tells_what_changes(live_server, browser_page, project):
    page, complaints = browser_page
    log_in(page, live_server)
    page.goto(live_server.url + section_address(project, "protection"))
    page.get_by_role("radio", name="Strict").check()
    assert "Numbers with one prefix: 10 → 5" in page.get_by_text("Changes when you save").locator("..").inner_text()
    page.get_by_text("SMS pumping", exact=True).click()
    page.fill("#id_guard_prefix_numbers", "6")
    assert page.get_by_role("radio", name="Custom").is_checked()
    page.fill("#id_guard_prefix_numbers", "5")
    assert page.get_by_role("radio", name="Strict").is_checked()
    save(page)
    project.refresh_from_db()
    assert (preset_of(project), complaints) == ("strict", [])
    assert page.get_by_role("radio", name="Strict").is_checked()


def test_receipts_are_asked_about_once_they_are_on(live_server, browser_page, project):
    page, _ = browser_page
    log_in(page, live_server)
    add = reverse("admin:verification_provider_add", query={"project": project.pk, "as": "sms/http"})
    page.goto(live_server.url + add)
    secret = page.locator("#id_setting_receipt_secret")
    assert not secret.is_visible()
    page.locator("#id_setting_has_receipts").check()
    assert secret.is_visible()
    page.locator("#id_setting_method").select_option("GET")
    assert not page.locator("#id_setting_body").is_visible()


@pytest.mark.parametrize("colour", ["#ffd400", "#4f46e5", "#0f766e", "#fefefe", "#000000", "#808080"])
def test_the_preview_of_a_colour_is_what_the_hosted_page_makes_of_it(live_server, browser_page, project, colour):
    page, complaints = browser_page
    log_in(page, live_server)
    page.goto(live_server.url + reverse("admin:verification_project_show_hosted_page", args=(project.pk,)))
    page.fill("#id_accent", colour)
    assert page.locator(".ww-colour-picker").input_value() == colour
    read = """found => found.map(({style}) => [style.backgroundColor, style.color].map(text =>
        text && "#" + text.match(/[0-9]+/g).map(part => Number(part).toString(16).padStart(2, "0")).join("")))"""
    light, light_link, dark, dark_link = page.locator(".ww-colour-sample > span").evaluate_all(read)
    assert light == [colours.filled(colour), colours.on_filled(colour)]
    assert (light_link[1], dark[0], dark_link[1]) == (
        *(colours.on_light(colour), colours.on_dark(colour), colours.on_dark(colour)),
    )
    notes = page.locator(".ww-colour-preview small").all_inner_texts()
    is_adjusted = colours.filled(colour) != colour or colours.on_light(colour) != colour
    assert ("adjusted for contrast" in notes[0]) is is_adjusted and complaints == []
