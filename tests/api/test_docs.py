"""The pages of the documentation."""

import re

import pytest

from verification.api.reference.error_guide import GUIDE, entries
from verification.errors import CATALOGUE

PAGES = ["/docs/", "/docs/errors/"]


def test_the_root_leads_to_the_documentation(client):
    assert client.get("/").headers["Location"] == "/docs/"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_nothing_from_elsewhere(client, page):
    text = client.get(page).content.decode()
    loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', text)
    assert loaded
    assert all(address.startswith("/static/") for address in loaded)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_allows_only_our_own_scripts(client, page):
    policy = dict(part.strip().split(" ", 1) for part in client.get(page)["Content-Security-Policy"].split(";"))
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_loads_is_there(client, page):
    for address in re.findall(r'"(/static/[^"]+)"', client.get(page).content.decode()):
        assert client.get(address).status_code == 200, address


def test_every_code_is_explained():
    assert GUIDE.keys() == CATALOGUE.keys()
    assert [entry.code for entry in entries()] == list(CATALOGUE)


def test_the_page_of_errors_has_an_anchor_for_every_code(client):
    text = client.get("/docs/errors/").content.decode()
    assert set(re.findall(r'<section class="error" id="(\w+)">', text)) == CATALOGUE.keys()
    for code, words in CATALOGUE.items():
        assert f'href="#{code}"' in text
        assert words.title.replace("'", "&#x27;") in text


@pytest.mark.django_db
def test_a_problem_leads_to_its_anchor(client):
    problem = client.get("/session/settings").json()
    assert problem["type"] == "http://testserver/docs/errors/#missing_api_key"


def test_texts_are_escaped():
    entry = next(entry for entry in entries() if entry.code == "invalid_code")
    assert "<code>attempts_left</code>" in entry.remedy_html


def test_each_detail_has_one_home():
    assert [code for code, words in CATALOGUE.items() if bool(words.detail) == bool(GUIDE[code].detail)] == []
