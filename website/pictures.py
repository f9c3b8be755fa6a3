"""The pictures of the panel that README, docs/console.md and its neighbour show: light, dark, and on a phone.

They are taken of a running service that holds a season, by Chromium, which also writes them as WebP. The same season
gives the same pages, up to the day on which it was made. A page is taken in all looks one after the other: to open an
alert makes it a read one, which the overview counts.

    python -m website.season --keep var/season
    WATCHWORD_HOME=var/season python manage.py up
    python -m website.pictures --of http://127.0.0.1:8000
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.contrib.public_demo.season import OWNER, PASSWORD, UNLUCKY
from verification.contrib.public_demo.season_rows import OPERATOR

INTO = Path("docs/images/console")
PANEL = "/admin/verification/"
WIDE, PHONE = (1280, 860), (390, 844)
ROW = "#result_list tbody :is(th, td) a"
FOUND = f"{PANEL}session/find/?q={UNLUCKY.replace('+', '%2B')}"
COSTLY = "{code} is your “{project}” code. It’s valid for {minutes} minutes, do not share it with anybody."
PREVIEW_MS = 3_000  # until a text that was typed is shown as it arrives
QUALITY = 0.6  # of WebP: letters stay sharp, and a page takes 15 to 40 KB


@dataclass(frozen=True)
class Look:
    name: str
    scheme: str
    size: tuple[int, int]
    pixels: int = 1  # of a picture for each of the page


LOOKS = (Look("light", "light", WIDE), Look("dark", "dark", WIDE), Look("phone", "light", PHONE))
README_PHONE = (390, 600)  # so that the text that follows it is near
README_LOOKS = (*LOOKS[:2], Look("phone", "light", README_PHONE, 2), Look("phone-dark", "dark", README_PHONE, 2))


@dataclass(frozen=True)
class Picture:
    """A page by its address, or the one to which a link on it leads.

    ``at`` is what the picture begins with, and ``typed`` is entered in the page's text.
    """

    name: str
    path: str
    who: str = OWNER
    link: str = ""  # a selector
    at: str = ""  # a selector
    typed: str = ""
    looks: tuple[Look, ...] = LOOKS


PICTURES = (
    Picture("overview", "/admin/", looks=README_LOOKS),
    Picture("figures", f"{PANEL}message/figures/?country=IN"),
    Picture("other-providers", f"{PANEL}message/figures/?country=IN", at=".ww-offers"),
    Picture("scorecard", f"{PANEL}provider/", link='tr:has-text("Kestrel") a:text("Scorecard")'),
    Picture("find", FOUND),
    Picture("story", FOUND, link=".ww-hits a"),
    Picture("alerts", f"{PANEL}alert/"),
    Picture("alert", f"{PANEL}alert/", link=ROW),
    Picture("messages", f"{PANEL}message/"),
    Picture("sessions", f"{PANEL}session/"),
    Picture("recipient", f"{PANEL}recipient/?q={UNLUCKY.replace('+', '%2B')}", link=ROW),
    Picture("guard", f"{PANEL}guardblock/"),
    Picture("lists", f"{PANEL}listentry/"),
    Picture("decisions", f"{PANEL}decision/"),
    Picture("audit", f"{PANEL}auditentry/"),
    Picture("project", f"{PANEL}project/", link=ROW),
    Picture("channel", f"{PANEL}channel/", link=ROW),
    Picture("providers", f"{PANEL}provider/"),
    Picture("texts", f"{PANEL}messagetemplate/"),
    Picture("text", f"{PANEL}messagetemplate/", link=".ww-texts a"),
    Picture("text-costly", f"{PANEL}messagetemplate/", link=".ww-texts a", typed=COSTLY, looks=LOOKS[:1]),
    Picture("trial", f"{PANEL}messagetemplate/", link="a:has-text('A/B test running')"),
    Picture("keys", f"{PANEL}apikey/"),
    Picture("switches", f"{PANEL}killswitch/", who=OPERATOR),
    Picture("ceilings", f"{PANEL}platform/", who=OPERATOR),
    Picture("rates", f"{PANEL}exchangerate/", who=OPERATOR),
    Picture("users", "/admin/auth/user/", who=OPERATOR),
)
TO_WEBP = """async ([png, quality]) => {
    const image = new Image(); image.src = "data:image/png;base64," + png; await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


def take(base: str, into: Path, names: list[str]) -> int:
    """Take the pictures and write them. Return their bytes together."""
    from playwright.sync_api import sync_playwright

    wanted = [each for each in PICTURES if not names or each.name in names]
    written = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        blank = browser.new_page()
        pages: dict[tuple[str, Look], Any] = {}
        for picture in wanted:
            for look in picture.looks:
                if (picture.who, look) not in pages:
                    pages[picture.who, look] = log_in(browser, base, picture.who, look)
                page = pages[picture.who, look]
                show(page, picture)
                png = base64.b64encode(page.screenshot()).decode()
                webp = base64.b64decode(blank.evaluate(TO_WEBP, [png, QUALITY]))
                (into / f"{picture.name}-{look.name}.webp").write_bytes(webp)
                written += len(webp)
        browser.close()
    return written


def log_in(browser: Any, base: str, who: str, look: Look) -> Any:
    """Return a page with a session of its own."""
    page = browser.new_page(
        base_url=base,
        color_scheme=look.scheme,
        viewport={"width": look.size[0], "height": look.size[1]},
        device_scale_factor=look.pixels,
        locale="en-GB",
    )
    page.goto("/admin/login/")
    page.fill("[name=username]", who)
    page.fill("[name=password]", PASSWORD)
    page.click("[type=submit]")
    page.wait_for_url("**/admin/")
    return page


def show(page: Any, picture: Picture) -> None:
    """Open the page of a picture, and bring its beginning to the top."""
    page.goto(picture.path, wait_until="load")
    if picture.link:
        page.goto(page.locator(picture.link).first.get_attribute("href"), wait_until="load")
    if picture.typed:
        page.fill("textarea[name=text]", picture.typed)
        page.wait_for_timeout(PREVIEW_MS)
    if picture.at:
        page.locator(picture.at).first.evaluate("each => each.closest('section').scrollIntoView({block: 'start'})")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m website.pictures", description=__doc__.partition("\n")[0])
    parser.add_argument("--of", required=True, help="the address of the service, such as http://127.0.0.1:8000")
    parser.add_argument("--into", type=Path, default=INTO, help="the folder of the pictures")
    parser.add_argument("names", nargs="*", help="the pictures to take; else all")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    print(f"{take(options.of, options.into, options.names):,} bytes in {options.into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
