"""The guides of docs/ as pages of the service, so that what is read is of the version that runs."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from django.apps import apps
from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

ADDRESS = "/docs/guides/"
INDEX = "docs/README.md"  # lists every guide, by group; on the page and in the repository it is the front door
# The group of the pages for those who change the service. Links and alarms lead there; it is not listed or searched.
ENGINEERING = "Engineering"
# The guides to apps that may be left out, which then are not served either.
APPS = {
    "docs/configuration-file.md": "verification.contrib.config_files",
    "docs/connections.md": "verification.contrib.connections",
    "docs/from-twilio.md": "verification.contrib.twilio",
    "docs/hosted-page.md": "verification.contrib.hosted",
    "docs/routing.md": "verification.contrib.route_optimizer",
    **{f"docs/with-{system}.md": "verification.contrib.connections" for system in ("better-auth", "django-allauth")},
}
# Files that guides link to and that are shown as they are: folder, pattern.
SOURCES = (("examples", "*/*.*"), ("deploy/prometheus", "rules.yml"))
HIGHLIGHTED = {".jsx": "jsx", ".vue": "html", ".js": "js", ".php": "php", ".go": "go", ".yml": "yaml"}
PICTURES = {".png": "image/png", ".svg": "image/svg+xml", ".webp": "image/webp"}

_ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\)(?:: (?P<about>.*))?$")
_TAGS = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Entry:
    """One guide in the index. ``path`` is the file's, from the top of the repository."""

    title: str
    path: str
    about: str

    @property
    def address(self) -> str:
        return address_of(self.path)


@dataclass(frozen=True, slots=True)
class Section:
    """One heading of a guide, and the text below it up to the next."""

    anchor: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Guide:
    """One page."""

    title: str
    html: SafeString
    sections: tuple[Section, ...]


@lru_cache(maxsize=1)
def _groups() -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    group = ""
    for line in (settings.BASE_DIR / INDEX).read_text().splitlines():
        if line.startswith("## "):
            group = line.removeprefix("## ")
        elif entry := _ENTRY.match(line):
            path = posixpath.normpath(posixpath.join("docs", entry["path"]))
            if path not in APPS or apps.is_installed(APPS[path]):
                groups.setdefault(group, []).append(Entry(entry["title"], path, entry["about"] or ""))
    return groups


def index() -> dict[str, list[Entry]]:
    """Return the guides for those who run the service or call it, by group, in the order of the index."""
    return {name: entries for name, entries in _groups().items() if name != ENGINEERING}


@lru_cache(maxsize=1)
def paths() -> dict[str, str]:
    """Return the files that are served, by their slugs: every guide, the pages of single providers, and examples."""
    return {**guides(), **{_slug(entry.path): entry.path for entry in _groups()[ENGINEERING]}}


@lru_cache(maxsize=1)
def guides() -> dict[str, str]:
    """Return the files of the index, of single providers and of examples, by their slugs."""
    listed = [entry.path for entries in index().values() for entry in entries]
    providers = [f"docs/providers/{path.name}" for path in sorted((settings.BASE_DIR / "docs/providers").glob("*.md"))]
    sources = [
        path.relative_to(settings.BASE_DIR).as_posix()
        for folder, pattern in SOURCES
        for path in sorted((settings.BASE_DIR / folder).glob(pattern))
    ]
    return {_slug(path): path for path in [*listed, *providers, *sources]}


def address_of(path: str) -> str:
    """Return the address of a guide by its file."""
    return f"{ADDRESS}{_slug(path)}/"


def picture(name: str) -> Path | None:
    """Return the file of a picture that guides show, by its path under docs/, or None."""
    top = (settings.BASE_DIR / "docs").resolve()
    path = (top / name).resolve()
    try:
        is_there = path.is_relative_to(top) and path.suffix in PICTURES and path.is_file()
    except OSError:  # a name that is longer than any file's
        return None
    return path if is_there else None


@cache
def read(slug: str) -> Guide:
    """Read a guide. Raises ``KeyError`` for a slug that none has."""
    path = paths()[slug]
    parser = Markdown(
        extensions=["fenced_code", "tables", "sane_lists", "toc", _Links(path)],
        extension_configs={"toc": {"slugify": anchor}},
        output_format="html",
    )
    html = parser.convert(_markdown(path))
    html = html.replace("<pre>", '<pre tabindex="0">')  # one that is wider than the page is scrolled by keys, too
    title = html.partition("</h1>")[0].rpartition(">")[2] or slug
    # The files are the project's own. Nothing of them comes from a caller.
    return Guide(title, mark_safe(html), tuple(_sections(html)))  # noqa: S308


def _markdown(path: str) -> str:
    """Return the text of a guide, or of another file with its name above it."""
    text = (settings.BASE_DIR / path).read_text()
    if path.endswith(".md"):
        return text
    return f"# {path}\n\n~~~{HIGHLIGHTED.get(posixpath.splitext(path)[1], '')}\n{text}\n~~~\n"


def anchor(text: str, separator: str) -> str:
    """Make the anchor of a heading as GitHub makes it, so that a link serves both."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


class _Links(Extension):
    """Lets links between files lead to their pages, as they do where the repository is browsed."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802, the library's name
        md.treeprocessors.register(_Resolve(md, self.path), "guide_links", 0)


class _Resolve(Treeprocessor):
    def __init__(self, md: Markdown, path: str) -> None:
        super().__init__(md)
        self.folder = posixpath.dirname(path)

    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            if target := self._target(link.get("href", "")):
                link.set("href", target)
            else:
                link.tag = "span"
                link.attrib.pop("href", None)
        for image in root.iter("img"):
            path = posixpath.normpath(posixpath.join(self.folder, image.get("src", "")))
            image.set("src", f"{ADDRESS}{path.removeprefix('docs/')}")
            image.set("loading", "lazy")

    def _target(self, href: str) -> str:
        """Return where a link leads; nothing for a file of the repository that is not served."""
        parts = urlsplit(href)
        if parts.scheme or not parts.path or parts.path.startswith("/"):
            return href
        path = posixpath.normpath(posixpath.join(self.folder, parts.path))
        if path == INDEX:
            return ADDRESS
        if _slug(path) not in paths():
            return ""
        return address_of(path) + (f"#{parts.fragment}" if parts.fragment else "")


def _slug(path: str) -> str:
    return path.removeprefix("docs/").removesuffix(".md").removesuffix("/README").lower()


def _sections(html: str) -> list[Section]:
    found = []
    for part in re.split(r"(?=<h[123] id=)", html):
        if opened := re.match(r'<h[123] id="([^"]+)">(.*?)</h[123]>', part, re.DOTALL):
            text = " ".join(_plain(part[opened.end() :]).split())
            found.append(Section(opened[1], _plain(opened[2]), text))
    return found


def _plain(html: str) -> str:
    return unescape(_TAGS.sub("", html))
