"""The hosted page as it is served: whom it leads back to, what it may load, and what it never does."""

import re
import tomllib
import uuid
from urllib.parse import urlencode

import pytest
from django.test import Client

from tests import factories
from tests.conftest import ROOT
from tests.contrib.hosted.pictures import png
from verification.contrib.hosted import hosted_pages
from verification.models import Project
from verification.services.projects import hosted_page
from verification.services.texts.rendering import languages

pytestmark = pytest.mark.django_db
BACK = "https://shop.example/verified?a=b"


@pytest.fixture
def project():
    made = factories.project(name="Corner Shop")
    made.page = hosted_page.save(made.row, {"is_enabled": True, "return_addresses": [BACK]})
    return made


def ask(project, path="", headers=None, **query):
    return Client().get(f"/verify/{project.row.public_id}{path}?{urlencode(query)}", headers=headers)


def policy_of(answer):
    return dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))


@pytest.mark.requirement(115)
def test_it_shows_the_form_and_keeps_state_for_the_listed_address(project):
    answer = ask(project, return_to=BACK, state='"><b>&', channel="voice")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert f'api-key="{project.page.key_text}"' in page and 'channel="voice"' in page and "Corner Shop" in page
    assert 'action="https://shop.example/verified?a=b"' in page
    assert 'value="&quot;&gt;&lt;b&gt;&amp;"' in page


@pytest.mark.requirement(113)
@pytest.mark.parametrize(
    "return_to",
    [
        "https://evil.example/",
        "https://shop.example/verified",
        BACK + "&c=d",
        BACK + "#x",
        BACK.upper(),
        BACK + "/../x",
        "https://shop.example/verified%3Fa=b",
        " " + BACK,
        "javascript:alert(1)",
        "",
    ],
)
def test_an_address_that_is_not_listed_is_told_in_words_and_led_to_by_nothing(project, return_to):
    answer = ask(project, return_to=return_to)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "does not allow that return address" in page
    assert "<form" not in page and "<script" not in page and "evil" not in page and "Location" not in answer
    assert policy_of(answer)["form-action"] == "'none'"


def test_a_link_without_an_address_or_with_too_long_a_state_is_told_in_words(project):
    assert "is incomplete" in ask(project).content.decode()
    assert ask(project, return_to=BACK, state="x" * 512).status_code == 200
    for state in ("x" * 513, "a\nb", "a\0b"):
        answer = ask(project, return_to=BACK, state=state)
        assert (answer.status_code, "damaged" in answer.content.decode()) == (400, True)


def test_only_an_enabled_page_of_an_enabled_project_is_there(project):
    def status():
        return ask(project, return_to=BACK).status_code

    assert status() == 200
    Project.objects.filter(pk=project.id).update(is_enabled=False)
    assert status() == 404
    Project.objects.filter(pk=project.id).update(is_enabled=True)
    hosted_page.save(project.row, {"is_enabled": False})
    assert status() == 404
    assert Client().get(f"/verify/{uuid.uuid4()}?return_to={BACK}").status_code == 404
    assert Client().get(f"/verify/{project.id}?return_to={BACK}").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/verify/", "/verify/nobody", "/verify/nobody/", "/verify/0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4/x", "/verify/%00"],
)
def test_an_address_that_is_damaged_shows_a_page_too(db, path):
    answer = Client().get(path, headers={"accept-language": "de"})
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html") and 'lang="de"' in answer.content.decode()


@pytest.mark.requirement(113)
def test_its_policy_lets_the_form_go_to_the_return_address_alone(project):
    answer = ask(project, return_to=BACK)
    policy = policy_of(answer)
    assert policy["form-action"] == "https://shop.example/verified"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    nonce = re.fullmatch(r"'nonce-([^']+)'", policy["script-src"])[1]
    assert policy["style-src"] == f"'nonce-{nonce}'"
    assert set(re.findall(r'nonce="([^"]+)"', answer.content.decode())) == {nonce}
    assert policy_of(ask(project, return_to=BACK))["script-src"] != policy["script-src"]


def test_where_the_token_goes_into_the_fragment_no_form_goes_anywhere(project):
    hosted_page.save(project.row, {"hand_over": "fragment"})
    assert policy_of(ask(project, return_to=BACK))["form-action"] == "'none'"


