"""The texts that people receive."""

import pytest

from providers.parsing import gsm
from tests import factories
from verification.core import caching
from verification.models import MessageTemplate
from verification.services.texts.rendering import Style, best_language, fill, languages, render_message

CHANNELS = ("sms", "voice", "email", "messenger_a", "messenger_b")


def render(channel="sms", *, language="en", code="123456", name="Shop", minutes=3, project_id=0, **style):
    return render_message(
        channel=channel,
        language=language,
        code=code,
        project_id=project_id,
        project=Style(name=name, **style),
        minutes=minutes,
    )


# --- the best language -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("de-Latn-AT-1996", "de"),
        ("de, en", "de"),
        ("en, de", "en"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("en;q=0.5,de", "de"),
        ("fr, de;q=0.1", "de"),
        ("de;q=0, en;q=0.1", "en"),
        ("de;q=0.001, en;q=0.002", "en"),
        ("en ; q=0.2 , de ; q=0.3", "de"),
        ("*, de;q=0.5", "de"),
        ("nonsense!, de", "de"),
        ("de;q=x, en", "en"),
        ("tr;q=1.0, de;q=1", "de"),
        ("", None),
        ("*", None),
        ("fr", None),
        ("de;q=0", None),
        ("d", None),
        (",,;q=1", None),
        ("de_DE", None),
    ],
)
def test_it_is_the_most_wanted_that_is_offered(header, language):
    assert best_language(header, ["en", "de"]) == language


def test_a_variant_is_preferred_to_its_language_where_it_is_offered():
    assert best_language("pt-BR", ["pt", "pt-BR"]) == "pt-BR"
    assert best_language("pt-PT", ["pt", "pt-BR"]) == "pt"


def test_the_offered_writing_is_what_comes_back():
    assert best_language("PT-br", ["pt-BR"]) == "pt-BR"


def test_with_nothing_offered_every_text_there_is_will_do():
    assert best_language("de", []) == "de"
    assert best_language("tlh", []) is None


def test_a_header_without_an_end_is_read_only_so_far():
    assert best_language("xx," * 20_000 + "de", ["de"]) is None


# --- the built-in texts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("language", languages())
def test_every_text_carries_the_code_and_leaves_no_placeholder(db, language, channel):
    rendered = render(channel, language=language)
    assert ("1, 2, 3, 4, 5, 6" if channel == "voice" else "123456") in rendered.text
    assert "Shop" in rendered.text
    assert "{" not in rendered.text + rendered.subject


@pytest.mark.parametrize(("language", "like"), [("de-AT", "de"), ("xx", "en"), ("", "en")])
def test_the_nearest_language_serves(db, language, like):
    assert render(language=language) == render(language=like)


def test_the_life_of_the_code_is_told_in_minutes(db):
    assert "7" in render(minutes=7, code="AAAAAA").text


def test_only_an_email_has_a_subject_and_a_page(db):
    assert {bool(render(channel).subject) for channel in CHANNELS if channel != "email"} == {False}
    assert {bool(render(channel).html) for channel in CHANNELS if channel != "email"} == {False}
    email = render("email")
    assert "Shop" in email.subject and "123456" in email.html


def test_the_code_stands_in_the_subject_only_where_the_project_wants_it(db):
    assert "123456" not in render("email").subject
    assert "123456" in render("email", code_in_subject=True).subject


def test_a_page_is_written_from_right_to_left_where_its_language_is(db):
    assert 'dir="rtl"' in render("email", language="ar").html.partition(">")[2].partition(">")[0]
    assert 'dir="ltr"' in render("email", language="de").html.partition(">")[2].partition(">")[0]


def test_the_code_comes_last_where_browsers_look_for_it(db):
    text = render(web_otp_domain="shop.example").text
    assert text.splitlines()[-1] == "@shop.example #123456"


@pytest.mark.parametrize("language", languages())
def test_ours_is_short_enough_for_android_and_still_has_code_and_hash(db, language):
    text = render(language=language, android_hash="FA+9qCX9VSu").text
    assert gsm.octets(text) <= 140
    assert text.startswith("123456") and text.endswith("\nFA+9qCX9VSu")


