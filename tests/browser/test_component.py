"""The form on a page of another origin, under a strict policy of contents: what users meet, and what goes wrong."""

import http.server
import json
import subprocess
import threading

import pytest
from django.conf import settings as configured
from django.test import Client

from tests import factories
from tests.browser.test_access import AXE, JUDGE
from tests.conftest import ROOT
from tests.fakes.siteverify import SECRET, SITE_KEY, Siteverify
from tests.live import wait_until
from verification.models import Session
from verification.services.projects.settings import seal_challenge_secret
from verification.services.texts.rendering import languages

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
]
# The test server's static files carry no CORS headers, so the page serves the module from its own origin.
FOLDER = ROOT / "static" / "watchword-verify" / configured.VERSION
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
for (const name of ["sent", "verified", "error", "expired"])
  document.querySelector("watchword-verify").addEventListener(name, ({ detail }) => events.push([name, detail]));
"""


class Page:
    """The page with the form, in a browser: ``open`` it with the tag's attributes."""

    def __init__(self, page, complaints, origin, service, project):
        self.page, self.complaints, self.origin, self.service, self.project = page, complaints, origin, service, project
        self.attributes = self.html = ""
        self.files = {}  # what is served in place of the page and its script

    def open(self, attributes="", html=""):
        self.page.set_default_timeout(10_000)
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


@pytest.fixture
def form(live_server, settings, browser_page):
    settings.BASE_URL = live_server.url
    settings.ALTCHA_COST = 100  # iterations of a try, so that a busy machine solves a puzzle at once
    project = factories.project(channels=("sms", "voice", "email"))
    for to, code in TEST_LOGINS.items():
        project.test_login(to, code)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = made.content(self.path)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            policy = POLICY.format(service=live_server.url, vendors=" ".join(VENDORS.values()))
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://localhost:{server.server_port}"
        project.set(origins=[origin])
        made = Page(*browser_page, origin, live_server.url, project)
        yield made
        server.shutdown()


def call(form, path, **body):
    """A call of another client of the project."""
    headers = {"x-api-key": form.project.api_key}
    return Client().post(path, json.dumps(body), content_type="application/json", headers=headers).json()


def session_id():
    return Session.objects.get().id


# --- the way through --------------------------------------------------------------------------------------------------


def test_the_keyboard_alone_leads_to_the_token_and_nothing_is_complained_of(form):
    form.open()
    keyboard = form.page.keyboard
    form.page.get_by_role("textbox", name="Phone number").focus()
    keyboard.type("0151 12345678")
    keyboard.press("Enter")
    form.code.wait_for()
    keyboard.type(CODE)  # the field has the focus, and a whole code is sent by itself
    form.is_verified()
    assert form.names() == ["sent", "verified"]
    [_, detail] = form.events[-1]
    assert (len(detail["verify_token"]), detail["is_test"]) == (36, True)
    assert form.complaints == []


def test_the_arrow_keys_go_from_phone_to_email_and_back(form):
    form.open()
    form.page.get_by_role("radio", name="Phone").focus()
    form.page.keyboard.press("ArrowRight")
    form.page.get_by_role("textbox", name="E-mail address").wait_for()
    form.page.keyboard.press("ArrowLeft")
    form.page.get_by_role("textbox", name="Phone number").wait_for()