@pytest.mark.requirement(115)
def test_only_the_vendor_of_the_projects_challenge_may_be_loaded(project):
    project.set(challenge_site_key="key", challenge_secret=b"x", challenge_provider="turnstile")
    assert "cloudflare" not in ask(project, return_to=BACK)["Content-Security-Policy"]
    project.set(challenge_mode="always")
    policy = policy_of(ask(project, return_to=BACK))
    assert policy["script-src"].endswith(" https://challenges.cloudflare.com")
    assert policy["frame-src"] == "https://challenges.cloudflare.com"


@pytest.mark.requirement(115)
@pytest.mark.parametrize("query", [{"return_to": BACK}, {"return_to": "https://evil.example"}])
def test_it_is_neither_stored_nor_framed_nor_told_to_others_and_sets_no_cookie(project, query):
    answer = ask(project, **query)
    assert answer["Cache-Control"] == "no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Frame-Options"] == "DENY"
    assert not answer.cookies


@pytest.mark.requirement(114)
def test_a_recipient_in_the_query_changes_nothing(project):
    page = ask(project, return_to=BACK, to="+4915112345678", recipient="ada@example.com").content.decode()
    assert "4915112345678" not in page and "ada@example.com" not in page


@pytest.mark.parametrize(
    ("lang", "header", "language", "direction"),
    [
        ("", "", "en", "ltr"),
        ("de", "fr", "de", "ltr"),
        ("", "fr-CA, en;q=0.5", "fr", "ltr"),
        ("ar", "", "ar", "rtl"),
        ('x"><script>', "", "en", "ltr"),
    ],
)
def test_its_language_is_that_of_the_link_else_of_the_browser(project, lang, header, language, direction):
    page = ask(project, return_to=BACK, lang=lang, headers={"accept-language": header}).content.decode()
    assert f'<html lang="{language}" dir="{direction}">' in page and f'language="{language}"' in page


def test_its_own_words_are_whole_in_every_language_of_the_form():
    words = tomllib.loads((ROOT / "verification/contrib/hosted/words.toml").read_text(encoding="utf-8"))
    assert tuple(words) == languages()
    for language, own in words.items():
        assert list(own) == list(words["en"]) and all(own.values()), language
        for name, text in words["en"].items():
            kept = set(re.findall(r"return_to|\bstate\b|\{\w+\}", text)) if name.endswith("_why") else set()
            assert all(each in own[name] for each in kept), (language, name)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, "return_to, die Adresse"),
        ({"return_to": "https://evil.example"}, "nicht eingetragen"),
        ({"return_to": BACK, "state": "x" * 513}, "länger als 512 Zeichen"),
    ],
)
def test_a_refusal_is_told_in_the_language_of_the_form(project, query, told):
    page = ask(project, headers={"accept-language": "de-AT"}, **query).content.decode()
    assert '<html lang="de" dir="ltr">' in page and told in page and "Bitte geh dorthin zurück" in page


def test_a_page_that_is_not_there_says_so_from_right_to_left(project):
    page = Client().get(f"/verify/{uuid.uuid4()}?lang=ar").content.decode()
    assert '<html lang="ar" dir="rtl">' in page and "لا توجد صفحة كهذه" in page


def test_what_to_do_without_scripts_is_told_in_the_language_of_the_form(project):
    assert "erlaube Skripte" in ask(project, return_to=BACK, lang="de").content.decode()


def test_only_a_known_channel_is_chosen(project):
    assert "channel=" not in ask(project, return_to=BACK, channel='"><script>').content.decode()


def test_a_logo_is_served_as_a_picture_and_is_gone_with_the_page(project):
    assert ask(project, "/logo.png").status_code == 404
    hosted_pages.set_logo(project.row, png())
    answer = ask(project, "/logo.png")
    assert answer["Content-Type"] == "image/png" and answer["X-Content-Type-Options"] == "nosniff"
    assert "logo.png?" in ask(project, return_to=BACK).content.decode()
    hosted_page.save(project.row, {"is_enabled": False})
    assert ask(project, "/logo.png").status_code == 404


def test_nothing_can_be_posted_to_it(project):
    assert Client().post(f"/verify/{project.row.public_id}?return_to={BACK}").status_code == 405
