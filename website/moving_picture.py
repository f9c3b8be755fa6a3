"""The moving picture of README: a number is typed, its SMS fails, WhatsApp brings the code, the user is verified.

It is taken of a real service, which it starts in a folder of its own: the demo page, with a project whose SMS
vendor refuses every message. The order of fall-back goes on to WhatsApp, whose messages the inbox shows. A line above
says what happens, and what the picture does not need is hidden. Needs Chromium and Pillow.

    python -m website.moving_picture
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import django

from benchmarks.common.kept import migrated

INTO = Path("docs/images")
PORT = 8_470
FRAME_SECONDS = 0.15
LONGEST_SECONDS = 0.6  # of a picture while something is awaited
TYPED_SECONDS = 0.25  # after a character
READ_SECONDS = 2.5  # to read what has changed
HELD_SECONDS = 4.0  # of the last frame, before it begins anew
REFUSED_AFTER_SECONDS = 2.0  # so that the user sees the code on its way by SMS
READY_SECONDS = 60
QUALITY = 70
CAPTIONS = (
    "A user types a number",
    "The code goes out by SMS",
    "The SMS fails: WhatsApp brings the code",
    "The user enters the code",
    "Your server has its proof",
)
STYLE = """
.bar, .lead, .again, .wide > :not(h2, .result) { display: none !important; }
main { padding: 1.5rem; }
h1 { margin-bottom: 1.25rem; }
watchword-verify::part(ways) { display: none; }
.result { margin: 0; }
.message:not(.new) { display: none; }
.sides:not(:has(.new)) #empty { display: block !important; }
"""


@dataclass(frozen=True)
class Look:
    """One way of looking at the demo. ``number`` is reserved for fiction, and each look has its own."""

    name: str
    scheme: str
    number: str
    width: int
    height: int
    style: str
    pixels: int  # of a picture for each of the page


DESK = """
.sides { grid-template: auto 1fr / 24rem minmax(0, 1fr); gap: 1.5rem 2rem; }
.sides > :first-child { grid-row: 1 / 3; }
.wide { grid-column: 2; }
"""
PHONE = """
main { padding: 1rem; }
h1 { min-height: 2.4em; margin-bottom: 0.75rem; font-size: 1.3rem; }
.sides { gap: 1.25rem; }
h2, .sides #empty, .wide:not(:has(.good)) { display: none !important; }
"""
LOOKS = (
    Look("light", "light", "2125550199", 896, 560, DESK, 2),
    Look("dark", "dark", "2125550198", 896, 560, DESK, 2),
    Look("phone-light", "light", "2125550197", 390, 680, PHONE, 2),
    Look("phone-dark", "dark", "2125550196", 390, 680, PHONE, 2),
)


class Refusing(BaseHTTPRequestHandler):
    """An SMS vendor who refuses every message, after a while."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(REFUSED_AFTER_SECONDS)
        self.send_response(400)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def prepare(vendor: str) -> None:
    """Make a shop whose SMS fail and whose codes then go by WhatsApp, and hand its keys to the demo page."""
    from verification.models import FallbackStep
    from verification.services.maintenance.demo import path
    from verification.services.projects.projects import create_project
    from verification.services.providers.accounts import add_provider

    new = create_project(name="Corner Shop")
    values = {"url": vendor, "body": '{"to": "{to}", "text": "{text}"}'}
    add_provider(project=new.project, channel="sms", provider_type="http", name="Northwind", values=values)
    add_provider(project=new.project, channel="messenger_b", provider_type="inbox", name="Inbox", values={})
    for position, channel in enumerate(("sms", "messenger_b")):
        FallbackStep.objects.create(project=new.project, position=position, channel=channel, wait_seconds=5)
    keys = {"api_key": new.api_key, "secret_key": new.secret_key, "webhook_secret": new.webhook_secret}
    path().write_text(json.dumps({"project": new.project.pk, **keys, "admin_user": "", "admin_password": ""}))


