"""The editor of message texts, in a real Chromium under the panel's own Content-Security-Policy."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests import factories, voices
from tests.browser.test_admin import PASSWORD, log_in
from verification.models import Membership, MessageTemplate

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("panel in the browser"),
]
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "static/verification/admin/texts.js"
CASES = json.loads((ROOT / "tests/services/texts/sizes.json").read_text())
LONG = ["x" * 160, "x" * 161, "x" * 152 + "€" + "x" * 152, "я" * 71, "я" * 66 + "🔐" + "я" * 66, "x" * 306 + "’"]


@pytest.fixture
def project():
    project = factories.project("Shop", channels=("sms", "email", "messenger_a", "voice")).row
    owner = User.objects.create_user("owner", password=PASSWORD, is_staff=True)
    Membership.objects.create(project=project, user=owner)
    return project


def editor(project, channel="sms", language="en"):
    query = {"project": project.pk, "channel": channel, "language": language}
    return reverse("admin:verification_messagetemplate_add", query=query)


def test_the_script_counts_as_the_server_does(browser_page):
    from verification.services.texts.sizes import alphabet, measure

    page, complaints = browser_page
    page.add_script_tag(path=SCRIPT, type="module")
    page.wait_for_function("globalThis.watchwordTexts")
    for text in [*(case["text"] for case in CASES), *LONG]:
        told = page.evaluate("([text, alphabet]) => watchwordTexts.measure(text, alphabet)", [text, alphabet()])
        size = measure(text)
        assert told == {
            "segments": size.segments,
            "line": size.line,
            "note": size.note,
            "parts": size.parts,
            "remedies": size.remedies,
        }
    assert complaints == []


def test_the_message_is_shown_and_counted_while_it_is_typed(live_server, browser_page, project):
    page, complaints = browser_page
    page.set_viewport_size({"width": 1280, "height": 900})
    log_in(page, live_server)
    page.goto(live_server.url + editor(project))
    assert "471836 is your Shop code" in page.locator(".ww-bubble").inner_text()

    page.fill("#id_text", "{code}, “{project}”: " + "valid for three minutes, do not share. " * 2)
    assert page.locator("[data-size=line]").inner_text().startswith("2 SMS")
    assert page.locator("mark").all_inner_texts() == ["“", "”"]
    page.get_by_role("button", name='Replace “ with "').click()
    page.get_by_role("button", name='Replace ” with "').click()
    assert page.locator("[data-size=line]").inner_text().startswith("1 SMS")

    page.fill("#id_text", "No code at evil.example")
    page.get_by_text("The placeholder {code} is missing.").wait_for()
    page.get_by_text("evil.example looks like a link").wait_for()

    page.fill("#id_text", "{code} from {project}")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("The text is now in use").wait_for()
    assert MessageTemplate.objects.get().text == "{code} from {project}"
    assert complaints == []


def test_a_mail_is_shown_as_it_looks(live_server, browser_page, project):
    page, complaints = browser_page
    log_in(page, live_server)
    page.goto(live_server.url + editor(project, "email"))
    page.fill("#id_text", "Welcome! {code}\n\nTeam of {project}")
    page.fill("#id_subject", "Hello from {project}")
    page.locator(".ww-mail strong", has_text="Hello from Shop").wait_for()
    page.frame_locator(".ww-mail iframe").get_by_text("Welcome! 471836").wait_for()
    assert complaints == []


def test_the_words_of_a_call_are_heard(live_server, browser_page, project, tmp_path, monkeypatch):
    page, complaints = browser_page
    log_in(page, live_server)
    voice = voices.install(tmp_path, monkeypatch)
    page.goto(live_server.url + editor(project, channel="voice", language="de"))
    page.fill("textarea", "Hallo, dein Code: {code}.")
    listen = page.locator("[data-listen]")
    page.wait_for_function("document.querySelector('[data-listen]').href.includes('Hallo')")
    with page.expect_response(lambda response: "/recording/" in response.url) as answered:
        listen.click()
    assert answered.value.status == 200 and voice.words.startswith("Hallo, dein Code: 4, 7")
    page.wait_for_function("document.querySelector('[data-listen] [aria-live]').textContent === 'Listen'")
    assert len(page.context.pages) == 1 and complaints == []


def test_a_voice_that_fails_says_so(live_server, browser_page, project, tmp_path, monkeypatch):
    page, _ = browser_page
    log_in(page, live_server)
    voices.install(tmp_path, monkeypatch).then("exit 1")
    page.goto(live_server.url + editor(project, channel="voice", language="de"))
    page.click("[data-listen]")
    page.wait_for_function("document.querySelector('[data-listen] [aria-live]').textContent.includes('Try again')")
