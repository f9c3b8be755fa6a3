"""All texts of a project side by side: each language and channel, with whose text goes out there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from verification.admin.base.display import channel_icon, page_address
from verification.core.formats import language_in_sentence, language_name
from verification.models import ChannelType, MessageTemplate, Project
from verification.services.texts import own
from verification.services.texts.rendering import FALLBACK_LANGUAGE, languages
from verification.services.texts.sizes import measure

EDITABLE = tuple(value for value in ChannelType.values if value not in own.VENDOR_WORDED)


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A channel, and how many of the project's languages have a text of the owner's there."""

    channel: str
    name: str
    icon: str
    own_texts: int


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """The text of one language and channel. ``state`` is whose it is, ``variant`` the colour of that label."""

    state: str
    variant: str
    address: str
    text: str
    segments: int | None  # of an SMS
    trial: str  # the address of the trial that runs here


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """A language with its texts."""

    language: str
    name: str
    is_offered: bool
    cells: list[MatrixCell]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The texts of a project. ``rest`` are the languages that it does not offer and has no text in."""

    project: Project
    columns: list[MatrixColumn]
    lines: list[LanguageRow]
    rest: list[LanguageRow]


def matrix_of(project: Project, trials: Mapping[tuple[str, str], str]) -> Matrix:
    """Return the texts of the project. ``trials`` are the addresses of what is tried, by channel and language."""
    rows = {(row.channel, row.language): row for row in project.templates.all()}
    channels = [value for value in EDITABLE if value in set(project.channels.values_list("type", flat=True))]
    channels += [value for value in EDITABLE if value not in channels and any(key[0] == value for key in rows)]
    channels = channels or list(EDITABLE)
    offered = set(project.languages or languages()) | {project.language}
    written, tried = {language for _, language in rows}, {language for _, language in trials}
    lines = [
        LanguageRow(
            language=language,
            name=language_name(language),
            is_offered=language in offered,
            cells=[_cell(project, rows, trials, channel, language) for channel in channels],
        )
        for language in sorted(
            {*languages(), *offered, *written, *tried},
            key=lambda language: (language not in tried, language not in written, language_name(language)),
        )
    ]
    columns = [
        MatrixColumn(
            channel, str(ChannelType(channel).label), channel_icon(channel), sum(key[0] == channel for key in rows)
        )
        for channel in channels
    ]
    visible = [line for line in lines if line.is_offered or line.language in written]
    return Matrix(project, columns, visible, [line for line in lines if line not in visible])


def _cell(
    project: Project,
    rows: dict[tuple[str, str], MessageTemplate],
    trials: Mapping[tuple[str, str], str],
    channel: str,
    language: str,
) -> MatrixCell:
    base = language.partition("-")[0]
    row = rows.get((channel, language))
    nearest = row or rows.get((channel, base))
    named = {"project": project.pk, "channel": channel, "language": language}
    address = page_address(row) if row else reverse("admin:verification_messagetemplate_add", query=named)
    if row:
        state, variant = _("Custom"), "info"
    elif nearest:
        state, variant = _("Custom, from {language}").format(language=language_in_sentence(nearest.language)), "info"
    elif language in languages() or base in languages():
        state, variant = _("Default"), ""
    else:
        state, variant = (
            _("Missing: {language} is sent").format(language=language_in_sentence(FALLBACK_LANGUAGE)),
            "warning",
        )
    text = nearest.text if nearest else ""
    preview = own.preview(project=project, channel=channel, language=language, text=text) if channel == "sms" else None
    segments = measure(preview.text).segments if preview else None
    return MatrixCell(
        state, variant, address, text or own.ours(channel, language).text, segments, trials.get((channel, language), "")
    )
