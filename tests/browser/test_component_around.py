"""The form's challenges, what people see and hear of it, and its use in frameworks."""

import subprocess

import pytest

from tests.browser.form_page import APP, CODE, FOLDER, NUMBER, VENDORS
from tests.browser.test_access import AXE, JUDGE
from tests.conftest import ROOT
from tests.fakes.siteverify import SECRET, SITE_KEY, Siteverify
from verification.models import Session
from verification.services.projects.settings import seal_secret
from verification.services.texts.rendering import languages

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser,
    pytest.mark.xdist_group("form in the browser"),
]


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
        secret = seal_secret(form.project.row, "challenge_secret", SECRET)
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
    secret = seal_secret(form.project.row, "challenge_secret", SECRET)
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
