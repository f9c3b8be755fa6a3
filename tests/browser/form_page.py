"""The page of another origin that shows the form, under a strict policy of contents, and what tests ask of it."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager

from django.conf import settings as configured

from tests import factories
from tests.conftest import ROOT

# The test server's static files carry no CORS headers, so the page serves the module from its own origin.
FOLDER = ROOT / "static" / "watchword-verify" / configured.FORM_VERSION
INTEGRITY = (FOLDER / "integrity.txt").read_text().strip()
NUMBER, CODE = "+4915112345678", "493817"
TEST_LOGINS = {NUMBER: CODE, "+4915187654321": "2468", "ada@example.com": "975310"}
VENDORS = {
    "turnstile": "https://challenges.cloudflare.com",
    "hcaptcha": "https://js.hcaptcha.com",
    "recaptcha": "https://www.google.com",
}
POLICY = (
    "default-src 'none'; script-src 'self' {service} {vendors}; style-src 'self'; connect-src 'self' {service}; "
    "img-src data: {service}"
)
PAGE = """<!doctype html><html lang="en" {html}><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>Shop</title><link rel="icon" href="data:,">
<script type="module" crossorigin src="/form/watchword-verify.js" integrity="{integrity}"></script>
<script type="module" src="/shop.js"></script>
<main><h1>Log in</h1>
<watchword-verify service="{service}" api-key="{api_key}" country="DE" {attributes}></watchword-verify></main>"""
APP = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title><link rel="icon" href="data:,">
<main></main><script type="module" src="/app.js"></script>"""
SCRIPT = """window.events = [];
for (const name of ["sent", "verified", "error", "expired", "elsewhere"])
  document.querySelector("watchword-verify").addEventListener(name, ({ detail }) => events.push([name, detail]));
"""


class Page:
    """The page with the form, in a browser: ``open`` it with the tag's attributes."""

    def __init__(self, page, complaints, origin, service, project):
        self.page, self.complaints, self.origin, self.service, self.project = page, complaints, origin, service, project
        self.attributes = self.html = ""
        self.files = {}  # what is served in place of the page and its script

    def open(self, attributes="", html=""):
        self.attributes, self.html = attributes, html
        self.page.goto(self.origin)
        return self

    def content(self, path):
        if path in self.files:
            return self.files[path]
        if path == "/shop.js":
            return "text/javascript", SCRIPT
        if path.startswith("/form/"):
            kind = "text/javascript" if path.endswith(".js") else "application/json"
            return kind, (FOLDER / path.removeprefix("/form/")).read_text()
        given = {"service": self.service, "integrity": INTEGRITY, "api_key": self.project.api_key}
        return "text/html", PAGE.format(attributes=self.attributes, html=self.html, **given)

    @property
    def events(self):
        return self.page.evaluate("events")

    def names(self):
        return [name for name, _ in self.events]

    def button(self, name):
        return self.page.get_by_role("button", name=name)

    @property
    def code(self):
        return self.page.get_by_role("textbox", name="Code")

    @property
    def alert(self):
        return self.page.get_by_role("alert")

    def send(self, number=NUMBER):
        self.page.get_by_role("textbox", name="Phone number").fill(number)
        self.button("Send code").click()

    def reach_code(self, number=NUMBER):
        self.open()
        self.send(number)
        self.code.wait_for()
        return self

    def type(self, code):
        self.code.press_sequentially(code)

    def says(self, text):
        self.alert.filter(has_text=text).wait_for()

    def is_verified(self):
        self.page.get_by_text("Confirmed").first.wait_for()

    def look_again(self):
        """The user comes back to the tab."""
        self.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    def kept(self):
        return self.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")


@contextmanager
def served(browser_page, service):
    """The page, on an origin that its project lists."""
    project = factories.project(channels=("sms", "voice", "email"))
    for to, code in TEST_LOGINS.items():
        project.test_login(to, code)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = made.content(self.path)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            policy = POLICY.format(service=service, vendors=" ".join(VENDORS.values()))
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://localhost:{server.server_port}"
        project.set(origins=[origin])
        made = Page(*browser_page, origin, service, project)
        yield made
        server.shutdown()
