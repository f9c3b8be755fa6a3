"""The guide's page and server, word for word, on an origin of their own, with the live service: codes by e-mail and SMS
and from a bot. The demo of the same service shows all three sides.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from itertools import product
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.test_access import AXE, JUDGE
from tests.conftest import ROOT
from tests.fakes.http_server import FakeHttpServer
from tests.fakes.telegram import SECRET_HEADER, TOKEN, USERNAME, BotApi, contact, start
from tests.live import LiveService, free_port, wait_until

pytestmark = [pytest.mark.live, pytest.mark.browser, pytest.mark.xdist_group("form in the browser")]

GUIDE = (ROOT / "docs" / "component.md").read_text()
CHAT = 777000333
# One start of Django for the project, its channels and its origin.
OPEN_SHOP = """
import json, sys
from verification.services.providers import accounts
from verification.services.projects import projects

gateway, bot_api, token, username, origin = sys.argv[1:]
new = projects.create_project(name="Shop")
bot = {"token": token, "username": username, "base_url": bot_api}
ids = {}
for channel, kind, values in (
    ("sms", "http", {"url": gateway + "/sms"}),
    ("messenger_a", "telegram_bot", bot),
    ("email", "http", {"url": gateway + "/email"}),
):
    made = accounts.add_provider(project=new.project, channel=channel, provider_type=kind, name=channel, values=values)
    ids[channel] = made.pk
projects.set_project(project=new.project, values={"origins": origin})
print(json.dumps({"bot": ids["messenger_a"], "api_key": new.api_key, "secret_key": new.secret_key}))
"""


def block(language):
    """The guide's one whole program of this language."""
    [found] = re.findall(rf"^ +```{language}\n(.*?)^ +```$", GUIDE, re.DOTALL | re.MULTILINE)
    return re.sub(r"^ {3}", "", found, flags=re.MULTILINE)


class Shop:
    def __init__(self, service, gateway, api, origin, made):
        self.service, self.gateway, self.api, self.origin = service, gateway, api, origin
        self.bot, self.api_key, self.secret_key = made["bot"], made["api_key"], made["secret_key"]

    def code_for(self, to):
        def sent():
            bodies = [asked.json() for asked in list(self.gateway.requests)]
            return [body["code"] for body in bodies if body["to"] == to]

        return wait_until(sent, "the code arrives")[-1]

    def update(self, body):
        """Telegram's call of our webhook."""
        hook = self.api.hook
        headers = {SECRET_HEADER: hook["secret_token"]}
        assert self.service.call("POST", urlsplit(hook["url"]).path, body, headers=headers)[0] == 200


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    home = tmp_path_factory.mktemp("component")
    live = LiveService(home, web_processes=1)
    port = free_port()
    origin = f"http://localhost:{port}"
    with FakeHttpServer() as gateway, BotApi() as api:
        try:
            live.start()
            made = json.loads(live.python(OPEN_SHOP, gateway.url, api.url, TOKEN, USERNAME, origin))
            done = live.run("telegram", str(made["bot"]), "--json", BASE_URL="https://codes.example")
            assert done.returncode == 0, done.stderr
            url = live.environment["BASE_URL"]
            page = block("html").replace("http://127.0.0.1:8000", url).replace("ww_api_...", made["api_key"])
            (home / "index.html").write_text(page)
            (home / "server.py").write_text(block("python"))
            told = {"WATCHWORD_URL": url, "WATCHWORD_SECRET_KEY": made["secret_key"], "PORT": str(port)}
            server = subprocess.Popen([sys.executable, "server.py"], cwd=home, env={**os.environ, **told})
            try:
                wait_until(lambda: is_open(port), "the shop serves its page")
                yield Shop(live, gateway, api, origin, made)
            finally:
                server.kill()
                server.wait()
        finally:
            live.stop()


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def open_page(page, shop):
    page.goto(shop.origin)


