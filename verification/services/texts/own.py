"""Owners' own texts, judged before they are saved. A text that cannot arrive as meant is refused with the reason."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers.parsing import gsm
from verification.core.errors import UserError
from verification.models import ChannelType, MessageTemplate, Project, bounds
from verification.services.texts.rendering import (
    ANDROID_MAX_BYTES,
    OwnText,
    Rendered,
    Style,
    fill,
    for_autofill,
    languages,
    render_text,
    texts_for,
)
from verification.services.texts.sizes import measure

MAX_CHARACTERS = 480  # characters of a text, placeholders unfilled: more than two SMS hold, and enough for an e-mail
# Characters of text and subject with the placeholders filled in and look-alikes written out. The search for links takes
# the square of their number, and while it runs the process does nothing else.
MAX_READ = 1_500
MAX_SEGMENTS = 2  # SMS that one message may cost
VENDOR_WORDED = frozenset({ChannelType.MESSENGER_B})  # channels whose platform words the message itself
PLACEHOLDERS = frozenset({"code", "project", "minutes"})
SAMPLE_CODES = {(True, False): "471836", (False, True): "KTRMWH", (True, True): "K7R3WH"}  # by digits, letters

_ANY_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_WITH_SCHEME = re.compile(
    r"(?:[a-z][a-z0-9+.-]*:[/\\]|(?:mailto|tel|sms|data|javascript|intent):(?=\S))\S*", re.IGNORECASE
)
# Phones make links of bare names too. There is no list of top-level domains here: any two letters after a dot count.
_WITHOUT_SCHEME = re.compile(
    r"(?:\S*@)?((?:[\w-]+\.)+(?:xn--[\w-]+|[^\W\d_]{2,})|\d{1,3}(?:\.\d{1,3}){3})(?![\w-])(?::\d+)?(?:[/?#\\@]\S*)?"
)
# Browsers read the ideographic full stop as a dot. Next to a Chinese or Japanese character it ends a sentence.
_HAN_AND_KANA = "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_IDEOGRAPHIC_DOT = re.compile(rf"(?<![\s{_HAN_AND_KANA}])\u3002(?=[^\W{_HAN_AND_KANA}])")
# Characters that look like a slash or a backslash, and that NFKC leaves as they are.
_LIKE_SLASHES = str.maketrans(
    {"\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2216": "\\", "\u29f5": "\\", "\u29f9": "\\"}
)
_VARIATION_SELECTORS = frozenset(map(chr, range(0xFE00, 0xFE10)))
_WRITE = gettext_lazy("If it isn't a link, put a space after the dot; otherwise set the project's site to that domain.")
_ENDS_A_SENTENCE = ".,;:!?…)]}>\"'»”’"
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


def faults(*, project: Project, channel: str, text: str, subject: str = "") -> list[str]:
    """List what is wrong with a text, a sentence each. A text without faults can be saved."""
    found = []
    if channel in VENDOR_WORDED:
        found.append(_("This messenger sets the wording itself; custom texts are never sent there."))
    if "{code}" not in text:
        found.append(_("The placeholder {code} is missing. Put it where the code should appear."))
    unknown = sorted({name for name in _ANY_PLACEHOLDER.findall(text + subject) if name not in PLACEHOLDERS})
    if unknown:
        named = ", ".join(f"{{{name}}}" for name in unknown)
        found.append(
            _("Unknown placeholders: {named}. Use {{code}}, {{project}} and {{minutes}}, or no braces.").format(
                named=named
            )
        )
    if any(_is_control(character) for character in text + subject):
        found.append(_("The text contains control characters, perhaps from copying. Type it again."))
    if "\n" in subject:
        found.append(_("The subject must be a single line."))
    filled = f"{fill(text[:MAX_CHARACTERS], _sample(project))}\n{fill(subject[:MAX_CHARACTERS], _sample(project))}"
    read = _without_look_alikes(filled)
    for number, most in ((len(text), MAX_CHARACTERS), (len(read), MAX_READ)):
        if number > most:
            found.append(
                _("The text has {number} characters; the maximum is {max_characters}. Shorten it.").format(
                    number=number, max_characters=most
                )
            )
    for link in _foreign_links(project, read[:MAX_READ]):
        found.append(
            _("{link} looks like a link that does not point to the project's site. {write}").format(
                link=link, write=_WRITE
            )
        )
    if channel == ChannelType.SMS:
        found += _sms_faults(project, text)
    return found


def canonical_language(name: str) -> str:
    """Return the writing of a language by which texts are looked up, such as de or pt-BR."""
    known = {each.lower(): each for each in languages()}
    first, *rest = name.split("-")
    region = [part.upper() if len(part) == 2 else part for part in rest]
    return known.get(name.lower()) or "-".join([first.lower(), *region])


def without_text(project: Project, wanted: Iterable[str]) -> list[str]:
    """Return those of the languages that have neither a text of ours nor one of the project's, nor has their base."""
    known = {*languages(), *MessageTemplate.objects.filter(project=project.pk).values_list("language", flat=True)}
    return [each for each in wanted if each not in known and each.partition("-")[0] not in known]


def advice(*, project: Project, channel: str, text: str) -> list[str]:
    """List what would make a sound text better, a sentence with its remedy each. A text goes out without it."""
    found = []
    if "{project}" not in text and project.name not in text:
        found.append(_("The text doesn't say who sent it. Add {project} or a name your users know."))
    if channel == ChannelType.VOICE and text.count("{code}") == 1:
        found.append(_("The call says the code only once. Add {code} a second time so that users can write it down."))
    if channel == ChannelType.SMS and gsm.segments(_typical(project, text)) > 1:
        found.append(
            _("Each code costs {segments} SMS. Shorten the text to pay for one.").format(
                segments=gsm.segments(_typical(project, text))
            )
        )
    return found