def test_a_pasted_message_is_read_and_sent(form):
    form.reach_code()
    form.page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData("text", text);
            const code = document.querySelector("watchword-verify").shadowRoot.querySelector("#code");
            code.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, cancelable: true}));
        }""",
        f"{CODE} is your Shop code. It is valid for 3 min.",
    )
    form.is_verified()


def test_a_code_of_an_sms_that_the_browser_hands_over_is_sent(form):
    form.page.add_init_script(
        "window.OTPCredential = class {};"
        f"navigator.credentials.get = async asked => ({{code: asked.otp.transport[0] == 'sms' ? '{CODE}' : ''}});"
    )
    form.open()
    form.send()
    form.is_verified()


def test_a_given_recipient_cannot_be_changed(form):
    form.open('to="ada@example.com"')
    form.button("Send code").click()
    form.code.wait_for()
    assert form.button("Change").count() == 0
    form.type("975310")
    form.is_verified()


def test_the_code_goes_out_again_over_a_channel_once_its_time_has_run_down(form):
    form.reach_code()
    assert form.button("SMS").get_attribute("aria-disabled") == "true"
    form.button("Voice call").click()
    form.page.get_by_text("Voice call").first.wait_for()
    wait_until(lambda: len(form.events) == 2, "the second code is sent")
    assert [detail["channel"] for _, detail in form.events] == ["sms", "voice"]


def test_the_channel_of_the_last_verification_is_chosen_at_first(form):
    form.open()
    form.page.get_by_text("Voice call").click()
    form.send()
    form.code.wait_for()
    form.type(CODE)
    form.is_verified()
    form.open()
    assert form.page.get_by_role("radio", name="Voice call").is_checked()


# --- wrong codes and ends ---------------------------------------------------------------------------------------------


def test_a_wrong_code_tells_the_tries_left_and_the_last_one_ends_the_session(form):
    form.reach_code("+4915187654321")  # a code of four characters has three tries
    for left in (2, 1):
        form.type("1111")
        form.says(f"Tries left: {left}")
    assert form.code.get_attribute("aria-invalid") == "true"
    assert form.code.input_value() == ""
    form.type("1111")
    form.says("Too many wrong codes")
    form.button("Start again").click()
    form.page.get_by_role("textbox", name="Phone number").wait_for()
    assert form.kept() == "[{},{}]"


def test_a_session_that_was_verified_elsewhere_is_told(form):
    form.reach_code()
    call(form, "/session/check", session_id=session_id(), code=CODE)
    form.look_again()
    form.says("already used")
    assert form.events[-1][1]["code"] == "session_verified"


def test_a_session_that_is_over_is_told_and_a_new_one_opens(form):
    form.reach_code()
    factories.expire_everything()
    form.look_again()
    form.says("no longer valid")
    assert form.names() == ["sent", "error", "expired"]
    form.button("Start again").click()
    form.send()
    form.code.wait_for()


# --- reload, clock, network -------------------------------------------------------------------------------------------


def test_a_reload_goes_on_with_the_session_and_nothing_secret_is_kept(form):
    form.reach_code()
    form.type("11111")
    assert "11111" not in form.kept() and session_id() in form.kept()
    form.page.reload()
    form.code.wait_for()
    assert Session.objects.count() == 1
    form.type(CODE)
    form.is_verified()
    token = form.events[-1][1]["verify_token"]
    assert token not in form.kept() and session_id() not in form.kept()


def test_a_wrong_clock_changes_no_countdown(form):
    form.page.add_init_script("const now = Date.now; Date.now = () => now() + 3_600_000;")
    form.reach_code()
    assert form.page.get_by_text("Valid for 2:").or_(form.page.get_by_text("Valid for 3:00")).count() == 1
    form.page.reload()
    form.page.get_by_text("Valid for 2:").wait_for()


def test_without_a_network_the_user_is_told_and_the_next_try_works(form):
    form.open()
    form.page.route("**/session/create", lambda route: route.abort())
    form.send()
    form.says("No connection")
    form.page.unroute("**/session/create")
    form.button("Send code").click()
    form.code.wait_for()


def test_a_page_that_finds_no_network_at_first_can_be_tried_again(form):
    form.page.route("**/session/settings", lambda route: route.abort())
    form.open()
    form.says("No connection")
    form.page.unroute("**/session/settings")
    form.button("Try again").click()
    form.page.get_by_role("textbox", name="Phone number").wait_for()


def test_a_slow_answer_is_told_of_while_it_is_waited_for(form):
    form.open()
    waiting = []
    form.page.route("**/session/create", lambda route: waiting.append(route))
    form.send()
    form.page.get_by_role("status").filter(has_text="Still working").wait_for(state="attached")
    waiting[0].continue_()
    form.code.wait_for()


def test_a_check_is_never_repeated_by_itself(form):
    asked = []
    form.reach_code()
    form.page.route("**/session/check", lambda route: (asked.append(1), route.abort()))
    form.type(CODE)
    form.says("No connection")
    assert len(asked) == 1


def test_a_page_without_a_key_is_told_so(form):
    form.project.api_key = ""
    form.open()
    form.says("not set up correctly")


def test_the_console_tells_what_to_do_where_the_origin_is_not_listed(form):
    form.project.set(origins=["https://shop.example"])
    form.open()
    form.says("No connection")
    assert any(f"list {form.origin} in the project's origins" in complaint for complaint in form.complaints)


# --- challenges -------------------------------------------------------------------------------------------------------


def test_our_own_challenge_is_solved_without_a_word(form):
    form.project.set(challenge_mode="always")
    form.open()
    form.send("+4915112345679")  # no test login, which is never asked
    form.code.wait_for()
    assert Session.objects.get().is_challenged
    assert form.complaints == []


STUB = """
const answer = (_, options) => options.callback("good-%(vendor)s-" + Math.random());
window.turnstile = window.hcaptcha = { render: answer };
window.grecaptcha = { ready: act => act(), execute: async () => { throw Error("no v3"); }, render: answer };
"""


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendors_challenge_is_loaded_on_demand_and_its_answer_sent(form, vendor, settings):
    loaded = []

    def script(route):
        loaded.append(route.request.url)
        route.fulfill(content_type="text/javascript", body=STUB % {"vendor": vendor})

    form.page.route(f"{VENDORS[vendor]}/**", script)
    with Siteverify(vendor) as endpoint:
        settings.CHALLENGE_VERIFY_URLS = {vendor: endpoint.url}
        secret = seal_challenge_secret(form.project.row, SECRET)
        form.project.set(
            challenge_mode="always",
            challenge_provider=vendor,
            challenge_site_key=SITE_KEY,
            challenge_secret=secret,
            challenge_hosts=["shop.example"],
        )
        form.open()
        form.page.get_by_role("textbox", name="Phone number").wait_for()
        assert loaded == []
        form.send("+4915112345679")
        form.code.wait_for()
    assert len(loaded) == 1
    assert form.page.evaluate("document.querySelector('watchword-verify').childElementCount") == 0


def test_a_vendors_script_that_is_blocked_is_told(form):
    secret = seal_challenge_secret(form.project.row, SECRET)
    form.project.set(
        challenge_mode="always", challenge_provider="turnstile", challenge_site_key=SITE_KEY, challenge_secret=secret
    )
    form.page.route("https://challenges.cloudflare.com/**", lambda route: route.abort())
    form.open()
    form.send("+4915112345679")
    form.says("check against robots")


# --- seeing, hearing, reading -----------------------------------------------------------------------------------------


def test_what_happens_is_read_out(form):
    form.reach_code()
    form.page.get_by_role("status").filter(has_text=f"We sent a code to {NUMBER}").wait_for(state="attached")
    form.type("111111")
    form.says("This code is wrong. Tries left: 4.")
    assert form.code.get_attribute("aria-describedby") == "error"
    assert form.page.get_by_role("group", name="Enter the code").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_any_step(form, scheme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm install --prefix var/npm axe-core@4.10.3")
    form.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    source, found = AXE.read_text(), {}

    def judge(step):
        form.page.evaluate(source)
        found[step] = form.page.evaluate(JUDGE)

    form.open()
    form.page.get_by_role("textbox", name="Phone number").wait_for()
    judge("entry")
    form.send("12")
    form.says("does not look right")
    judge("refused")
    form.send()
    form.code.wait_for()
    judge("code")
    form.type("111111")
    form.says("This code is wrong")
    judge("wrong code")
    form.type(CODE)
    form.is_verified()
    judge("verified")
    assert {step: rules for step, rules in found.items() if rules} == {}


def test_arabic_runs_from_right_to_left_and_its_numbers_and_codes_do_not(form):
    form.page.set_viewport_size({"width": 390, "height": 844})
    form.open('language="ar"', html='dir="rtl"')
    form.page.get_by_role("textbox", name="رقم الهاتف").fill("٠١٥١١٢٣٤٥٦٧٨")
    form.button("إرسال الرمز").click()
    code = form.page.get_by_role("textbox", name="الرمز")
    code.wait_for()
    assert form.page.locator("[part=card]").get_attribute("dir") == "rtl"
    assert code.get_attribute("dir") == "ltr"
    assert form.page.evaluate("document.documentElement.scrollWidth") == 390
    code.press_sequentially("٤٩٣٨١٧")
    form.page.get_by_text("تم التأكيد").first.wait_for()
    assert Session.objects.get().language == "ar"


def test_the_form_speaks_the_pages_language(form):
    form.open()
    form.page.evaluate("document.documentElement.lang = 'sv-SE'; document.querySelector('watchword-verify').reset()")
    form.button("Skicka kod").wait_for()


def test_no_language_is_cut_off_on_the_smallest_phones(form):
    form.page.set_viewport_size({"width": 320, "height": 568})
    form.open()
    wide = []
    for language in languages():
        form.page.evaluate("tag => document.querySelector('watchword-verify').setAttribute('language', tag)", language)
        form.page.locator(f"[part=card]:lang({language}) #to").wait_for()
        if form.page.evaluate("document.documentElement.scrollWidth") > 320:
            wide.append(language)
    assert wide == []


# --- frameworks -------------------------------------------------------------------------------------------------------

NPM = ROOT / "var" / "npm" / "node_modules"


@pytest.mark.parametrize("entry", ["react/Login.jsx", "vue/main.js"])
def test_the_examples_are_built_and_log_in(form, entry, tmp_path):
    if not (NPM / "esbuild").exists() or not (NPM / "react-dom").exists() or not (NPM / "vue").exists():
        pytest.skip("npm install --prefix var/npm esbuild@0.28.2 react@19.2.0 react-dom@19.2.0 vue@3.5.22")
    target = tmp_path / "app.js"
    builder = ["node", str(ROOT / "tests/browser/build_examples.mjs")]
    sources = [NPM, FOLDER / "watchword-verify.js", ROOT / "examples" / entry, target]
    subprocess.run([*builder, *map(str, sources)], check=True)
    app = target.read_text().replace("https://codes.example.com", form.service)
    form.files = {
        "/": ("text/html", APP),
        "/app.js": ("text/javascript", app.replace("ww_api_...", form.project.api_key)),
    }
    form.page.route("**/login", lambda route: route.fulfill(json={"phone": NUMBER}))
    form.open()
    form.send()
    form.code.wait_for()
    form.type(CODE)
    form.page.get_by_role("heading", name=f"Hello {NUMBER}").wait_for()
