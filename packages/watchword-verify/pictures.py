"""Pictures of every state of the form and of the hosted page, in light and dark, on a phone, and from right to left.

    python pictures.py FOLDER --url http://127.0.0.1:8000 --key ww_api_… --hosted http://127.0.0.1:8000/verify/…?return_to=…

The key is that of a test project, as ``manage.py createproject Tests --sandbox`` makes one: its recipients bring each
state about (docs/testing.md). FOLDER gets a picture of each state and a sheet of all states for each look; with
``--guide`` the sheets of docs/component.md instead. Needs playwright and Chromium. For whoever changes the looks: open
each sheet and judge it.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, sync_playwright

# Area codes of North America. A recipient whose bot was started once is no use for the picture of that state again.
# fmt: off
AREAS = [
    201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 224, 225, 228,
    229, 231, 234, 239, 240, 248, 251, 252, 253, 254, 256, 260, 262, 267, 269, 270, 276, 281, 301, 302,
    303, 304, 305, 307, 308, 309, 310, 312, 313, 314, 315, 316, 317, 318, 319, 320,
]
# fmt: on
VERSION = json.loads((Path(__file__).parent / "package.json").read_text())["version"]
CODE, WRONG_CODE = "424242", "000000"
# Pixels of the window: the hosted page fills it, and of a page with the form alone the picture is as long as the form.
HOSTED_HEIGHT, FORM_HEIGHT = 800, 100
RESEND_MS = 61_000  # until a channel may send again, and a second more
STAY = "HTMLFormElement.prototype.submit = () => {};"  # instead of going back to the owner
TAG = """<!doctype html><html lang="{language}" dir="{dir}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Shop</title>
<style>body {{ margin: 24px; background: light-dark(#f6f6f8, #111114); }} watchword-verify {{ margin: 0 auto; }}</style>
<script type="module" src="/static/watchword-verify/{version}/watchword-verify.js"></script>
<watchword-verify api-key="{key}" country="US" {attributes}></watchword-verify>"""
SHEET = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 16px; font: 14px system-ui; background: {background}; color: {text}; }}
body {{ display: flex; flex-wrap: wrap; gap: 16px; }}
figure {{ margin: 0; }} img {{ display: block; max-width: {width}px; }}</style>{figures}"""
GUIDE_SHEET = """<!doctype html><meta charset="utf-8"><style>
body {{ display: grid; grid-template-columns: repeat(4, {width}px); margin: 0; background: {background}; }}
figure {{ margin: 0; }} figcaption {{ display: none; }} img {{ display: block; width: {width}px; }}</style>{figures}"""


@dataclass(frozen=True)
class Look:
    """One way of looking at the form."""

    name: str
    language: str = "en"
    scheme: str = "light"
    width: int = 520

    @property
    def dir(self) -> str:
        return "rtl" if self.language in ("ar", "fa") else "ltr"


LOOKS = [
    Look("light"),
    Look("dark", scheme="dark"),
    Look("phone", language="de", width=390),
    Look("rtl-phone", language="ar", width=390),
    Look("rtl-dark", language="fa", scheme="dark"),
]
GUIDE_STATES = ("entry", "wrong-number", "email", "code", "wrong-code", "moved", "bot", "verified")
GUIDE = [
    (Look("component-light", width=376), GUIDE_STATES),
    (Look("component-dark", scheme="dark", width=376), GUIDE_STATES),
    (Look("component-rtl", language="ar", width=376), ("entry", "code", "wrong-code", "moved")),
]


class Form:
    """The form in a browser's page, and what a user does there. It is found by its parts, as words differ."""

    def __init__(self, page: Page, area: int) -> None:
        self.page, self.area = page, area

    def number(self, digits: str) -> str:
        return f"+1{self.area}55501{digits}"

    def part(self, name: str) -> object:
        return self.page.locator(f"[part~={name}]")

    def is_ready(self) -> None:
        self.page.locator("#to").or_(self.page.locator("[part=title] ~ [part=error]")).first.wait_for()

    def send(self, digits: str, channel: str = "sms") -> None:
        self.page.locator("#to").fill(self.number(digits))
        self.page.locator(f"input[name=channel][value={channel}]").check(force=True)
        self.page.locator("button[type=submit]").click()

    def reach_code(self, digits: str = "00") -> None:
        self.send(digits)
        self.page.locator("#code").wait_for()

    def type(self, code: str) -> None:
        self.page.locator("#code").press_sequentially(code)

    def is_refused(self) -> None:
        self.page.locator("[part=error]:not(:empty)").wait_for()


def loading(form: Form) -> None:
    pass  # its answers are held back: see main


def email(form: Form) -> None:
    form.page.locator("input[name=kind][value=email]").check(force=True)


def wrong_number(form: Form) -> None:
    form.page.locator("#to").fill("12")
    form.page.locator("button[type=submit]").click()
    form.is_refused()


def refused_recipient(form: Form) -> None:
    form.send("08")
    form.is_refused()


def too_many_sends(form: Form) -> None:
    form.send("09")
    form.is_refused()


def offline(form: Form) -> None:
    form.page.context.set_offline(True)
    form.send("00")
    form.is_refused()


def code(form: Form) -> None:
    form.reach_code()
    form.type(CODE[:2])


def wrong_code(form: Form) -> None:
    form.reach_code()
    form.type(WRONG_CODE)
    form.is_refused()


def unsent(form: Form) -> None:
    form.reach_code("03")
    form.is_refused()


def moved(form: Form) -> None:
    """The code went over the project's next channel, as the service would tell it."""
    ways = {"channels": [{"channel": "sms", "status": "failed"}, {"channel": "messenger_b", "status": "sent"}]}
    form.page.route("**/session/delivery?*", partial(serve, json.dumps(ways)))
    form.reach_code()
    form.page.locator("[part=note]").wait_for()


def resend(form: Form) -> None:
    form.reach_code()
    form.page.clock.fast_forward(RESEND_MS)


def locked(form: Form) -> None:
    form.reach_code("11")
    form.type(CODE)
    form.is_refused()


def expired(form: Form) -> None:
    form.reach_code("12")
    form.is_refused()


def bot(form: Form) -> None:
    """The user of this recipient starts the bot after seconds, and never has to again: so the start is not noticed."""
    form.page.route("**/session/channels?*", partial(hold, []))
    form.send("07", "messenger_a")
    form.page.locator("[part=waiting]").wait_for()


def challenge(form: Form) -> None:
    form.send("13")
    form.page.locator("[aria-busy=true]").wait_for()


def verified(form: Form) -> None:
    form.reach_code()
    form.type(CODE)
    form.page.locator("[part=result]").wait_for()


STATES: list[tuple[str, Callable[[Form], None]]] = [
    ("loading", loading),
    ("entry", Form.is_ready),
    ("email", email),
    ("wrong-number", wrong_number),
    ("refused", refused_recipient),
    ("too-many-sends", too_many_sends),
    ("offline", offline),
    ("challenge", challenge),
    ("code", code),
    ("wrong-code", wrong_code),
    ("unsent", unsent),
    ("moved", moved),
    ("resend", resend),
    ("bot", bot),
    ("locked", locked),
    ("expired", expired),
    ("verified", verified),
    ("set-up", lambda form: form.is_refused()),
]


def pages(
    browser: Browser, look: Look, area: int, given: argparse.Namespace, states: tuple[str, ...] = ()
) -> Iterator[tuple[str, Page]]:
    """Bring about each state of the form, or these, in a fresh browser's page, and yield it."""
    for name, reach in STATES:
        if states and name not in states:
            continue
        if given.hosted and name == "set-up":
            continue  # the page brings its own key
        held: list[Route] = []  # requests that get no answer while the picture is made
        context = browser.new_context(
            viewport={"width": look.width, "height": HOSTED_HEIGHT if given.hosted else FORM_HEIGHT},
            color_scheme=look.scheme,
            locale=look.language,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(30_000)  # milliseconds: the machine may be busy
        if name == "resend":
            page.clock.install()
        if name == "loading":
            page.route("**/session/settings*", partial(hold, held))
        if name == "challenge":  # the puzzle never comes, so the form goes on looking for it
            page.route("**/session/challenge*", partial(hold, held))
        key = "ww_api_unknown" if name == "set-up" else given.key
        if given.hosted:
            page.add_init_script(STAY)
            page.goto(f"{given.hosted}&lang={look.language}")
        else:
            html = TAG.format(language=look.language, dir=look.dir, key=key, version=given.version, attributes="")
            page.route("**/pictures", partial(serve, html))
            page.goto(f"{given.url}/pictures")
        form = Form(page, area)
        if name not in ("loading", "set-up"):
            form.is_ready()
        if name != "loading":
            reach(form)
        yield name, page
        for route in held:
            route.abort()
        context.close()


def hold(held: list[Route], route: Route) -> None:
    held.append(route)


def serve(text: str, route: Route) -> None:
    """Answer in the service's place, so that the page needs no origin of its own."""
    route.fulfill(body=text, content_type="application/json" if text.startswith("{") else "text/html")


def sheet(browser: Browser, look: Look, pictures: list[tuple[str, Path]], file: Path, html: str = SHEET) -> None:
    figures = "".join(
        f"<figure><figcaption>{name}</figcaption><img src='data:image/png;base64,"
        f"{base64.b64encode(path.read_bytes()).decode()}'></figure>"
        for name, path in pictures
    )
    width = 4 * look.width if html == GUIDE_SHEET else 4 * (look.width + 16) + 32
    page = browser.new_page(viewport={"width": width, "height": 100})
    background, text = ("#111114", "#fff") if look.scheme == "dark" else ("#f6f6f8", "#000")
    page.set_content(html.format(background=background, text=text, width=look.width, figures=figures))
    page.screenshot(path=file, full_page=True)
    page.close()


def guide(browser: Browser, areas: list[int], given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for (look, states), area in zip(GUIDE, areas, strict=False):
            made = {}
            for name, page in pages(browser, look, area, given, states):
                made[name] = Path(folder) / f"{look.name}-{name}.png"
                page.screenshot(path=made[name], full_page=True)
            pictures = [(name, made[name]) for name in states]
            sheet(browser, look, pictures, given.folder / f"{look.name}.png", GUIDE_SHEET)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--key", default="", help="The API key of a test project.")
    parser.add_argument("--hosted", default="", help="The hosted page with its return_to, in place of the tag alone.")
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--guide", action="store_true", help="The sheets of docs/component.md: FOLDER is docs/images.")
    parser.add_argument("--look", action="append", choices=[look.name for look in LOOKS], help="Left out: all.")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        areas = random.sample(AREAS, len(LOOKS))  # so that another run meets other recipients
        if given.guide:
            guide(browser, areas, given)
            return
        for look, area in zip(LOOKS, areas, strict=True):
            if given.look and look.name not in given.look:
                continue
            made = []
            for name, page in pages(browser, look, area, given):
                path = given.folder / f"{look.name}-{name}.png"
                page.screenshot(path=path, full_page=True)
                made.append((name, path))
            sheet(browser, look, made, given.folder / f"{look.name}.png")
            print(given.folder / f"{look.name}.png")
        browser.close()


if __name__ == "__main__":
    main()
