"""The hosted page in a real Chromium, with the guide's servers word for word on an origin of their own."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
from django.test import Client

from tests import factories
from tests.browser.test_access import AXE, JUDGE
from tests.conftest import ROOT
from tests.live import free_port, wait_until
from verification.models import Session
from verification.services.projects import hosted_page

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("form in the browser"),
]

GUIDE = (ROOT / "docs" / "hosted-page.md").read_text()
TO, CODE = "ada@example.com", "493817"


def block(language):
    """The guide's one whole program of this language."""
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    return found


def answers(port):
    connection = http.client.HTTPConnection("localhost", port, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status in (302, 303)
    except OSError:
        return False
    finally:
        connection.close()


def findings(page):
    """The findings of axe on the page as it is."""
    page.evaluate(AXE.read_text())
    return page.evaluate(JUDGE)


class Hosted:
    """A project with its page, and a browser."""

    def __init__(self, service, browser_page, port):
        self.service, (self.page, self.complaints), self.port = service, browser_page, port
        self.back = f"http://localhost:{port}/verified"
        self.project = factories.project(name="Corner Shop", channels=("sms", "voice", "email"))
        self.project.test_login(TO, CODE)
        self.project.test_login("+4915112345678", CODE)
        self.save(is_enabled=True, return_addresses=[self.back], accent="#0f766e")
        self.address = f"{service}/verify/{self.project.row.public_id}"

    def save(self, **values):
        hosted_page.save(self.project.row, values)

    def open(self, **query):
        more = "".join(f"&{name}={value}" for name, value in query.items())
        self.page.goto(f"{self.address}?return_to={self.back}{more}")
        return self

    def reach_code(self):
        self.page.get_by_text("E-mail", exact=True).click()
        self.page.get_by_role("textbox", name="E-mail address").fill(TO)
        self.page.get_by_role("button", name="Send code").click()
        self.code.wait_for()

    @property
    def code(self):
        return self.page.get_by_role("textbox", name="Code")

    @contextmanager
    def shop(self, command, file, folder):
        """Run the guide's server on the return address's origin."""
        (folder / file).write_text(block("php" if file.endswith(".php") else "python"))
        told = {"PORT": str(self.port), "HOSTED_PAGE": self.address, "WATCHWORD_URL": self.service}
        told["WATCHWORD_SECRET_KEY"] = self.project.secret_key
        with (folder / "said").open("w") as said:
            server = subprocess.Popen(
                [*command, file], cwd=folder, env={**os.environ, **told}, stdout=said, stderr=subprocess.STDOUT
            )
            try:
                wait_until(lambda: answers(self.port), "the shop's server answers")
                yield folder / "said"
            finally:
                server.kill()
                server.wait()


@pytest.fixture
def hosted(live_server, settings, browser_page):
    settings.BASE_URL = live_server.url
    return Hosted(live_server.url, browser_page, free_port())


SHOPS = {
    "python": ("server.py", lambda port: [sys.executable]),
    "php": ("server.php", lambda port: ["php", "-S", f"localhost:{port}"]),
}


@pytest.mark.requirement(114)
@pytest.mark.parametrize("language", SHOPS)
def test_the_guides_server_gets_who_it_is_and_no_address_holds_the_token(hosted, language, tmp_path):
    file, command = SHOPS[language]
    if not shutil.which(command(0)[0]):
        pytest.skip(f"There is no {language} on this machine.")
    page, asked = hosted.page, []
    page.on("request", lambda request: asked.append((request.url, request.headers.get("referer", ""))))
    with hosted.shop(command(hosted.port), file, tmp_path) as said:
        page.goto(f"http://localhost:{hosted.port}/")
        hosted.reach_code()
        hosted.code.press_sequentially(CODE)
        page.get_by_text(f'"email":"{TO}"').or_(page.get_by_text(f'"email": "{TO}"')).wait_for()
        assert page.url == hosted.back
        log = said.read_text()
    assert "verify_token" not in log
    assert not [url for url, _ in asked if "verify_token" in url]
    assert not [referrer for url, referrer in asked if url.startswith(hosted.back) and referrer]


@pytest.mark.requirement(115)
def test_a_server_that_did_not_send_the_user_there_refuses_the_token(hosted, tmp_path):
    with hosted.shop([sys.executable], "server.py", tmp_path):
        hosted.open(state="of-somebody-else").reach_code()
        hosted.code.press_sequentially(CODE)
        hosted.page.get_by_text("403").first.wait_for()


@pytest.mark.requirement(114)
def test_the_token_comes_back_in_the_fragment_where_the_project_says_so(hosted):
    hosted.save(hand_over="fragment")
    hosted.page.route(
        f"{hosted.back}*", lambda route: route.fulfill(body="<title>Back</title>", content_type="text/html")
    )
    hosted.open(state="a%20%26b").reach_code()
    hosted.code.press_sequentially(CODE)
    hosted.page.wait_for_url(re.compile(r"/verified#verify_token=[0-9a-f-]{36}&state=a\+%26b$"))


def test_the_guides_script_sends_the_token_of_the_fragment_and_removes_it_from_the_address(hosted):
    hosted.save(hand_over="fragment")
    page = hosted.page

    def shop(route):
        is_page = route.request.method == "GET"
        route.fulfill(body=f"<title>Shop</title>{block('html')}" if is_page else "{}", content_type="text/html")

    page.route(f"http://localhost:{hosted.port}/**", shop)
    page.goto(f"http://localhost:{hosted.port}/")
    page.evaluate("sessionStorage.setItem('state', 'drawn-by-the-shop')")
    hosted.open(state="drawn-by-the-shop").reach_code()
    with page.expect_request("**/login") as asked:
        hosted.code.press_sequentially(CODE)
    assert list(asked.value.post_data_json) == ["verify_token"]
    assert page.url == hosted.back


def test_it_survives_a_reload_in_the_middle_and_a_second_tab(hosted):
    hosted.page.route(f"{hosted.back}*", lambda route: route.fulfill(body=route.request.post_data))
    hosted.open(state="one").reach_code()
    hosted.page.reload()
    hosted.code.wait_for()
    with hosted.page.expect_popup() as opened:
        hosted.page.evaluate("void open(location.href)")
    other = opened.value
    other.get_by_role("textbox", name="Code").wait_for()
    hosted.code.press_sequentially(CODE)
    hosted.page.get_by_text("state=one").wait_for()
    other.locator("#title").filter(has_text="You already confirmed in another window.").wait_for()
    hosted.page.go_back()
    hosted.page.get_by_role("button", name="Send code").wait_for()
    assert hosted.page.evaluate("document.querySelector('#back').elements.verify_token.value") == ""


def test_a_session_that_was_verified_elsewhere_is_told(hosted):
    hosted.open().reach_code()
    body = {"session_id": Session.objects.get().id, "code": CODE}
    headers = {"x-api-key": hosted.project.api_key}
    assert Client().post("/session/check", body, content_type="application/json", headers=headers).status_code == 200
    hosted.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    hosted.page.get_by_role("alert").filter(has_text="already used").wait_for()


def test_two_projects_pages_in_one_tab_do_not_share_a_session(hosted):
    hosted.open().reach_code()
    other = factories.project(name="Other", channels=("sms", "email"))
    hosted_page.save(other.row, {"is_enabled": True, "return_addresses": [hosted.back]})
    hosted.page.goto(f"{hosted.service}/verify/{other.row.public_id}?return_to={hosted.back}")
    hosted.page.get_by_role("button", name="Send code").wait_for()


def test_the_buttons_have_the_owners_colour(hosted):
    hosted.open()
    button = hosted.page.get_by_role("button", name="Send code")
    button.wait_for()
    assert button.evaluate("button => getComputedStyle(button).backgroundColor") == "rgb(15, 118, 110)"


def test_without_scripts_it_says_what_it_needs(hosted):
    page = hosted.page.context.browser.new_page(java_script_enabled=False)
    page.goto(f"{hosted.address}?return_to={hosted.back}")
    page.get_by_text("allow JavaScript on this page").wait_for()
    page.close()


def test_nothing_is_complained_of_and_axe_finds_nothing(hosted):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix var/npm axe-core@4.10.3")
    for query in ({}, {"lang": "ar"}):
        hosted.open(**query)
        hosted.page.locator("watchword-verify").get_by_role("button").first.wait_for()
        assert findings(hosted.page) == []
    hosted.page.emulate_media(color_scheme="dark")
    assert findings(hosted.page) == []
    assert hosted.complaints == []
    hosted.page.set_viewport_size({"width": 390, "height": 844})
    for language in ("en", "ar"):
        hosted.page.goto(f"{hosted.address}?return_to=https://evil.example/&lang={language}")
        assert findings(hosted.page) == []
