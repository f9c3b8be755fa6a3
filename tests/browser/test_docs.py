"""The pages of the documentation in a real browser: they render, and nothing is refused or reported."""

import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from tests.browser.conftest import PATIENCE
from tests.browser.test_access import AXE, JUDGE
from tests.conftest import load_application
from verification.api.reference import views

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("form in the browser")]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Silent(WSGIRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(django_db_blocker):
    """The address at which the pages are served; they need no database."""
    with django_db_blocker.unblock():  # the application looks there for the ring of keys, whether it is there or not
        application = load_application()
    with make_server("127.0.0.1", 0, application, Server, Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def page(request, chromium, address):
    """A page whose complaints are collected in ``page.complaints``; refusals by the CSP are among them."""
    page = chromium.new_page(base_url=address, color_scheme=getattr(request, "param", "light"))
    page.set_default_timeout(PATIENCE)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("requestfailed", lambda failed: page.complaints.append(failed.url))
    page.on("request", lambda sent: sent.url.startswith((address, "data:")) or page.complaints.append(sent.url))
    yield page
    page.close()


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_the_reference_shows_every_operation(page):
    page.goto("/docs/")
    operations = sum(len(methods) for methods in views.description()["paths"].values())
    for shown, count in ((".side a", operations), (".opblock", operations + len(views.description()["webhooks"]))):
        page.locator(shown).nth(count - 1).wait_for()
        assert page.locator(shown).count() == count
    assert page.complaints == []


def test_a_link_at_the_side_opens_its_operation(page):
    page.goto("/docs/")
    page.get_by_role("link", name="Check the code").click()
    page.wait_for_selector("#operations-Session-checkSession.is-open .responses-wrapper")
    assert page.url.endswith("#/Session/checkSession")
    assert page.complaints == []


def test_an_address_leads_to_its_operation(page):
    page.goto("/docs/#/Manual/sendMessage")
    page.wait_for_selector("#operations-Manual-sendMessage.is-open")
    assert page.complaints == []


def test_trying_out_reaches_the_service(page):
    page.goto("/docs/#/Manual/listManualChannels")
    operation = page.locator("#operations-Manual-listManualChannels.is-open")
    operation.get_by_role("button", name="Try it out").click()
    with page.expect_response("**/manual/channels") as response:
        operation.get_by_role("button", name="Execute").click()
    assert response.value.json()["code"] == "missing_api_key"


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_an_anchor_leads_to_its_error(page):
    page.goto("/docs/errors/#channel_timeout")
    section = page.locator("#channel_timeout")
    assert "channel_timeout" in section.inner_text()
    assert section.evaluate("element => element.matches(':target')")
    assert page.complaints == []


@pytest.mark.parametrize("page", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_on_the_page_of_a_code(page):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: npm install --prefix var/npm axe-core@4.10.3")
    page.goto("/docs/errors/")
    page.locator("#channel_timeout h3 a").click()
    page.wait_for_url("**/docs/errors/channel_timeout/")
    assert page.locator(".endpoints a").first.get_attribute("href") == "/docs/#/Session/sendSession"
    assert page.complaints == []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(AXE.read_text())  # as the page's policy lets no script in
        assert page.evaluate(JUDGE) == []


@pytest.mark.parametrize("path", ["/docs/", "/docs/errors/", "/docs/errors/verify_token_not_found/"])
def test_a_page_fits_a_phone(page, path):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(path)
    page.wait_for_selector(".side a", state="attached")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
