"""A browser for the pages that need the database."""

import shutil

import pytest
from django.db import connection

PATIENCE = 60_000  # milliseconds, of each wait in a page: the machine may be busy


@pytest.fixture(scope="package")
def chromium():
    """One Chromium for the files of this folder that a test process runs one after the other."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        pytest.skip("No Chromium is installed.")
    from playwright.sync_api import sync_playwright

    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright runs an event loop in this thread, in which Django would refuse to use the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
        connection.close()  # the one of the event loop, which pytest-django does not know of


@pytest.fixture
def browser_page(chromium):
    """A page of a browser that knows nothing of earlier tests, and everything its console complained about."""
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page, complaints
    context.close()


@pytest.fixture
def form(live_server, settings, browser_page):
    """The form on a page of another origin."""
    from tests.browser import form_page  # not before Django is set up

    settings.BASE_URL = live_server.url
    settings.ALTCHA_COST = 100  # iterations of a try, so that a busy machine solves a puzzle at once
    with form_page.served(browser_page, live_server.url) as made:
        yield made
