"""The moving picture of README: a number is typed, its SMS fails, WhatsApp brings the code, the user is verified.

It is taken of a real service, which it starts in a folder of its own: the demo page, with a project whose SMS
vendor is down. The order of fall-back goes on to WhatsApp, whose messages the inbox shows. Needs Chromium and Pillow.

    python -m benchmarks.moving_picture
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
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

from benchmarks.kept import migrated

INTO = Path("docs/images")
NUMBERS = {"light": "2125550199", "dark": "2125550198"}  # reserved for fiction
PORT = 8_470
SIZE = {"width": 1120, "height": 640}
WIDE = 840  # pixels of the picture
FRAME_SECONDS = 0.15
HELD_SECONDS = 3.0  # of the last frame, before it begins anew
READY_SECONDS = 60
QUALITY = 60


def prepare() -> None:
    """Make a shop whose SMS vendor is down and whose codes then go by WhatsApp, and hand its keys to the demo page."""
    from verification.models import FallbackStep
    from verification.services.maintenance.demo import path
    from verification.services.projects.projects import create_project
    from verification.services.providers.accounts import add_provider

    new = create_project(name="Corner Shop")
    vendor = {"url": "http://127.0.0.1:9/", "body": '{"to": "{to}", "text": "{text}"}'}  # where nobody listens
    add_provider(project=new.project, channel="sms", provider_type="http", name="Northwind", values=vendor)
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


def frames(address: str, scheme: str) -> Iterator[tuple[bytes, float]]:
    """Go through a verification and yield each picture with the seconds that it is shown."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme=scheme, locale="en-US")  # type: ignore[arg-type]
        page.goto(f"{address}/demo/", wait_until="load")
        form = page.locator("watchword-verify")
        number = form.locator("input[type=tel]").first
        number.wait_for()
        page.evaluate("() => window.scrollTo(0, 70)")
        yield page.screenshot(), 1.0
        typed = NUMBERS[scheme]
        for place in range(0, len(typed), 2):
            number.press_sequentially(typed[place : place + 2])
            yield page.screenshot(), FRAME_SECONDS
        form.get_by_role("button", name="Send code").click()
        yield from _until(page, lambda: page.locator("#inbox li").count() > 0)
        yield page.screenshot(), 1.5
        code = form.locator("input[autocomplete=one-time-code]").first
        for digit in page.locator("#inbox .code").first.inner_text():
            code.press_sequentially(digit)
            yield page.screenshot(), 2 * FRAME_SECONDS
        yield from _until(page, lambda: page.locator("#result.good").count() > 0)
        yield page.screenshot(), 1.0
        page.locator("#server").scroll_into_view_if_needed()
        page.evaluate("() => document.querySelector('#result').scrollIntoView({block: 'center'})")
        yield page.screenshot(), HELD_SECONDS
        browser.close()


def _until(page: Any, is_done: Any) -> Iterator[tuple[bytes, float]]:
    for _ in range(100):
        page.wait_for_timeout(FRAME_SECONDS * 1_000)
        yield page.screenshot(), FRAME_SECONDS
        if is_done():
            return
    raise RuntimeError("The service did not do what the picture shows.")


def write(taken: list[tuple[bytes, float]], path: Path) -> int:
    """Write an animated WebP; a frame like the one before only lengthens that. Return its bytes."""
    from PIL import Image

    kept: list[tuple[bytes, Any, float]] = []
    for png, seconds in taken:
        image = Image.open(io.BytesIO(png)).convert("RGB")
        image = image.resize((WIDE, WIDE * image.height // image.width), Image.Resampling.LANCZOS)
        if kept and kept[-1][0] == image.tobytes():
            kept[-1] = (*kept[-1][:2], kept[-1][2] + seconds)
        else:
            kept.append((image.tobytes(), image, seconds))
    images = [image for _, image, _ in kept]
    times = [round(seconds * 1_000) for *_, seconds in kept]
    images[0].save(path, save_all=True, append_images=images[1:], duration=times, loop=0, quality=QUALITY, method=6)
    return path.stat().st_size


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moving_picture", description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, default=INTO)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)  # noqa: S103  (PostgreSQL runs as another user)
        os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", WATCHWORD_HOME=home)
        for scheme in ("light", "dark"):
            if scheme == "light":
                django.setup()
                with migrated():
                    prepare()
            with served() as address:
                taken = list(frames(address, scheme))
            print(f"{write(taken, options.into / f'verification-{scheme}.webp'):,} bytes, {len(taken)} frames")
            time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
