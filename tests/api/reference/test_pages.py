"""The pages of the documentation."""

import json
import re
from html import unescape

import pytest

from tests.conftest import ROOT
from verification.api.reference import error_guide, error_pages
from verification.core.error_codes import CATALOGUE

# Faults of a server or of the form itself, which it tells its users as "does not work at the moment".
UNTOLD = {
    "parse_error",
    "validation_error",  # of any field but the recipient's, which has a sentence for each kind
    "not_found",
    "message_not_found",
    "verify_token_not_found",
    "method_not_allowed",
    "idempotency_conflict",
    "verify_token_expired",
    "body_too_large",
    "unsupported_media_type",
    "internal_error",
    "service_unavailable",
}
PAGES = ["/docs/", "/docs/errors/", "/docs/errors/channel_timeout/"]


def test_the_root_leads_to_the_documentation(client):
    assert client.get("/").headers["Location"] == "/docs/"


@pytest.mark.requirement(110)
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


def test_the_page_of_errors_has_an_anchor_for_every_code(client):
    text = client.get("/docs/errors/").content.decode()
    assert set(re.findall(r'<section class="error" id="(\w+)">', text)) == CATALOGUE.keys()
    for code, words in CATALOGUE.items():
        assert f'href="#{code}"' in text and f'href="/docs/errors/{code}/"' in text
        assert words.title.replace("'", "&#x27;") in text


@pytest.mark.django_db
def test_a_problem_leads_to_its_page(client):
    problem = client.get("/session/settings").json()
    assert problem["type"] == "http://testserver/docs/errors/missing_api_key/"
    assert problem["title"] in client.get(problem["type"]).content.decode()


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_page_of_a_code_explains_it_and_every_link_of_it_leads_somewhere(client, code):
    text = client.get(f"/docs/errors/{code}/").content.decode()
    shown = unescape(text)
    entry = error_guide.entry(code)
    assert f"<h1><code>{code}</code></h1>" in text
    assert entry.title in shown and str(entry.meaning_html) in text and str(entry.remedy_html) in text
    sample = json.loads(unescape(re.search(r"<pre tabindex=.0.><code>(.*?)</code>", text, re.DOTALL)[1]))
    assert (sample["code"], sample["status"], sample["type"]) == (
        code,
        entry.status,
        f"http://testserver{entry.address}",
    )
    assert f'href="{entry.address}"' in client.get("/docs/errors/").content.decode()
    name, _, anchor = error_pages.further(code)[1].partition("#")
    assert f'href="{name}#{anchor}"' in text
    assert f'id="{anchor}"' in client.get(name).content.decode()


def test_each_detail_has_one_home():
    assert [code for code, spec in CATALOGUE.items() if bool(spec.detail) == bool(spec.example)] == []


def test_the_form_has_a_sentence_for_each_problem_that_it_names_and_names_only_codes_that_there_are():
    """A code that it does not name, it tells as a fault of the service."""
    form = ROOT / "packages/watchword-verify/src"
    listed = re.search(r"^const PROBLEMS = {\n(.*?)^};$", (form / "words.js").read_text(), re.DOTALL | re.MULTILINE)[1]
    named = dict(re.findall(r'^  (\w+): "(\w+)",$', listed, re.MULTILINE))
    assert len(named) == listed.count("\n")
    assert set(named.values()) <= json.loads((form / "languages/en.json").read_text()).keys()
    assert named.keys() - CATALOGUE.keys() == {"challenge_blocked", "network"}  # the form's own
    assert CATALOGUE.keys() - named.keys() == UNTOLD