def type_number(page, number):
    page.get_by_label("Country").select_option("DE")
    page.get_by_role("textbox", name="Phone number").press_sequentially("0" + number.removeprefix("+49"))


def enter(page, code):
    page.get_by_role("textbox", name="Code").press_sequentially(code)


def test_an_email_address_is_verified(shop, browser_page):
    page, _ = browser_page
    open_page(page, shop)
    page.get_by_text("E-mail", exact=True).click()
    page.get_by_role("textbox", name="E-mail address").fill("ada@example.com")
    page.get_by_role("button", name="Send code").click()
    page.get_by_role("textbox", name="Code").wait_for()
    enter(page, shop.code_for("ada@example.com"))
    page.get_by_text("Hello ada@example.com").wait_for()


def test_a_number_is_verified_by_sms(shop, browser_page):
    page, _ = browser_page
    open_page(page, shop)
    type_number(page, "+4915112345678")
    page.get_by_role("button", name="Send code").click()
    page.get_by_role("textbox", name="Code").wait_for()
    enter(page, shop.code_for("+4915112345678"))
    page.get_by_text("Hello +4915112345678").wait_for()


def test_a_number_is_verified_by_the_bot_and_the_page_sees_that_it_was_started(shop, browser_page):
    page, _ = browser_page
    open_page(page, shop)
    type_number(page, "+4915187654321")
    page.get_by_text("Telegram").click()
    page.get_by_role("button", name="Send code").click()
    link = page.get_by_role("link", name="Open Telegram")
    [payload] = parse_qs(urlsplit(link.get_attribute("href")).query)["start"]
    page.reload()
    link.wait_for()
    shop.update(start(CHAT, payload))
    shop.update(contact(CHAT, "+4915187654321"))
    page.get_by_role("textbox", name="Code").wait_for()

    def codes():
        keyboards = [sent["reply_markup"].get("inline_keyboard") for sent in shop.api.sent_to(CHAT)]
        return [rows[0][0]["copy_text"]["text"] for rows in keyboards if rows]

    enter(page, wait_until(codes, "the bot sends the code")[-1])
    page.get_by_text("Hello +4915187654321").wait_for()


MAKE_DEMO = "from verification.services.maintenance import demo; demo.ensure_demo(demo.path())"
LOOKS = tuple(product(("light", "dark"), (1280, 390)))  # schemes, and widths of a window in pixels
WIDE = "document.documentElement.scrollWidth > innerWidth"


def faults_of(page):
    """Return what axe finds, and the widths that scroll sideways, in light and dark, on a desk and a phone."""
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        found += [(scheme, width, rule) for rule in page.evaluate(JUDGE)]
        found += [(scheme, width, "scrolls sideways")] if page.evaluate(WIDE) else []
    return found


def test_the_demo_shows_the_message_and_what_the_server_is_told(shop, browser_page):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix var/npm axe-core@4.10.3")
    page, complaints = browser_page
    shop.service.python(MAKE_DEMO)
    page.goto(shop.service.environment["BASE_URL"] + "/demo/")
    page.evaluate(AXE.read_text())
    page.get_by_role("textbox", name="Phone number").wait_for()
    found = {"entry": faults_of(page)}
    type_number(page, "+4915112345699")
    page.get_by_role("button", name="Send code").click()
    page.get_by_role("textbox", name="Code").wait_for()
    message = page.get_by_role("listitem").filter(has_text="+4915112345699")
    code = message.locator(".code").inner_text()
    found["code"] = faults_of(page)
    enter(page, code)
    result = page.get_by_role("status").filter(has_text="200 OK")
    result.get_by_text('"phone": "+4915112345699"').wait_for()
    found["verified"] = faults_of(page)
    assert {step: faults for step, faults in found.items() if faults} == {}
    assert complaints == []
    page.get_by_role("button", name="Verify another user").click()
    page.get_by_role("textbox", name="Phone number").wait_for()
    page.get_by_text("Waiting for a verify token").wait_for()
