"""The panel in the reader's language: no text is unmarked, and translations keep its form.

The walk opens the real pages in a made-up language, in which every message stands in «marks». A word outside of them
was not marked for translation.
"""

import re
from html.parser import HTMLParser

import polib
import pytest
from django.apps import apps
from django.conf import settings
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import trans_real

from providers import adapters, registry
from tests.conftest import ROOT
from verification.models.audit import WATCHED

MADE_UP = "eo"  # a language that Django knows, so that it may be chosen; its own words are not used
WORD = re.compile(r"[A-Za-z]{3,}")
SHOWN_ATTRIBUTES = ("aria-label", "title", "placeholder", "alt", "data-done")
UNREAD = {"script", "style", "code", "pre", "kbd", "textarea", "iframe", "svg"}
INLINE = {"a", "b", "em", "strong", "span", "small", "br", "u", "i", "sup"}
VOID = {"br", "img", "input", "link", "meta", "hr", "wbr", "source"}
# Data of the rows, names of products and formats, and what is written alike in every language.
SAME = re.compile(
    r"UTC|HTTPS?|SMS|SMPP|SMTP|CSV|JSON|YAML|PNG|API|URL|DLT|VoIP|ISO|Watchword|WhatsApp|Telegram|Slack|Mattermost|Discord|Apprise"
    r"|ALTCHA|Cloudflare|Turnstile|hCaptcha|Google|reCAPTCHA|Ctrl"
)


LOCALE = ROOT / "verification/locale"
CATALOGUES = sorted(LOCALE.glob("*/LC_MESSAGES/django.po"))
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*(?:![rs])?\}|</?[a-z][^>]*>")


class InMarks:
    """A catalogue of the made-up language."""

    def gettext(self, message):
        return f"«{message.rpartition(trans_real.CONTEXT_SEPARATOR)[2]}»"

    def ngettext(self, singular, plural, number):
        return self.gettext(singular if number == 1 else plural)

    def language(self):
        return MADE_UP

    to_language = language


class Reader(HTMLParser):
    """Collects what a page shows outside of the marks."""

    def __init__(self):
        super().__init__()
        self.found, self.links, self.depth, self.unread = [], [], 0, []

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.links.append(given.get("href", ""))
        is_unread = tag in UNREAD or "material-symbols" in given.get("class", "") or "ww-code" in given.get("class", "")
        is_unread = is_unread or "lang" in given and tag != "html"  # a language by its own name
        if self.unread or is_unread:
            if tag not in VOID:
                self.unread.append(tag)
            return
        if tag not in INLINE:
            self.depth = 0  # a text that was cut inside of its marks ends with its element
        for name, value in given.items():
            if name in SHOWN_ATTRIBUTES or name.startswith("data-say-"):
                self.found += outside(value)[0]
        if tag == "input" and given.get("type") == "submit":
            self.found += outside(given.get("value", ""))[0]

    def handle_endtag(self, tag):
        if self.unread:
            while self.unread and self.unread.pop() != tag:
                pass

    def handle_data(self, data):
        if not self.unread:
            found, self.depth = outside(data, self.depth)
            self.found += found


def outside(text, depth=0):
    """Return the words of a text outside of marks, and how many marks are open at its end."""
    kept = ""
    for sign in text:
        if sign == "«":
            depth += 1
        elif sign == "»":
            depth = max(0, depth - 1)
        elif not depth:
            kept += sign
    kept = " ".join(SAME.sub(" ", kept).split())
    return ([kept] if WORD.search(kept) else []), depth


@pytest.fixture
def made_up(monkeypatch, settings):
    """Let the panel be read in the made-up language."""
    settings.LANGUAGES = [*settings.LANGUAGES, (MADE_UP, "Esperanto")]
    monkeypatch.setitem(trans_real._translations, MADE_UP, InMarks())


def pages_from(client, start):
    """Yield the address and the content of every page that links lead to, each once whatever its filters."""
    waiting, seen = [start], set()
    while waiting:
        address = waiting.pop(0)
        plain = re.sub(r"\d+", "N", address.split("?")[0].split("#")[0])
        if plain in seen or not address.startswith(start):
            continue
        seen.add(plain)
        answer = client.get(address.split("#")[0])
        while answer.status_code == 302:
            answer = client.get(answer.url)
        if not answer.headers["Content-Type"].startswith("text/html") or answer.streaming:
            continue
        reader = Reader()
        reader.feed(answer.content.decode())
        yield plain, reader.found
        here = address.split("?")[0]
        waiting += [link if link.startswith("/") else f"{here}{link}" for link in reader.links if "csv" not in link]