def test_without_an_android_app_ours_is_whole(db):
    assert render(language="es").text == "123456 es tu código de Shop. Vale 3 min. No lo compartas."


def test_what_is_left_out_for_android_are_the_last_sentences(db):
    text = render(language="es", name="Example shop", android_hash="FA+9qCX9VSu", web_otp_domain="shop.example").text
    assert text == "123456 es tu código de Example shop.\nFA+9qCX9VSu\n@shop.example #123456"


# --- filling in one pass ---------------------------------------------------------------------------------------------

VALUES = {"code": "123456", "project": "Shop", "minutes": "3"}


def test_known_placeholders_are_replaced_everywhere():
    assert fill("{code} {project} {minutes} {code}", VALUES) == "123456 Shop 3 123456"


@pytest.mark.requirement(92)
@pytest.mark.parametrize(
    "text",
    [
        "{code.__class__}",
        "{code.__class__.__init__.__globals__}",
        "{code!r}",
        "{code:>9}",
        "{code[0]}",
        "{ code }",
        "{CODE}",
        "{other}",
        "{}",
        "{0}",
        "{{",
        "}",
        "{{ settings.SECRET_KEY }}",
        "{% load static %}",
        "{% debug %}",
        "%(code)s",
        "%s",
        "${code",
        "\\1 \\g<0>",
    ],
)
def test_everything_else_stays_text(text):
    assert fill(text, VALUES) == text


def test_doubled_braces_are_no_escape():
    assert fill("{{code}}", VALUES) == "{123456}"


@pytest.mark.requirement(92)
@pytest.mark.parametrize("name", ["{code}", "{minutes}{code}", "{project}", "{code.__class__}", "\\1", "%s", "{"])
def test_what_a_value_holds_is_not_filled_in_again(name):
    assert fill("{project}: {code}", {**VALUES, "project": name}) == f"{name}: 123456"


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_project_may_have_braces_in_its_name(db, channel):
    assert "{code}{minutes}" in render(channel, name="{code}{minutes}").text


def test_a_page_escapes_the_projects_name(db):
    page = render("email", name='<script>alert(1)</script> & "Co\'"').html
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;Co&#x27;&quot;" in page


@pytest.mark.requirement(93)
def test_a_page_runs_nothing_of_the_projects_name(db):
    assert "{{ 7|add:7 }}" in render("email", name="{{ 7|add:7 }}").html


def test_the_text_of_an_email_is_not_escaped(db):
    assert "Tom & Jerry" in render("email", name="Tom & Jerry").text


# --- the owner's own texts -------------------------------------------------------------------------------------------


@pytest.fixture
def project(db):
    return factories.project()


def own(project, text, *, channel="sms", language="en", subject=""):
    MessageTemplate.objects.create(project=project.row, channel=channel, language=language, subject=subject, text=text)
    caching.clear_all()


def test_an_own_text_goes_before_ours(project):
    own(project, "{project}: {code} ({minutes})")
    assert render(project_id=project.id).text == "Shop: 123456 (3)"


def test_an_own_text_serves_the_variants_of_its_language(project):
    own(project, "Code: {code}", language="de")
    assert render(project_id=project.id, language="de-AT").text == "Code: 123456"
    assert render(project_id=project.id, language="en").text != "Code: 123456"


@pytest.mark.requirement(92)
def test_an_own_text_is_no_template(project):
    own(project, "{code} {code.__class__} {{ settings.SECRET_KEY }} {% load static %} %(code)s")
    text = render(project_id=project.id).text
    assert text == "123456 {code.__class__} {{ settings.SECRET_KEY }} {% load static %} %(code)s"


def test_an_own_text_is_escaped_on_the_page(project):
    own(project, "<b>{code}</b> {{ 7|add:7 }}", channel="email", subject="{project}")
    page = render("email", project_id=project.id).html
    assert "&lt;b&gt;123456&lt;/b&gt; {{ 7|add:7 }}" in page


def test_an_own_text_is_its_projects_alone(project):
    own(project, "Code: {code}")
    assert render(project_id=factories.project().id).text != "Code: 123456"
