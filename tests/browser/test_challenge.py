"""The real ALTCHA widget, on a page of another origin: it fetches a puzzle, solves it, and its answer opens a session.

The widget comes from npm (see .ci/run); the page is served with the content security policy that the guide names.
"""

import http.server
import re
import threading
from functools import partial
from pathlib import Path

import pytest

from tests import factories
from tests.conftest import ROOT
from verification.models import Session

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("form in the browser"),
]

WIDGET = Path(__file__).parents[2] / "var/npm/node_modules/altcha/dist/main/altcha.min.js"
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self' blob:; style-src 'unsafe-inline'; img-src data:; "
    "connect-src {service}"
)
PAGE = """<!doctype html><title>Shop</title><link rel="icon" href="data:,">
<script type="module" src="/altcha.min.js"></script>
<script type="module" src="/shop.js"></script>
<main></main><output></output>"""
SCRIPT = """
const service = "%(service)s";
const call = (path, body) => fetch(service + path, {
  method: body ? "POST" : "GET",
  headers: { "content-type": "application/json", "x-api-key": "%(api_key)s" },
  body: body && JSON.stringify(body),
}).then((answer) => answer.json());
const { challenge } = await call("/session/settings");
const widget = document.createElement("altcha-widget");
widget.setAttribute("auto", "onload");
widget.setAttribute("challenge", challenge.api_key);
widget.addEventListener("verified", async (event) => {
  const answer = await call("/session/create", { to: "+4915112345678", challenge_token: event.detail.payload });
  document.querySelector("output").textContent = answer.session_id ?? answer.code;
});
document.querySelector("main").append(widget);
"""


# The guide's own function, tried twice and then with a puzzle that is not there.
GUIDE = (ROOT / "docs" / "integrate.md").read_text()
[SOLVE] = re.findall(r'altcha\.min\.js"></script>\n<script type="module">\n(.*?)</script>', GUIDE, re.DOTALL)
SOLVING = (
    SOLVE
    + """
const { challenge } = await fetch("%(service)s/session/settings", { headers: { "x-api-key": "%(api_key)s" } })
  .then((answer) => answer.json());
const said = [];
for (const api_key of [challenge.api_key, challenge.api_key, "%(service)s/nowhere"]) {
  said.push(await solve({ api_key }).then((answer) => `solved ${answer.length > 100}`, (error) => error.message));
}
const left = document.querySelectorAll("altcha-widget").length;
document.querySelector("output").textContent = [...said, `${left} widgets`].join("; ");
"""
)


class Shop(http.server.BaseHTTPRequestHandler):
    """Serves ``files``: the path, its type and its content."""

    def __init__(self, files, policy, *args):
        self.files, self.policy = files, policy
        super().__init__(*args)

    def do_GET(self):
        kind, content = self.files[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", self.policy)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def shop(live_server, settings):
    """A page on an origin of its own, of a project that always asks."""
    if not WIDGET.exists():
        pytest.skip("ALTCHA's widget is not installed: npm install --prefix var/npm altcha@3.2.2")
    settings.BASE_URL = live_server.url
    settings.ALTCHA_COST = 100
    project = factories.project(challenge_mode="always")
    given = {"service": live_server.url, "api_key": project.api_key}
    files = {
        "/": ("text/html", PAGE.encode()),
        "/shop.js": ("text/javascript", (SCRIPT % given).encode()),
        "/form": ("text/html", PAGE.replace("<main>", "<form></form><main>").replace("shop.js", "form.js").encode()),
        "/form.js": ("text/javascript", (SOLVING % given).encode()),
        "/altcha.min.js": ("text/javascript", WIDGET.read_bytes()),
    }
    handler = partial(Shop, files, POLICY.format(service=live_server.url))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://localhost:{server.server_port}"
        project.set(origins=[origin])
        yield origin
        server.shutdown()


def test_the_widgets_answer_opens_a_session(shop, browser_page):
    page, complaints = browser_page
    page.goto(shop)
    page.wait_for_selector("output:not(:empty)", state="attached")
    session = Session.objects.get()
    assert page.inner_text("output") == session.id
    assert session.is_challenged
    assert complaints == []


def test_the_guides_solve_settles_also_on_failure_and_leaves_no_widget_behind(shop, browser_page):
    page, _ = browser_page
    page.goto(f"{shop}/form")
    page.wait_for_selector("output:not(:empty)", state="attached")
    told = "solved true; solved true; The check did not work. Try again.; 0 widgets"
    assert page.inner_text("output") == told