def sample_values(project: Project) -> dict[str, str]:
    """Return what previews write for the placeholders."""
    code = SAMPLE_CODES[project.code_digits, project.code_letters]
    code = (code * project.code_length)[: project.code_length]
    return {"code": code, "project": project.name, "minutes": str(_minutes(project))}


def sms_tail(project: Project) -> str:
    """Return the lines that every SMS of the project ends with, for apps and browsers; "" where there are none."""
    return for_autofill("", sample_values(project)["code"], _style(project))


def ours(channel: str, language: str) -> OwnText:
    """Return our text for the channel and language as an owner would write it, placeholders unfilled."""
    texts = texts_for(language)
    if channel == ChannelType.VOICE:
        return OwnText("", texts["voice"])
    if channel != ChannelType.EMAIL:
        return OwnText("", texts["sms"])
    return OwnText("", f"{texts['title']}: {{code}}\n\n{texts['validity']} {texts['ignore']}")


def present(project: Project, channel: str, language: str) -> OwnText:
    """Return the text that goes out: the project's own, or ours with its placeholders unfilled."""
    rows = {row.language: row for row in project.templates.filter(channel=channel)}
    row = rows.get(language) or rows.get(language.partition("-")[0])
    return OwnText(row.subject, row.text) if row else ours(channel, language)


def require_room(project: Project) -> None:
    """Raise :class:`UserError` where the project has as many texts as it may."""
    most = bounds.MAX_TEXTS
    bounds.require_room(
        project,
        project.templates.all(),
        most,
        _("A project can have at most {most} texts. Delete one first.").format(most=most),
    )


# What an app asks before a text is changed or removed: each raises UserError. The apps add to it when they are loaded.
REQUIREMENTS: list[Callable[[Project, str, str], None]] = []


def require_changeable(project: Project, channel: str, language: str) -> None:
    """Raise :class:`UserError` where the text of this channel and language has to stay as it is."""
    for requirement in REQUIREMENTS:
        requirement(project, channel, language)


def check_name(project: Project) -> None:
    """Raise :class:`UserError` for a project's name that phones would make a link of, as messages carry it."""
    if links := _foreign_links(project, _without_look_alikes(project.name)):
        raise UserError(
            _("{link} looks like a link that does not point to the project's site. {write}").format(
                link=links[0], write=_WRITE
            )
        )


def preview(*, project: Project, channel: str, language: str, text: str, subject: str = "") -> Rendered:
    """Render the message as it would arrive, with a sample code. An empty text stands for ours."""
    return render_text(
        OwnText(subject, text) if text else None,
        channel=channel,
        language=language,
        code=sample_values(project)["code"],
        project=_style(project),
        minutes=_minutes(project),
    )


def _sms_faults(project: Project, text: str) -> list[str]:
    found = []
    typical = _typical(project, text)
    segments = gsm.segments(typical)
    if segments > MAX_SEGMENTS:
        size = measure(typical)
        remedy = size.note or _("Shorten it.")
        found.append(
            _("The text needs {segments} SMS; the maximum is {max_segments}. {remedy}").format(
                segments=segments, max_segments=MAX_SEGMENTS, remedy=remedy
            )
        )
    octets = gsm.octets(typical)
    if project.android_hash and octets > ANDROID_MAX_BYTES:
        found.append(
            _(
                "With the app hash, the SMS has {octets} bytes; Android reads only {android_max_bytes}. "
                "Shorten the text."
            ).format(octets=octets, android_max_bytes=ANDROID_MAX_BYTES)
        )
    return found


def _typical(project: Project, text: str) -> str:
    values = _sample(project)
    return for_autofill(fill(text, values), values["code"], _style(project))


def _sample(project: Project) -> dict[str, str]:
    return {"code": "0" * project.code_length, "project": project.name, "minutes": str(_minutes(project))}


def _minutes(project: Project) -> int:
    """Return the minutes that a text tells: those of a session that no channel makes longer."""
    return max(1, round(project.session_seconds / 60))


def _style(project: Project) -> Style:
    return Style(project.name, project.code_in_subject, project.web_otp_domain, project.android_hash)


def _foreign_links(project: Project, text: str) -> list[str]:
    """List what phones and browsers would make links of, where they may lead away from the project's own hosts.

    ``text`` is as browsers read it, and short (:data:`MAX_READ`).
    """
    own = {host for host in (_host_of(project.site_url), project.web_otp_domain) if host}
    links = [(link, _host_of(link)) for link in map(_trimmed, _WITH_SCHEME.findall(text))]
    bare = _WITHOUT_SCHEME.finditer(_WITH_SCHEME.sub(" ", text))
    links += [(_trimmed(found.group()), found.group(1).lower()) for found in bare]
    return [link for link, host in links if host not in own or "@" in link or "\\" in link]


def _without_look_alikes(text: str) -> str:
    """Return the text as browsers read addresses: invisible characters gone, look-alikes replaced by plain ones."""
    seen = "".join(each for each in text if unicodedata.category(each) != "Cf" and each not in _VARIATION_SELECTORS)
    return _IDEOGRAPHIC_DOT.sub(".", unicodedata.normalize("NFKC", seen).translate(_LIKE_SLASHES))


def _trimmed(link: str) -> str:
    return link.rstrip(_ENDS_A_SENTENCE)


def _host_of(url: str) -> str:
    """Return the host of an http or https URL. Return "" for others, whose host a browser may read differently."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "" if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _is_control(character: str) -> bool:
    return character in _BIDI or (unicodedata.category(character) == "Cc" and character != "\n")