@contextmanager
def served() -> Iterator[str]:
    """Run ``up`` for the time of a block, and hand it the address."""
    address = f"http://127.0.0.1:{PORT}"
    service = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--port", str(PORT), "--workers", "1"], stdout=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                urllib.request.urlopen(f"{address}/readyz", timeout=2)  # noqa: S310  (our own)
                break
            except OSError:
                if time.monotonic() > deadline or service.poll() is not None:
                    raise
                time.sleep(0.2)
        yield address
    finally:
        service.send_signal(signal.SIGINT)
        service.wait()


def frames(address: str, look: Look) -> Iterator[tuple[bytes, float]]:
    """Go through a verification and yield each picture with the seconds that it is shown."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": look.width, "height": look.height},
            color_scheme=look.scheme,  # type: ignore[arg-type]
            device_scale_factor=look.pixels,
            locale="en-US",
            bypass_csp=True,  # for the style
            reduced_motion="reduce",  # a cursor that blinks makes many frames
        )
        captions = iter(CAPTIONS)

        def tell() -> None:
            page.evaluate("text => { document.querySelector('h1').textContent = text; }", next(captions))

        page.goto(f"{address}/demo/", wait_until="load")
        page.add_style_tag(content=STYLE + look.style)
        form = page.locator("watchword-verify")
        number = form.locator("input[type=tel]").first
        number.wait_for()
        tell()
        yield page.screenshot(), 1.5
        for place in range(0, len(look.number), 2):
            number.press_sequentially(look.number[place : place + 2])
            yield page.screenshot(), TYPED_SECONDS
        form.get_by_role("button", name="Send code").click()
        code = form.locator("input[autocomplete=one-time-code]").first
        code.wait_for()
        tell()
        yield from _until(page, lambda: form.locator("[part=note]").count() > 0)
        tell()
        yield from _until(page, lambda: page.locator("#inbox .new").count() > 0)
        yield page.screenshot(), READ_SECONDS
        tell()
        for digit in page.locator("#inbox .new .code").first.inner_text():
            code.press_sequentially(digit)
            yield page.screenshot(), TYPED_SECONDS
        yield from _until(page, lambda: page.locator("#result.good").count() > 0)
        tell()
        yield page.screenshot(), HELD_SECONDS
        browser.close()


def _until(page: Any, is_done: Any) -> Iterator[tuple[bytes, float]]:
    """Yield pictures until something is seen, each for as long as it took, unless the machine is busy."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        began = time.monotonic()
        page.wait_for_timeout(FRAME_SECONDS * 1_000)
        taken = page.screenshot()
        yield taken, min(time.monotonic() - began, LONGEST_SECONDS)
        if is_done():
            return
    raise RuntimeError("The service did not do what the picture shows.")


def write(taken: list[tuple[bytes, float]], path: Path) -> int:
    """Write an animated WebP; a frame like the one before only lengthens that. Return its bytes."""
    from PIL import Image

    kept: list[tuple[bytes, Any, float]] = []
    for png, seconds in taken:
        image = Image.open(io.BytesIO(png)).convert("RGB")
        if kept and kept[-1][0] == image.tobytes():
            kept[-1] = (*kept[-1][:2], kept[-1][2] + seconds)
        else:
            kept.append((image.tobytes(), image, seconds))
    images = [image for _, image, _ in kept]
    times = [round(seconds * 1_000) for *_, seconds in kept]
    images[0].save(path, save_all=True, append_images=images[1:], duration=times, loop=0, quality=QUALITY, method=6)
    return path.stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m website.moving_picture", description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, default=INTO)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as vendor:
        threading.Thread(target=vendor.serve_forever, daemon=True).start()
        os.chmod(home, 0o755)  # noqa: S103  (PostgreSQL runs as another user)
        os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", WATCHWORD_HOME=home)
        django.setup()
        with migrated():
            prepare(f"http://127.0.0.1:{vendor.server_port}/")
        with served() as address:
            for look in LOOKS:
                taken = list(frames(address, look))
                print(f"{write(taken, options.into / f'verification-{look.name}.webp'):,} bytes, {len(taken)} frames")
        vendor.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
