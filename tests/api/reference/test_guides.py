"""The guides and settings under /docs/."""

import os
import re
from collections import Counter
from html import unescape

import pytest
from django.apps import apps

from tests.conftest import ROOT
from verification.api.reference import guides, search
from verification.api.reference.views import description
from verification.models.project_settings import SETTABLE

PAGES = ["/docs/guides/", "/docs/settings/", *(f"{guides.ADDRESS}{slug}/" for slug in guides.paths())]


def body(client, address):
    response = client.get(address)
    assert response.status_code == 200, address
    return response.getvalue().decode()


def test_every_guide_stands_in_the_index_and_no_page_for_engineers():
    listed = {entry.path for entries in guides.index().values() for entry in entries}
    written = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} - {guides.INDEX}
    engineering = {f"docs/engineering/{path.name}" for path in (ROOT / "docs/engineering").glob("*.md")}
    assert engineering <= set(guides.paths().values()) and not engineering & {*guides.guides().values(), *listed}
    left_out = {path for path, app in guides.APPS.items() if not apps.is_installed(app)}
    assert listed >= written - left_out and not listed & left_out
    assert all((ROOT / path).is_file() for path in listed)
    assert all(entry.about for entries in guides.index().values() for entry in entries)


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(client, page):
    text = body(client, page)
    for href in map(unescape, re.findall(r'<a [^>]*href="(/[^"]*|#[^"]*)"', text)):
        address, _, anchor = href.partition("#")
        target = body(client, address) if address and not address.startswith("/docs/openapi") else text
        assert not anchor or f'id="{anchor}"' in target, href
    for picture in re.findall(r'<img src="(/docs/[^"]+)"', text):
        assert client.get(picture)["Content-Type"].startswith("image/")


def links(path):
    """The links of a guide as it is written, with the files that they name."""
    prose = re.sub(r"^ *```.*?^ *```$|`[^`\n]*`", "code", (ROOT / path).read_text(), flags=re.DOTALL | re.MULTILINE)
    for text, target in re.findall(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)[^)]*\)", prose):
        if not re.match(r"[a-z]+:", target):
            yield (
                text,
                target,
                target if target.startswith("/") else os.path.relpath((ROOT / path).parent / target, ROOT),
            )


@pytest.mark.parametrize("slug", guides.paths())
def test_no_link_of_a_guide_falls_back_to_the_index(slug):
    """One to a file that is not served is plain text."""
    path = guides.paths()[slug]
    if not path.endswith(".md"):
        return
    served = {file: guides.address_of(file) for file in guides.paths().values()} | {guides.INDEX: guides.ADDRESS}
    leads = Counter(href.partition("#")[0] for href in re.findall(r'<a href="([^"]+)"', guides.read(slug).html))
    wanted = Counter(target if target.startswith("/") else served.get(file) for _, target, file in links(path))
    assert leads[guides.ADDRESS] == wanted[guides.ADDRESS]
    assert {address for address in wanted if address} <= set(leads)


def test_a_link_to_a_file_that_is_not_served_is_plain_text():
    page = guides.read("engineering/runbook").html
    assert 'href="/docs/guides/deploy/prometheus/rules.yml/"' in page
    assert not re.search(r'href="\.\./|href=""', "".join(guides.read(slug).html for slug in guides.paths()))


def found(query):
    return search.search(query, description())


def test_search_finds_an_operation_by_what_it_does_and_by_its_path():
    assert found("list events")[0].address == "/docs/#/Events/listEvents"
    assert "/docs/#/Session/createSession" in [hit.address for hit in found("session/create")]
    assert all("`" not in hit.excerpt and "**" not in hit.excerpt for hit in found("/manual/send"))


def test_search_finds_the_section_with_all_words_and_says_where_there_is_none(client):
    hits = found("pgbouncer transaction mode")
    assert hits
    assert all(
        word in f"{hit.page} {hit.heading} {section_text(hit)}".casefold()
        for hit in hits
        for word in ("pgbouncer", "transaction", "mode")
    )
    assert hits[0].address in unescape(body(client, "/docs/guides/?q=PgBouncer+transaction+mode"))
    assert "Nothing in the guides, the API, errors and settings holds all" in body(
        client, "/docs/guides/?q=zebra+crossing"
    )


def test_search_finds_error_codes_and_settings_by_their_names_first(client):
    for query in ("channel_timeout", "channel timeout"):
        assert found(query)[0].address == "/docs/errors/channel_timeout/"
    for name in SETTABLE:
        assert found(name)[0].address == f"/docs/settings/#{name}"
    assert 'href="/docs/settings/#traffic_guard"' in body(client, "/docs/guides/?q=traffic_guard")


def section_text(hit):
    slug, _, anchor = hit.address.removeprefix(guides.ADDRESS).partition("/#")
    return next(section.text for section in guides.read(slug).sections if section.anchor == anchor)


def test_a_searched_text_is_escaped(client):
    assert "<script>alert" not in body(client, "/docs/guides/?q=%3Cscript%3Ealert(1)")


@pytest.mark.parametrize(
    "name", ["../manage.py/", "images/../../config/settings.png", "%2e%2e/README.png", "none.png", f"{'a' * 300}.png"]
)
def test_nothing_outside_the_guides_is_served(client, name):
    assert client.get(f"/docs/guides/{name}").status_code == 404


def test_every_setting_of_a_project_is_described(client):
    text = body(client, "/docs/settings/")
    assert re.findall(r'<section class="error" id="(\w+)">', text) == list(SETTABLE)