# Data: names, ids, keys and addresses of the rows, stored texts, messages to users, languages of programs, vendors.
DATA = re.compile(
    r"Ours|Theirs|Our gateway|Gateway|owner|root|stranger|Ops chat|\S*shop\.example\S*|The gateway said no|reviewer\S*"
    r"|watchword|sms first|half of the budget|The number asked not to be called\.|Unknown browser|ww_(api|secret)_\w+"
    r"|\S*\*\*\*\S*|[0-9A-Z]{26}|[0-9A-Z]{11,12} [0-9A-Z]{10,11}|[0-9a-f]{8}-[0-9a-f-]{27}|msg_\d+|\d+ ist Ihr Code\."
    r"|\{code\}.*|curl|Python|JavaScript|PHP|Java|collector|http|MD5 HMAC|SHA\S*|USD"
)


@pytest.mark.django_db
def test_no_page_has_a_word_that_is_not_marked_for_translation(panel, made_up):
    client = panel.as_("root")
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = MADE_UP
    pages = dict(pages_from(client, reverse("admin:index")))
    assert len(pages) > 60  # so that a walk that ends early is seen
    left = [f"{page}: {text}" for page, found in pages.items() for text in found if WORD.search(DATA.sub("", text))]
    assert not left, "\n".join(left)


def test_a_reader_chooses_the_language_and_keeps_it(panel, settings):
    settings.LANGUAGES = [("en", "English"), ("ru", "Русский")]
    client = panel.as_("owner")
    start = reverse("admin:index")
    assert '<html lang="en"' in client.get(start).content.decode()
    answer = client.post(reverse("admin:language"), {"language": "ru", "next": start})
    assert answer.url == start and answer.cookies[settings.LANGUAGE_COOKIE_NAME]["httponly"]
    page = client.get(start)
    assert '<html lang="ru"' in page.content.decode() and page.headers["Content-Language"] == "ru"


def test_before_a_choice_the_browser_decides_and_the_api_speaks_english(panel, settings):
    settings.LANGUAGES = [("en", "English"), ("ru", "Русский")]
    client = panel.as_("anonymous")
    asks = {"HTTP_ACCEPT_LANGUAGE": "ru-RU,ru;q=0.9"}
    assert '<html lang="ru"' in client.get(reverse("admin:login"), **asks).content.decode()
    assert client.post("/session/create", **asks).json()["title"] == "The x-api-key header is missing"
    assert trans_real.get_language() == "en"  # the thread is back at it


def test_all_that_the_form_of_a_provider_shows_is_marked_for_translation():
    ours = [each for each in registry.all_adapters() if each.__module__.startswith(f"{adapters.__name__}.")]
    settings = [setting for adapter in ours for setting in adapter.declared]
    words = [adapter.label for adapter in ours] + [words for each in settings for words in (each.label, each.help)]
    words += [label for each in settings for _, label in each.choices]
    assert len(words) > 200
    assert [text for text in words if not isinstance(text, Promise) and re.search("[a-z]{2}", text)] == []


def test_every_column_that_the_audit_log_shows_has_a_name_that_is_translated():
    unnamed = [
        f"{name}.{field.name}"
        for name, watch in WATCHED.items()
        for field in apps.get_model(name)._meta.concrete_fields
        if field.name not in (*watch.quiet, "id") and (not watch.only or field.name in watch.only)
        if not isinstance(field._verbose_name, Promise)
    ]
    assert unnamed == []


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda path: path.parents[1].name)
def test_a_translation_keeps_every_placeholder_and_tag(catalogue):
    wrong = []
    for entry in polib.pofile(str(catalogue)).translated_entries():
        texts = [*entry.msgstr_plural.values()] or [entry.msgstr]
        told = {frozenset(PLACEHOLDER.findall(text)) for text in (entry.msgid, entry.msgid_plural or entry.msgid)}
        wrong += [f"{entry.msgid!r}: {text!r}" for text in texts if frozenset(PLACEHOLDER.findall(text)) not in told]
    assert not wrong, "\n".join(wrong)


def test_uzbek_is_written_with_its_own_letters():
    """Oʻ and gʻ have U+02BB, and the sign in maʼlum is U+02BC; quotation marks in their place are other words."""
    catalogue = polib.pofile(str(LOCALE / "uz/LC_MESSAGES/django.po"))
    written = [text for entry in catalogue for text in (entry.msgstr, *entry.msgstr_plural.values())]
    assert len(written) > 1000
    assert [text for text in written if re.search(r"[og][‘’'`]|(?<=[a-z])[‘’`](?=[a-z])", text, re.IGNORECASE)] == []
